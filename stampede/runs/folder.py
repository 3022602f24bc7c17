"""`results/<run_id>/`: everything a run leaves behind, readable after a kill -9 too.

Line files are appended to: a killed writer leaves one torn line at most, which readers leave out
and the next writer cuts off. What it hadn't written yet is missing: of a flood the batches in
flight, which SQS may have accepted all the same (`flood.first_seq` leaves their numbers free).
Whole files are written beside and renamed, so they are the old ones or the new ones. Nothing is
forced to disk: a machine that loses power may lose more. Coordinates live in the records, never in
file names.

A folder may be somebody else's: nothing is written through a link in it, and what isn't a file
isn't read.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import itertools
import json
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypedDict

from stampede.errors import UsageError
from stampede.runs import description, stored_json

RESULTS_DIR = Path("results")
# The messages that were in flight without a record when a drain ended early.
UNANSWERED_FILE = "unanswered.jsonl"
FAILED_OBJECTS = "failed_objects.jsonl"
# The numbers of the messages of attempts at a cell that were cut off and set aside.
ABANDONED = "abandoned.jsonl"
_CHUNK_BYTES = 65_536
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


class _Account(TypedDict, total=False):
    cell: str
    sent: int
    succeeded: int
    failed: int
    dead_lettered: int
    unanswered: int
    duplicates: int


class RunFolder:
    """One run's folder. Files: run.json, sent.jsonl, log_events.jsonl, records.jsonl,
    dead_letters.jsonl, ...

    `log_events.parquet` is made from the lines (`log_columns`) and can be left out of a copy.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """What --run takes: the folder's name, which is the run's id unless the folder was
        renamed."""
        return self.path.name

    @property
    def as_argument(self) -> str:
        """`name`, with the --results-dir that a command needs to find it where that isn't the
        default, for a shell."""
        parent = self.path.parent
        there = (
            ""
            if parent.resolve() == RESULTS_DIR.resolve()
            else f" --results-dir {shlex.quote(str(parent))}"
        )
        return f"{self.name}{there}"

    @cached_property
    def run_id(self) -> str:
        """The id that the run's messages and records carry: that of its run.json, else the folder's
        name. Raises UsageError for a damaged run.json."""
        return self.read_json("run.json", {}).get("run_id", self.name)

    @classmethod
    def create(cls, results_dir: Path, run_id: str | None = None) -> RunFolder:
        """Make the folder of `run_id` (an existing one is used again), or of a new id made from the
        clock (UTC).

        Raises UsageError where it can't be made.
        """
        if run_id is not None:
            path = results_dir / checked_run_id(run_id)
            _make(path, exist_ok=True)
            return cls(path)
        stem = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        for attempt in range(1, 1000):
            path = results_dir / (stem if attempt == 1 else f"{stem}-{attempt}")
            try:
                _make(path)
            except FileExistsError:
                continue
            return cls(path)
        raise UsageError(f"--results-dir: no free run id {stem}-* in {results_dir}; give --run")

    @classmethod
    def find(cls, results_dir: Path, run_id: str | None, option: str = "--run") -> RunFolder:
        """The folder of `run_id`, which may be its path, or of the newest run that sent messages.
        Raises UsageError, which names `option`, where there is none."""
        if run_id is not None:
            path = (
                Path(run_id)
                if is_run(Path(run_id))
                else results_dir / checked_run_id(run_id, option)
            )
            if not path.is_dir():
                raise UsageError(
                    f"{option}: there is no run {run_id!r} in {results_dir}; "
                    f"{way_to_runs(results_dir)}"
                )
            return cls(path)
        if sent := cls.all_with(results_dir, "sent.jsonl"):
            return sent[0]
        if silent := cls.all_with(results_dir, "run.json"):
            way_out = f"resume a sweep with `stampede sweep --resume {silent[0].as_argument}`"
            raise UsageError(
                f"{option}: run {silent[0].name} in {results_dir} sent no messages; {way_out}"
            )
        start = "start a run with `stampede flood` or `stampede sweep`"
        raise UsageError(
            f"{option}: there are no runs here: {way_to_runs(results_dir)}; or {start}"
        )

    @classmethod
    def all_with(cls, results_dir: Path, name: str) -> list[RunFolder]:
        """The folders of the runs that have a file `name`, the one whose file changed last
        first."""
        files = sorted(
            results_dir.glob(f"*/{name}"), key=lambda file: file.stat().st_mtime_ns, reverse=True
        )
        return [cls(file.parent) for file in files]

    def refuse_unwritable(self) -> None:
        """Raise UsageError where nothing could be stored in the folder, before anything is sent or
        fetched for it."""
        if self.path.exists() and not os.access(self.path, os.W_OK | os.X_OK):
            raise UsageError(
                f"--run: {self.path} is read-only for you; make it writable, or copy the run into "
                "another folder, and name the folder above it with --results-dir"
            )

    @contextlib.contextmanager
    def held(self, option: str) -> Iterator[None]:
        """In the block no other process that holds it, whatever its stack, writes into the folder.
        Raises UsageError, which names `option`, while another one does."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(folder)
            raise UsageError(
                f"{option}: run {self.name} is in use by another process; wait until it exits"
            ) from None
        except OSError:  # some network file systems lock no folders
            pass
        try:
            yield
        finally:
            os.close(folder)

    def remove_if_empty(self) -> None:
        """Take away the folder of a run that was refused before it began."""
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def replace(self, name: str, content: str | bytes) -> None:
        """Write a file of the folder whole, or of a folder in it, which is made. Raises OSError."""
        path = self.path / name
        if path.parent != self.path:
            path.parent.mkdir(exist_ok=True)
            if path.parent.is_symlink():
                raise UsageError(f"{path.parent} is a link; remove it")
        with replacing(path) as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def write_json(self, name: str, value: Any) -> None:
        """Write a whole JSON file."""
        self.replace(name, json.dumps(value, indent=2) + "\n")

    def read_json(self, name: str, default: Any = None) -> Any:
        """Read a JSON file of this run, or return `default` where it isn't there. Raises UsageError
        for a damaged one."""
        path = self.path / name
        with damage_refused(path):
            try:
                value = stored_json.value(path, object if default is None else type(default))
            except FileNotFoundError:
                return default
            if name == description.FILE:
                description.check(value)
            if name == "accounting.json":
                stored_json.typed(value, list[_Account])
        return value

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Append rows as JSON lines, one by one; the file isn't touched where there is none."""
        try:
            collections.deque(self.appended(name, rows), maxlen=0)
        except OSError:  # a full disk took a part of a line
            _cut_torn_line(self.path / name)
            raise

    def appended(self, name: str, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Append rows as they are taken, and hand them on; the file isn't touched where there is
        none."""
        rows = iter(rows)
        if (first := next(rows, None)) is None:
            return
        with self.appending(name) as file:
            for row in itertools.chain([first], rows):
                file.write(json.dumps(row) + "\n")
                yield row

    def rewrite(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Replace a JSON-lines file by these rows, atomically; without rows it goes. They may come
        from the file."""
        path = self.path / name
        with replacing(path) as file:
            file.writelines(f"{json.dumps(row)}\n".encode() for row in rows)
        if not path.stat().st_size:
            path.unlink()

    def appending(self, name: str) -> TextIO:
        """Open a JSON-lines file to append to. What a killed writer left of a last line is cut off
        first: the next row would continue it. Raises UsageError for what isn't a file."""
        path = self.path / name
        with damage_refused(path):
            _cut_torn_line(path)
            return stored_json.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "a")

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of a JSON-lines file; a torn last line (a killed writer) is left out. Raises
        UsageError for a line that is damaged, or lacks what this file's must have."""
        path = self.path / name
        with damage_refused(path), contextlib.suppress(FileNotFoundError):
            for _, row in stored_json.rows(path, fault_of=stored_json.fault_of(name)):
                yield row


@contextlib.contextmanager
def damage_refused(path: Path) -> Iterator[None]:
    """In the block a file of a run that is damaged, or isn't a file, is a UsageError with the way
    out."""
    try:
        yield
    except stored_json.NotAFile as error:
        raise UsageError(f"{error}; remove it, or start a new run") from None
    except ValueError as error:
        raise UsageError(f"{path} is damaged ({error}); restore it, or start a new run") from None


def _make(path: Path, *, exist_ok: bool = False) -> None:
    try:
        path.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as error:
        if isinstance(error, FileExistsError) and path.is_dir():
            raise
        raise UsageError(
            f"--results-dir: {path} can't be created ({error.strerror}); name a folder in which "
            "you may write"
        ) from None


def _cut_torn_line(path: Path) -> None:
    try:
        file = stored_json.opened(path, os.O_RDWR, "r+b")
    except FileNotFoundError:
        return
    with file:
        end = keep = file.seek(0, os.SEEK_END)
        while keep > 0:
            start = max(0, keep - _CHUNK_BYTES)
            file.seek(start)
            newline = file.read(keep - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        if keep < end:
            file.truncate(keep)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place at the end of the block, unless that fails. Raises
    OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # mkstemp makes files that only the owner may read; a report is meant to be passed on.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_where_typed(path: Path, text: str) -> None:
    """Write a page to the path that the user typed: whole, or into what a link there leads to, a
    device or a pipe.

    Raises OSError.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        # A file renamed to /dev/stdout or /dev/full would replace it, if root asks for it.
        path.write_text(text, encoding="utf-8")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode())


def way_to_runs(results_dir: Path) -> str:
    """How to find the runs, for who named one that isn't there."""
    if results_dir.is_dir():
        return f"`ls {results_dir}` lists the runs"
    return f"{results_dir.absolute()} isn't a folder; go to where you swept, or give --results-dir"


def is_run(path: Path) -> bool:
    """Whether a user who typed this means a run's folder, and not an id."""
    return len(path.parts) > 1 and (path / "run.json").is_file()


def checked_run_id(run_id: str, option: str = "--run") -> str:
    """Return `run_id` if it can name a folder and stand unquoted in a query; else raises UsageError
    naming `option`."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(
            f"{option}: {run_id!r} isn't a valid run id; use 1 to 80 letters, digits, '_', '.' or "
            "'-', and begin with a letter or digit"
        )
    return run_id
