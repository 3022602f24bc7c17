"""Reads a results folder, tolerantly: what is there is shown, and what isn't is named in a warning."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments import Experiment, of_run, use_the_writer
from stampede.errors import UsageError
from stampede.experiment.declaration import StandIn
from stampede.experiment.place import endpoint_words
from stampede.phrases import listed
from stampede.runs import cells, prediction, stored_json
from stampede.runs.cell_key import Key, as_emulated
from stampede.runs.cell_settings import CellSettings, Difference
from stampede.runs.folder import FORMAT, UNANSWERED_FILE, way_to_runs
from stampede.runs.prediction import Prediction
from stampede.runs.records import NO_MESSAGE, UNKNOWN, Group, Names, Reader, Records

FILES = (
    "run.json",
    "records.jsonl",
    "sent.jsonl",
    "log_events.jsonl",
    "accounting.json",
    "dead_letters.jsonl",
)


class NoReport(ValueError):
    """A results folder that can't be reported at all; the text is one line with the fix."""


@dataclass(frozen=True)
class Messages:
    """The rows of sent.jsonl as columns: the number of each one's cell, of its message, and whether it is a warm-up."""

    cell: np.ndarray
    message: np.ndarray
    warm_up: np.ndarray


@dataclass(frozen=True)
class Run:
    """What a results folder holds; `cells` is what each cell was set to, as run.json has it. `accounting`, `sent` and
    `stored_rows` are None when their file isn't there.

    `done` are the records with status ok and a usable time, `errors` those with status error; `warm_ups` are those of
    warm-up messages, whatever their status, and are in neither of them: they count in no figure. Nor do `foreign` ones,
    whose own settings aren't those of their cell; `differences` says how, by the cell's id. `sdks` are the SDKs that
    the records name, with their versions.
    """

    directory: Path
    experiment: Experiment
    manifest: dict[str, Any]
    cells: CellSettings
    names: Names
    done: Records
    errors: Records
    warm_ups: Records
    foreign: Records
    differences: dict[str, list[Difference]] = field(default_factory=dict)
    sdks: Sequence[str] = ()
    sent: Messages | None = None
    dead_letters: list[dict[str, Any]] = field(default_factory=list)
    unanswered: list[dict[str, Any]] = field(default_factory=list)
    accounting: list[dict[str, Any]] | None = None
    stored_rows: list[dict[str, Any]] | None = None
    prediction: Prediction | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def run_id(self) -> str:
        return str(self.manifest.get("run_id") or self.directory.name)

    @property
    def target(self) -> str:
        """`local`, `aws`, `endpoint` for one in AWS's stead, or `unknown` without a run.json."""
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
        if self.target == "endpoint":
            url, services = (self.manifest.get(f"endpoint_{name}") for name in ("url", "services"))
            return endpoint_words(str(url or "an unknown URL"), services if isinstance(services, dict) else {})
        if self.target == "aws":
            return f"AWS, {self.region}" if self.region else "AWS"
        return "unknown target"

    @property
    def not_aws(self) -> str:
        """Of what isn't AWS, and could be taken for it: its owner's name, as in “the endpoint’s seconds”; else ""."""
        return {"local": "this machine", "endpoint": "the endpoint"}.get(self.target, "")

    @cached_property
    def object_bytes(self) -> int | None:
        """What one operation moved: the size that all had in common; None when they differ or don't say."""
        sizes = self.done["bytes"][self.done["bytes"] != UNKNOWN]
        return int(sizes[0]) if len(sizes) and sizes.min() == sizes.max() else None

    def cell_keys(self) -> list[Key]:
        """Every cell, planned, flooded or seen in a record, sorted by its coordinates. One that left records is where
        they say: on an axis that only they tell, the plan doesn't know."""
        cells = [*self.cells.names(), *(row.get("cell") for row in self.accounting or [])]
        planned = {self.key_of(cell) for cell in cells if cell not in self._keys_of_records}
        return sorted((planned | set(self._keys_seen)) - {None})

    def key_of(self, cell: object) -> Key | None:
        """The coordinates of a cell from its id: as run.json has them, else as its records do; never by its text."""
        values = self.cells.of(cell)
        if values is None:
            return self._keys_of_records.get(cell) if isinstance(cell, str) else None
        coordinates = (values.get(axis.variable) for axis in self.experiment.axes)
        return Key.of(self.experiment.axes, coordinates, self.cells.others(cell)) or self._keys_of_records.get(cell)

    def cell_words(self, cell: object) -> str:
        """A cell in words, from its id; an id that nothing is known of as it is."""
        key = self.key_of(cell)
        if key is None:
            return str(cell)
        repeat = self.cells.repeat(cell)
        # A planned cell has no coordinate on an axis that only its records tell.
        planned = key.on([axis for axis in key.axes if axis.variable])
        return planned.words + ("" if repeat is None else f", repeat {repeat}")

    def stand_ins(self, keys: Iterable[Key]) -> dict[StandIn, list[str]]:
        """What ran as a stand-in on the embedded AWS, and which values that these cells name it replaced."""
        stand_ins = self.experiment.stand_ins if self.target == "local" else {}
        coordinates = {(axis, key[axis]) for key in keys for axis in stand_ins}
        replaced: dict[StandIn, list[str]] = {}
        for axis, value in sorted(coordinates):
            if value in stand_ins[axis]:
                replaced.setdefault(stand_ins[axis][value], []).append(value)
        return replaced

    @property
    def without_effect(self) -> str:
        """What the embedded AWS ignores of that in which the cells of this run differ or which each of them names: a
        clause on its figures; empty where it ignores nothing."""
        if self.target != "local":
            return ""
        variables = {axis.variable for axis in self.experiment.axes if not axis.is_variant}
        variables |= {variable for variable, values in self.cells.swept.items() if len(values) > 1}
        words = [words for variable, words in self.experiment.ignored_locally.items() if variable in variables]
        return f"the embedded AWS ignores {listed(words)}, so no difference in time is due to that" if words else ""

    def order(self, cell: str) -> tuple[Any, ...]:
        """What rows are sorted by, from the id of their cell: its coordinates; an id that has none comes first."""
        key = self.key_of(cell)
        return ((), "", cell) if key is None else (key.values, key.settings, cell)

    @cached_property
    def _keys_seen(self) -> list[Key]:
        numbers = np.unique(np.concatenate([records["key"] for records in (self.done, self.errors, self.warm_ups)]))
        return [self.done.keys[at] for at in numbers.tolist() if at != UNKNOWN]

    @cached_property
    def _keys_of_records(self) -> dict[str, Key]:
        keys: dict[str, Key] = {}
        for records in (self.done, self.errors, self.warm_ups):
            pairs, first = np.unique(records["cell"] << 32 | records["key"] & 0xFFFFFFFF, return_index=True)
            for at in np.sort(first[pairs >= 0]).tolist():
                cell, key = int(records["cell"][at]), int(records["key"][at])
                if key != UNKNOWN:
                    keys.setdefault(self.names.cells[cell], records.keys[key])
        return keys


def load(run_dir: Path) -> Run:
    """Read the results folder `run_dir`.

    Missing or damaged files become warnings. Raises NoReport when there is no such folder, nothing of a run
    in it, or a run.json of another format version or of an experiment that isn't there.
    """
    run_dir = Path(run_dir)
    if not run_dir.is_dir():
        raise NoReport(f"{run_dir}: there is no such results folder; {way_to_runs(run_dir.parent)}")
    if not any((run_dir / name).exists() for name in FILES):
        names = ", ".join(FILES)
        raise NoReport(f"{run_dir}: this isn’t a results folder: it has none of {names}; name a folder of results/")
    warnings: list[str] = []
    manifest, experiment = _manifest(run_dir, warnings)
    if manifest.get("target") == "local":
        experiment = as_emulated(experiment)
    names = Names()
    settings = CellSettings(manifest)
    reader = Reader(experiment, settings, names)
    for number, row in _rows(run_dir / "records.jsonl", warnings) or ():
        if not reader.add(row):
            warnings.append(f"records.jsonl, line {number}: not a valid record (it needs {reader.needs}); left out.")
    groups = reader.sorted_out()
    return Run(
        directory=run_dir,
        experiment=experiment,
        manifest=manifest,
        cells=settings,
        names=names,
        done=groups[Group.OK],
        errors=groups[Group.ERROR],
        warm_ups=groups[Group.WARM_UP].plus(groups[Group.FAILED_WARM_UP]),
        foreign=groups[Group.FOREIGN].plus(groups[Group.FAILED_FOREIGN], groups[Group.OTHER_FOREIGN]),
        differences=reader.differences,
        sdks=sorted(reader.sdks),
        sent=_sent(run_dir / "sent.jsonl", names, warnings),
        dead_letters=_letters(run_dir / "dead_letters.jsonl", names, warnings),
        unanswered=[row for _, row in _rows(run_dir / UNANSWERED_FILE, warnings, is_optional=True) or ()],
        accounting=_accounting(run_dir, warnings),
        stored_rows=_stored_rows(run_dir, experiment, warnings),
        prediction=prediction.read(manifest, warnings),
        warnings=warnings,
    )


def _manifest(run_dir: Path, warnings: list[str]) -> tuple[dict[str, Any], Experiment]:
    path = run_dir / "run.json"
    manifest = stored_json.value_or_warning(path, dict, warnings)
    if manifest is None:
        return {}, of_run({})
    if manifest.get("format") != FORMAT:
        found = f"{path}: format {manifest.get('format')!r}, but this Stampede reads format {FORMAT}"
        raise NoReport(f"{found}; {use_the_writer(manifest)}")
    try:
        return manifest, of_run(manifest, path)
    except UsageError as error:
        raise NoReport(str(error)) from None


def _accounting(run_dir: Path, warnings: list[str]) -> list[dict[str, Any]] | None:
    rows = stored_json.value_or_warning(run_dir / "accounting.json", list, warnings)
    return None if rows is None else [row for row in rows if isinstance(row, dict)]


def _stored_rows(run_dir: Path, experiment: Experiment, warnings: list[str]) -> list[dict[str, Any]] | None:
    path = run_dir / "cells.csv"
    if not path.exists():  # not worth a warning: the report makes it
        return None
    try:
        return cells.read(path, experiment)
    except (OSError, ValueError) as error:
        warnings.append(f"cells.csv can't be read: {error}")
        return None


def _sent(path: Path, names: Names, warnings: list[str]) -> Messages | None:
    rows = _rows(path, warnings)
    if rows is None:
        return None
    cells, messages, warm_ups = array("q"), array("q"), array("b")
    for number, row in rows:
        cell = names.cell(row.get("cell"))
        if (message := names.message(cell, row)) == NO_MESSAGE:
            warnings.append(_of_no_message(path, number))
            continue
        cells.append(cell)
        messages.append(message)
        warm_ups.append(row.get("warm_up") == 1)
    return Messages(np.frombuffer(cells, np.int64), np.frombuffer(messages, np.int64), np.frombuffer(warm_ups, bool))


def _letters(path: Path, names: Names, warnings: list[str]) -> list[dict[str, Any]]:
    letters = []
    for number, row in _rows(path, warnings, is_optional=True) or ():
        if names.message(names.cell(row.get("cell")), row) == NO_MESSAGE:
            warnings.append(_of_no_message(path, number))
        else:
            letters.append(row)
    return letters


def _of_no_message(path: Path, number: int) -> str:
    return f"{path.name}, line {number}: doesn't say of which message it is (it needs cell and seq); left out."


def _rows(path: Path, warnings: list[str], *, is_optional: bool = False) -> Iterator[tuple[int, dict[str, Any]]] | None:
    """The rows of a file of lines; None, and a warning, when there is none that can be read."""
    try:
        stored_json.opened(path).close()
    except FileNotFoundError:
        if not is_optional:
            warnings.append(f"{path.name} is missing.")
        return None
    except (OSError, stored_json.NotAFile) as error:
        warnings.append(f"{path.name} can't be read: {error}")
        return None
    return stored_json.rows(path, warnings)
