"""One run at a time for each stack: a lock that ends with its process, and a note of the run that
applied the stack."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stampede import own_folder
from stampede.emulator import stack
from stampede.errors import UsageError

WAIT = "wait until it exits, or interrupt it"


@contextlib.contextmanager
def holding(kind: str, doing: str, run_id: str = "") -> Iterator[Callable[[str], None]]:
    """Lock the stack of a target ("local" or "aws") against other floods, drains and sweeps.

    Yields a function that notes the run's id, if it isn't known yet. The system releases the lock
    however this process ends. Raises UsageError, naming the other process and its run.
    """
    path = _lock_file(kind)
    own_folder.make(path.parent)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(_holder(path, kind), WAIT) from None

        def note(run_id: str) -> None:
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "doing": doing, "run_id": run_id}))
            file.flush()

        note(run_id)
        yield note


def holder(kind: str) -> str | None:
    """The flood, drain or sweep that uses the stack of a target, in words; None if there is
    none."""
    path = _lock_file(kind)
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return _holder(path, kind)
    return None


def owner(kind: str) -> dict[str, Any]:
    """{"run_id", "started_emulator"} of the sweep that applied a target's stack; {} without one."""
    try:
        return json.loads(_owner_file(kind).read_text())
    except (FileNotFoundError, ValueError):
        return {}


def own(kind: str, run_id: str, *, started_emulator: bool) -> None:
    """Note that the sweep `run_id` applies the stack; call it before the apply, so that a killed
    sweep can be resumed."""
    own_folder.make(_folder(kind))
    _owner_file(kind).write_text(
        json.dumps({"run_id": run_id, "started_emulator": started_emulator})
    )


def disown(kind: str) -> None:
    """Note that no sweep's stack is applied."""
    _owner_file(kind).unlink(missing_ok=True)


def _holder(path: Path, kind: str) -> str:
    stack_words = "the local stack" if kind == "local" else "the stack in infra/"
    try:
        other = json.loads(path.read_text())
    except ValueError:  # it has just taken the lock
        return f"another process is using {stack_words}"
    run = f" of run {other['run_id']}" if other["run_id"] else ""
    return f"`stampede {other['doing']}`{run} (process {other['pid']}) is using {stack_words}"


def _lock_file(kind: str) -> Path:
    return _folder(kind) / f"{kind}.lock"


def _owner_file(kind: str) -> Path:
    return _folder(kind) / f"{kind}.owner.json"


def _folder(kind: str) -> Path:
    """The folder of the stack's locks: infra/ has one state, whatever STAMPEDE_STATE_DIR says."""
    return stack.STATE_DIR if kind == "local" else stack.ROOT / ".stampede"
