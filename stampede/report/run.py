"""Reads a results folder tolerantly: missing or damaged parts become warnings."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, Experiment, of_run, use_the_writer
from stampede.cell import FIRST_EDITION, FORMAT, Cell, varying
from stampede.errors import UsageError
from stampede.experiment import StandIn
from stampede.phrases import counted, listed
from stampede.runs import cells, stored_json
from stampede.runs.description import is_flood_by_hand
from stampede.runs.folder import RunFolder, way_to_runs
from stampede.runs.store import Store, open_store
from stampede.stacks.endpoints import endpoint_words

FILES = (
    "run.json",
    "records.jsonl",
    "sent.jsonl",
    "log_events.jsonl",
    "accounting.json",
    "dead_letters.jsonl",
)


class NoReport(UsageError):
    """A results folder that can't be reported; the text is one line with the fix."""


_PLACES = """
SELECT cell, place_at FROM operations WHERE NOT is_foreign AND place_at IS NOT NULL GROUP BY ALL
ORDER BY bool_and(is_warm_up), bool_and(status = 'error'), min(line)
"""
_UNSENT = "SELECT (SELECT count(*) FROM sent) = 0 AND (SELECT count(*) FROM records) > 0"


@dataclass(frozen=True)
class Run:
    """The content of a results folder. `accounting` and `stored_rows` are None if missing."""

    directory: Path
    manifest: dict[str, Any]
    store: Store
    accounting: list[dict[str, Any]] | None = None
    stored_rows: list[dict[str, Any]] | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def experiment(self) -> Experiment:
        return self.store.experiment

    @property
    def cells(self) -> dict[str, Cell]:
        """The planned settings of each cell, by name."""
        return self.store.planned

    @cached_property
    def unfinished(self) -> list[str]:
        """The planned cells that weren't finished, in the order of the plan."""
        if is_flood_by_hand(self.manifest):
            return []
        is_old, stored = self.manifest.get("format") == FIRST_EDITION, self.manifest.get("finished")
        rows = self.manifest.get("cells") if is_old else stored
        listed_rows = rows if isinstance(rows, list | dict) else ()
        names = [row.get("cell") if isinstance(row, dict) else row for row in listed_rows]
        done = {name for name in names if isinstance(name, str)}
        return [name for name in self.cells if name not in done]

    @cached_property
    def sdk_versions(self) -> dict[str, list[str]]:
        """The versions of each SDK in the records; Lambda's runtimes bring and update boto3."""
        versions: dict[str, list[str]] = {}
        sdks = "SELECT DISTINCT sdk FROM operations WHERE sdk IS NOT NULL ORDER BY sdk"
        for (sdk,) in self.store.rows(sdks):
            name, _, version = sdk.partition(" ")
            if version:
                versions.setdefault(name, []).append(version)
        return versions

    @property
    def run_id(self) -> str:
        return str(self.manifest.get("run_id") or self.directory.name)

    @property
    def target(self) -> str:
        """`local`, `aws`, `endpoint` for one in place of AWS, or `unknown` without a run.json."""
        return str(self.manifest.get("target") or "unknown")

    @property
    def swept(self) -> set[str]:
        """The variables for which the plan has several values."""
        plan = self.manifest.get("plan")
        swept = plan.get("swept") if isinstance(plan, dict) else None
        rows = swept.items() if isinstance(swept, dict) else ()
        return {name for name, values in rows if isinstance(values, list) and len(values) > 1}

    @property
    def region(self) -> str | None:
        """The AWS region, from the account or plan in run.json."""
        for part in ("account", "plan"):
            value = self.manifest.get(part)
            if isinstance(value, dict) and value.get("region"):
                return str(value["region"])
        return None

    @property
    def source(self) -> str:
        """Where the figures come from, as shown in the table."""
        if self.target == "local":
            return "this machine"
        if self.target == "endpoint":
            url, services = (self.manifest.get(f"endpoint_{name}") for name in ("url", "services"))
            return endpoint_words(
                str(url or "an unknown URL"), services if isinstance(services, dict) else {}
            )
        if self.target == "aws":
            return f"AWS, {self.region}" if self.region else "AWS"
        return "unknown target"

    @property
    def not_aws(self) -> str:
        """The owner of figures that could be mistaken for those of AWS, as in “the endpoint’s
        seconds”; else ""."""
        return {"local": "this machine", "endpoint": "the endpoint"}.get(self.target, "")

    def cell_keys(self) -> list[Cell]:
        """Every cell, planned, flooded or recorded, sorted by its coordinates. Records have
        precedence over the plan, which lacks the axes that only records tell."""
        cells = [*self.cells, *(row.get("cell") for row in self.accounting or [])]
        planned = {self.key_of(cell) for cell in cells if cell not in self._keys_of_records}
        return sorted((planned | {self.store.places[at] for _, at in self._places}) - {None})

    def key_of(self, cell: object) -> Cell | None:
        """The coordinates of a cell by its id, from run.json, else from its records; never from the
        id's text."""
        if not isinstance(cell, str):
            return None
        planned = self.cells[cell].place() if cell in self.cells else None
        return planned or self._keys_of_records.get(cell)

    def cell_words(self, cell: object) -> str:
        """A cell in words, from its id; an unknown id unchanged."""
        key = self.key_of(cell)
        if key is None:
            return str(cell)
        repeat = self.repeat(cell)
        # A planned cell has no coordinate on axes that only records tell.
        planned = key.on([axis for axis in key.axes if axis.variable])
        return planned.words + ("" if repeat is None else f", repeat {repeat}")

    def stand_ins(self, keys: Iterable[Cell]) -> dict[StandIn, list[str]]:
        """The stand-ins that ran on the embedded AWS, and which of these cells' values they
        replaced."""
        stand_ins = self.experiment.stand_ins if self.target == "local" else {}
        coordinates = {(axis, key[axis]) for key in keys for axis in stand_ins}
        replaced: dict[StandIn, list[str]] = {}
        for axis, value in sorted(coordinates):
            if value in stand_ins[axis]:
                replaced.setdefault(stand_ins[axis][value], []).append(value)
        return replaced

    @property
    def without_effect(self) -> str:
        """A clause on what the embedded AWS ignores among the settings that differ between cells or
        that all name; empty if nothing."""
        if self.target != "local":
            return ""
        variables = {axis.variable for axis in self.experiment.axes if not axis.is_variant}
        variables |= varying(self.cells.values())
        words = [
            words
            for variable, words in self.experiment.ignored_locally.items()
            if variable in variables
        ]
        if not words:
            return ""
        return f"the embedded AWS ignores {listed(words)}, so no difference in time is due to that"

    def repeat(self, cell: object) -> int | None:
        """The number of a cell's repeat; None if it ran once or is unknown."""
        planned = self.cells.get(cell) if isinstance(cell, str) else None
        return planned and planned.repeat

    def stack(self, cell: str | None) -> str:
        """The name of the stack that a cell ran on; cells of one block share it."""
        planned = self.cells.get(cell)
        return planned.block if planned and planned.block else str(cell)

    @cached_property
    def _names_of_places(self) -> dict[Cell, set[str]]:
        names: dict[Cell, set[str]] = {}
        for name, place in self.keys_of_names():
            names.setdefault(place, set()).add(name)
        return names

    def names_of(self, place: Cell) -> set[str]:
        """The ids of the cells of a place, from their records, else from the plan."""
        return self._names_of_places.get(place, set())

    def order(self, cell: str) -> tuple[Any, ...]:
        """The sort key of a row, from its cell's id: its coordinates; ids without come first."""
        key = self.key_of(cell)
        return ((), "", cell) if key is None else (key.coordinates, key.settings, cell)

    def keys_of_names(self) -> list[tuple[str, Cell]]:
        """The ids of cells with records or sent messages, each with the coordinates from its
        records and from its plan."""
        seen = [(cell, self.store.places[at]) for cell, at in self._places if cell is not None]
        return seen + [
            (name, key) for name in self.cell_names if (key := self.key_of(name)) is not None
        ]

    @property
    def cell_names(self) -> list[str]:
        """The ids of the cells with records or sent messages."""
        query = "SELECT DISTINCT cell FROM sent WHERE cell IS NOT NULL ORDER BY cell"
        sent = [cell for (cell,) in self.store.rows(query)]
        return list(dict.fromkeys([*self.store.cells, *sent]))

    @cached_property
    def _places(self) -> list[tuple[str | None, int]]:
        return self.store.rows(_PLACES)

    @cached_property
    def _keys_of_records(self) -> dict[str, Cell]:
        return {
            cell: self.store.places[at] for cell, at in reversed(self._places) if cell is not None
        }


def load(run_dir: Path) -> Run:
    """Read the results folder `run_dir`.

    Missing or damaged files become warnings. Raises NoReport if there is no such folder, if it
    holds no part of a run, or if its run.json has another format version or an unknown experiment.
    """
    run_dir = Path(run_dir)
    if not run_dir.is_dir():
        raise NoReport(f"{run_dir}: there is no such results folder; {way_to_runs(run_dir.parent)}")
    if not any((run_dir / name).exists() for name in FILES):
        names = ", ".join(FILES)
        raise NoReport(
            f"{run_dir}: this isn’t a results folder: it has none of {names}; name a folder of "
            "results/"
        )
    warnings: list[str] = []
    manifest = _manifest(run_dir, warnings)
    try:
        store = open_store(RunFolder(run_dir), manifest)
    except UsageError as error:
        raise NoReport(f"{run_dir}: {error}") from None
    for table, name in (("records", "records.jsonl"), ("sent", "sent.jsonl")):
        if table not in store.files and not (run_dir / name).exists():
            warnings.append(f"{name} is missing.")
    if "sent" in store.files and store.rows(_UNSENT) == [(True,)]:
        warnings.append("sent.jsonl is empty.")
    if manifest.get("format") == FORMAT:
        warnings += _unread_cells(manifest.get("cells"), store)
    warnings += store.refused
    return Run(
        directory=run_dir,
        manifest=manifest,
        store=store,
        accounting=_accounting(run_dir, warnings),
        stored_rows=_stored_rows(run_dir, store.experiment, warnings),
        warnings=warnings,
    )


def _unread_cells(stored: object, store: Store) -> list[str]:
    if not isinstance(stored, list):
        return ["run.json has no list of cells."]
    if len(store.planned) == len(stored):
        return []
    left_out = counted(len(stored) - len(store.planned), "cell")
    return [f"run.json has {left_out} that can't be read or that it has twice; left out."]


def _manifest(run_dir: Path, warnings: list[str]) -> dict[str, Any]:
    path = run_dir / "run.json"
    manifest = stored_json.value_or_warning(path, dict, warnings)
    if manifest is None:
        return _named_by_records(run_dir)
    if manifest.get("format") not in (FIRST_EDITION, FORMAT):
        rule = f"format {manifest.get('format')!r}, but this Stampede reads format {FORMAT}"
        raise NoReport(f"{path}: {rule}; {use_the_writer(manifest)}")
    try:
        of_run(manifest, path)
    except UsageError as error:
        raise NoReport(str(error)) from None
    return manifest


def _named_by_records(run_dir: Path) -> dict[str, Any]:
    """The experiment that the first record names: those of `download` name none."""
    with contextlib.suppress(OSError, ValueError):
        for _, record in stored_json.rows(run_dir / "records.jsonl", []):
            name = record.get("experiment")
            return {"experiment": name} if isinstance(name, str) and name in EXPERIMENTS else {}
    return {}


def _accounting(run_dir: Path, warnings: list[str]) -> list[dict[str, Any]] | None:
    rows = stored_json.value_or_warning(run_dir / "accounting.json", list, warnings)
    if rows is None:
        return None
    return [row | {"cell": str(row.get("cell"))} for row in rows if isinstance(row, dict)]


def _stored_rows(
    run_dir: Path, experiment: Experiment, warnings: list[str]
) -> list[dict[str, Any]] | None:
    path = run_dir / "cells.csv"
    if not path.exists():  # not worth a warning: the report makes it
        return None
    try:
        return cells.read(path, experiment)
    except (OSError, ValueError) as error:
        warnings.append(f"cells.csv can't be read: {error}")
        return None
