"""`results/<run_id>/`: everything a run leaves behind, readable after a kill -9 too.

JSON-lines files are appended to: a killed writer leaves at most one torn line, which readers skip
and the next writer cuts off. What it hadn't written yet is missing: of a flood the batches in
flight, which SQS may have accepted (`flood.first_seq` leaves their numbers free). Other files are
written to a temporary one and renamed, so they are complete: old or new. Nothing is forced to disk:
a machine that loses power may lose more. Coordinates are in the records, never in file names.

A folder may come from somebody else: nothing is written through a link in it, and only regular
files are read.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import itertools
import json
import mmap
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
# The messages in flight without a record when a drain ended early.
UNANSWERED_FILE = "unanswered.jsonl"
FAILED_OBJECTS = "failed_objects.jsonl"
# The message numbers of attempts at a cell that were set aside.
ABANDONED = "abandoned.jsonl"
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

    `log_events.parquet` is derived from the log events (`log_columns`), so a copy doesn't need it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The folder's name, for --run: the run's id, unless the folder was renamed."""
        return self.path.name

    @property
    def as_argument(self) -> str:
        """`name` for a shell command, with --results-dir if it isn't the default."""
        parent = self.path.parent
        # a name that looks like an option
        name = shlex.quote(f"./{self.name}" if self.name.startswith("-") else self.name)
        if parent.resolve() == RESULTS_DIR.resolve():
            return name
        return f"{name} --results-dir {shlex.quote(str(parent))}"

    @cached_property
    def run_id(self) -> str:
        """The id in the run's messages and records: that of its run.json, else the folder's name.
        Raises UsageError for a damaged run.json."""
        return self.read_json("run.json", {}).get("run_id", self.name)

    @classmethod
    def create(cls, results_dir: Path, run_id: str | None = None) -> RunFolder:
        """Make the folder of `run_id`, which may exist, or of a new id, the time in UTC. Raises
        UsageError if it can't be made."""
        if run_id is not None:
            path = results_dir / checked_run_id(run_id)
            _make(path, exist_ok=True)
            return cls(path)
        stem = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        path, numbers = results_dir / stem, itertools.count(2)
        while True:
            try:
                _make(path)
                return cls(path)
            except FileExistsError:
                path = results_dir / f"{stem}-{next(numbers)}"

    @classmethod
    def find(cls, results_dir: Path, run_id: str | None, option: str = "--run") -> RunFolder:
        """The folder of `run_id`, which may be its path, or of the newest run that sent messages.
        Raises UsageError, naming `option`, if there is none."""
        if run_id is not None:
            path = Path(run_id)
            if not is_run(path):
                path = results_dir / checked_run_id(run_id, option)
            if not path.is_dir():
                missing = f"{option}: there is no run {run_id!r} in {results_dir}"
                raise UsageError(f"{missing}; {way_to_runs(results_dir)}")
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
        """The folders of the runs with a file `name`, the most recently changed file first."""
        files = sorted(
            results_dir.glob(f"*/{name}"), key=lambda file: file.stat().st_mtime_ns, reverse=True
        )
        return [cls(file.parent) for file in files]

    def refuse_unwritable(self) -> None:
        """Raise UsageError if the folder is read-only, before anything is sent or fetched."""
        if self.path.exists() and not os.access(self.path, os.W_OK | os.X_OK):
            raise UsageError(
                f"--run: {self.path} is read-only for you; make it writable, or copy the run into "
                "another folder, and name the folder above it with --results-dir"
            )

    @contextlib.contextmanager
    def held(self, option: str) -> Iterator[None]:
        """Lock the folder for the block against other processes that do the same, whatever their
        stack. Raises UsageError, naming `option`, while another process holds it."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(folder)
            raise UsageError(
                f"{option}: run {self.name} is in use by another process; wait until it exits"
            ) from None
        except OSError:  # some network file systems can't lock folders
            pass
        try:
            yield
        finally:
            os.close(folder)

    def remove_if_empty(self) -> None:
        """Remove the folder of a run that was refused before it began."""
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def replace(self, name: str, content: str | bytes) -> None:
        """Write a whole file in the folder, or in a subfolder, which is created. Raises OSError."""
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
        """Read a JSON file of this run, or return `default` if there is none. Raises UsageError for
        a damaged file."""
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
        """Append rows as JSON lines, one by one; without rows the file isn't touched."""
        try:
            collections.deque(self.appended(name, rows), maxlen=0)
        except OSError:  # a full disk took a part of a line
            _cut_torn_line(self.path / name)
            raise

    def appended(self, name: str, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Append rows as JSON lines and pass them on, one by one; without rows the file isn't
        touched."""
        rows = iter(rows)
        if (first := next(rows, None)) is None:
            return
        with self.appending(name) as file:
            for row in itertools.chain([first], rows):
                file.write(json.dumps(row) + "\n")
                yield row

    def rewrite(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Replace a JSON-lines file with these rows, atomically; without rows it is removed. They
        may be read from the file."""
        path = self.path / name
        with replacing(path) as file:
            file.writelines(f"{json.dumps(row)}\n".encode() for row in rows)
        if not path.stat().st_size:
            path.unlink()

    def appending(self, name: str) -> TextIO:
        """Open a JSON-lines file for appending, after cutting off a killed writer's torn last line,
        which the next row would continue. Raises UsageError if it isn't a file."""
        path = self.path / name
        with damage_refused(path):
            _cut_torn_line(path)
            return stored_json.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "a")

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of a JSON-lines file, without the torn last line of a killed writer. Raises
        UsageError for a line that is damaged, or lacks a required field."""
        path = self.path / name
        with damage_refused(path), contextlib.suppress(FileNotFoundError):
            for _, row in stored_json.rows(path, fault_of=stored_json.fault_of(name)):
                yield row


@contextlib.contextmanager
def damage_refused(path: Path) -> Iterator[None]:
    """Turn errors of a damaged file, or one that isn't a file, into UsageError with the way out."""
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
    with file, contextlib.suppress(ValueError):  # of mmap, for an empty file
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            size, end = len(content), content.rfind(b"\n") + 1
        if end < size:
            file.truncate(end)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that replaces `path` at the end of the block, unless an exception ends it.
    Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # Only the owner may read mkstemp's files; a report is meant to be shared.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_where_typed(path: Path, text: str) -> None:
    """Write a page to the path that the user typed: atomically, or through a link, or to a device
    or pipe. Raises OSError."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        # If root runs this, renaming a file to /dev/stdout or /dev/full would replace the device.
        path.write_text(text, encoding="utf-8")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode())


def way_to_runs(results_dir: Path) -> str:
    """How to find the runs, for a message about a missing one."""
    if results_dir.is_dir():
        return f"`ls {results_dir}` lists the runs"
    return f"{results_dir.absolute()} isn't a folder; go to where you swept, or give --results-dir"


def is_run(path: Path) -> bool:
    """Whether the path that a user typed is a run's folder, and not an id."""
    return len(path.parts) > 1 and (path / "run.json").is_file()


def checked_run_id(run_id: str, option: str = "--run") -> str:
    """Return `run_id` if it can name a folder and needs no quotes in a query; else raise UsageError
    naming `option`."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(
            f"{option}: {run_id!r} isn't a valid run id; use 1 to 80 letters, digits, '_', '.' or "
            "'-', and begin with a letter or digit"
        )
    return run_id
