"""Reads a results folder, tolerantly: what is there is shown, and what isn't is named in a warning."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS
from report import cells, jsonl
from report.cell_settings import CellSettings
from report.ways import METHOD, Key, default_sink, key_words

FORMAT = 1
FILES = (
    "run.json",
    "records.jsonl",
    "sent.jsonl",
    "log_events.jsonl",
    "accounting.json",
    "dead_letters.jsonl",
)

# Of the one experiment that the report knows so far.
RECORD_FIELDS = EXPERIMENTS["download"].record_fields

# Where a record that was read keeps what its cell has of the other swept variables; no record has such a key itself.
SETTINGS = "(settings)"

# Whole numbers beyond this aren't exact as doubles; a time of more than 30 years is none.
LARGEST_WHOLE = 2**53
LONGEST_S = 1e9


class NoReport(ValueError):
    """A results folder that can't be reported at all; the text is one line with the way out."""


@dataclass(frozen=True)
class Run:
    """What a results folder holds. `accounting` and `stored_rows` are None when their file isn't there.

    `downloads` are the records with status ok and a usable time, `errors` those with status error; `warm_ups` are
    those of warm-up messages, whatever their status, and are in neither of them: they count in no figure. Nor do
    `foreign` ones, whose own settings aren't those of their cell.
    """

    directory: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    downloads: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    warm_ups: list[dict[str, Any]] = field(default_factory=list)
    foreign: list[dict[str, Any]] = field(default_factory=list)
    sent: list[dict[str, Any]] | None = None
    dead_letters: list[dict[str, Any]] = field(default_factory=list)
    accounting: list[dict[str, Any]] | None = None
    stored_rows: list[dict[str, Any]] | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def run_id(self) -> str:
        return str(self.manifest.get("run_id") or self.directory.name)

    @property
    def experiment(self) -> str:
        return str(self.manifest.get("experiment") or "download")

    @property
    def target(self) -> str:
        """`local`, `aws`, or `unknown` without a run.json."""
        return str(self.manifest.get("target") or "unknown")

    @property
    def region(self) -> str | None:
        """The AWS region, from account or plan in run.json."""
        for part in ("account", "plan"):
            value = self.manifest.get(part)
            if isinstance(value, dict) and value.get("region"):
                return str(value["region"])
        return None

    @property
    def source(self) -> str:
        """Whose figures these are, as the table marks them."""
        if self.target == "local":
            return "this machine"
        if self.target == "aws":
            return f"AWS, {self.region}" if self.region else "AWS"
        return "unknown target"

    @property
    def object_bytes(self) -> int | None:
        """The size of the object: the one that the downloads had in common, else the planned one."""
        sizes = {record["bytes"] for record in self.downloads if isinstance(record.get("bytes"), int)}
        if len(sizes) == 1:
            return sizes.pop()
        planned = self.cells.fixed.get("object_size_mb")
        return int(planned * 1024**2) if not sizes and isinstance(planned, int | float) else None

    @cached_property
    def cells(self) -> CellSettings:
        """What each cell was set to, as run.json has it."""
        return CellSettings(self.manifest)

    def cell_keys(self) -> list[Key]:
        """Every cell, planned, flooded or seen in a record, sorted by its coordinates."""
        seen = {record_key(record) for record in self.downloads + self.errors + self.warm_ups}
        named = {
            self.key_of(cell) for cell in [*self.cells.names(), *(row.get("cell") for row in self.accounting or [])]
        }
        return sorted(key for key in seen | named if key is not None)

    def key_of(self, cell: object) -> Key | None:
        """The coordinates of a cell from its id: as run.json has them, else as its records do; never by its text."""
        values = self.cells.of(cell)
        if values is None:
            return self._keys_of_records.get(cell) if isinstance(cell, str) else None
        found = (values.get(name) for name in RECORD_FIELDS)
        return _key(*found, self.cells.others(cell)) or self._keys_of_records.get(cell)

    def cell_words(self, cell: object) -> str:
        """A cell in words, from its id; an id that nothing is known of as it is."""
        key = self.key_of(cell)
        if key is None:
            return str(cell)
        repeat = self.cells.repeat(cell)
        return key_words(key) + ("" if repeat is None else f", repeat {repeat}")

    @cached_property
    def _keys_of_records(self) -> dict[str, Key]:
        keys: dict[str, Key] = {}
        for record in [*self.downloads, *self.errors, *self.warm_ups]:
            key = record_key(record)
            if key is not None and isinstance(record.get("cell"), str):
                keys.setdefault(record["cell"], key)
        return keys


def load(run_dir: Path) -> Run:
    """Read the results folder `run_dir`.

    Missing or damaged files become warnings. Raises NoReport when there is no such folder, nothing of a run
    in it, or a run.json of another format version.
    """
    run_dir = Path(run_dir)
    if not run_dir.is_dir():
        raise NoReport(f"{run_dir}: no such results folder; see `ls {run_dir.parent}` for those that there are.")
    if not any((run_dir / name).exists() for name in FILES):
        raise NoReport(f"{run_dir}: not a results folder, it has none of {', '.join(FILES)}.")
    warnings: list[str] = []
    manifest = _manifest(run_dir, warnings)
    records, foreign = _own_records(_lines(run_dir / "records.jsonl", warnings) or [], CellSettings(manifest))
    downloads, errors, warm_ups = _sorted_out(records, warnings)
    sent = _lines(run_dir / "sent.jsonl", warnings)
    dead = _lines(run_dir / "dead_letters.jsonl", warnings)
    return Run(
        directory=run_dir,
        manifest=manifest,
        downloads=downloads,
        errors=errors,
        warm_ups=warm_ups,
        foreign=foreign,
        sent=None if sent is None else [row for _, row in sent],
        dead_letters=[row for _, row in dead or []],
        accounting=_accounting(run_dir, warnings),
        stored_rows=_stored_rows(run_dir, warnings),
        warnings=warnings,
    )


def record_key(record: dict[str, Any]) -> Key | None:
    """The cell of a record, from its own coordinates; None when it lacks them."""
    return _key(*(record.get(field) for field in RECORD_FIELDS.values()), record.get(SETTINGS, ""))


def _key(memory: object, n: object, method: object, sink: object, settings: str) -> Key | None:
    if not all(type(part) is int and 1 <= part < LARGEST_WHOLE for part in (memory, n)):  # type: ignore
        return None
    method = method if isinstance(method, str) and method else METHOD
    sink = sink if isinstance(sink, str) and sink else default_sink(method)
    return Key(memory, n, method, sink, settings)  # type: ignore


def _manifest(run_dir: Path, warnings: list[str]) -> dict[str, Any]:
    manifest = _json(run_dir / "run.json", dict, warnings)
    if manifest is None:
        return {}
    if manifest.get("format") != FORMAT:
        raise NoReport(
            f"{run_dir / 'run.json'}: format {manifest.get('format')!r}, but this Stampede reads format "
            f"{FORMAT}; use the version that wrote it ({manifest.get('stampede_version', 'not named in the file')})."
        )
    experiment = manifest.get("experiment")
    if experiment is not None and experiment not in EXPERIMENTS:
        raise NoReport(
            f"{run_dir / 'run.json'}: experiment {experiment!r}, but this Stampede knows {', '.join(EXPERIMENTS)}; "
            f"use the version that wrote it ({manifest.get('stampede_version', 'not named in the file')})."
        )
    return manifest


def _accounting(run_dir: Path, warnings: list[str]) -> list[dict[str, Any]] | None:
    rows = _json(run_dir / "accounting.json", list, warnings)
    return None if rows is None else [row for row in rows if isinstance(row, dict)]


def _stored_rows(run_dir: Path, warnings: list[str]) -> list[dict[str, Any]] | None:
    path = run_dir / "cells.csv"
    if not path.exists():  # not worth a warning: the report makes it
        return None
    try:
        return cells.read(path)
    except (OSError, ValueError) as error:
        warnings.append(f"cells.csv can't be read: {error}")
        return None


def _json(path: Path, kind: type, warnings: list[str]) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        warnings.append(f"{path.name} is missing.")
        return None
    except (OSError, ValueError) as error:
        warnings.append(f"{path.name} can't be read: {error}")
        return None
    if not isinstance(value, kind):
        warnings.append(f"{path.name} holds a JSON {type(value).__name__}, not a {kind.__name__}; left out.")
        return None
    return value


def _lines(path: Path, warnings: list[str]) -> list[tuple[int, dict[str, Any]]] | None:
    try:
        rows, found = jsonl.read(path)
    except FileNotFoundError:
        warnings.append(f"{path.name} is missing.")
        return None
    except OSError as error:
        warnings.append(f"{path.name} can't be read: {error}")
        return None
    warnings += found
    return rows


def _own_records(
    records: list[tuple[int, dict[str, Any]]], cells: CellSettings
) -> tuple[list[tuple[int, dict[str, Any]]], list[dict[str, Any]]]:
    """The records that agree with their cells, with what else the run swept noted in them; and the others."""
    own, foreign = [], []
    for number, record in records:
        if cells.difference(record) is not None:
            foreign.append(record)
            continue
        if others := cells.others(record.get("cell")):
            record[SETTINGS] = others
        own.append((number, record))
    return own, foreign


def _sorted_out(
    records: list[tuple[int, dict[str, Any]]], warnings: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Downloads, errors and warm-ups; every other record is named in a warning."""
    downloads: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    warm_ups: list[dict[str, Any]] = []
    for number, record in records:
        seconds = record.get("download_time_seconds")
        timed = type(seconds) in (int, float) and 0 <= seconds <= LONGEST_S
        warm_up = record.get("warm_up") == 1  # records of before there were any don't say
        if record.get("status") == "error":
            (warm_ups if warm_up else errors).append(record)
        elif record.get("status") == "ok" and timed and record_key(record):
            (warm_ups if warm_up else downloads).append(record)
        else:
            warnings.append(
                f"records.jsonl, line {number}: not a record (needs status, memory_size, concurrency_limit "
                "and, when ok, download_time_seconds); left out."
            )
    return downloads, errors, warm_ups
