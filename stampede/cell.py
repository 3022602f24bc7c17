"""One cell of a run: its settings, how its messages are sent, and its name in words.

A plan makes each cell once and complete, and run.json stores it unchanged; everything else reads it
there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from stampede.axes import Axis, n_axis
from stampede.experiment import Experiment
from stampede.variable_rules import RULES

# Larger whole numbers aren't exact as doubles.
LARGEST_WHOLE = 2**53
SETTINGS = "settings"
STAND_IN = "stand-in"
# The format of run.json that stores cells unchanged; the first edition spread them over plan, cells
# and settings.
FORMAT, FIRST_EDITION = 2, 1
# The length at which a text in a phrase is cut, because a picture must have room for it.
LONGEST_WORDS = 300
# Many more than a sweep can have.
MOST_CELLS = 10_000


class Difference(NamedTuple):
    """The value of a record's `field`, and the one that its cell was set to."""

    field: str
    own: Any
    wanted: Any

    def __str__(self) -> str:
        return f"{self.field} {self.own} where the cell has {self.wanted}"


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell, with `values` for all Terraform variables and all keys of the work order of its
    experiment.

    Messages and records have its `name`. It sends `warm_up_messages`, then `messages` in `rounds`;
    cells of the same `block` share a stack and a repeat. `settings` has the swept values that
    records don't repeat, as object_size_mb=4. `repeat` counts from 1, and is None in a run without
    repeats.

    A cell without a name is a place on the axes: all cells, and all their records, with these
    coordinates.
    """

    name: str
    values: Mapping[str, Any]
    axes: tuple[Axis, ...] = field(repr=False)
    settings: str = ""
    repeat: int | None = None
    block: str = ""
    messages: int = 0
    warm_up_messages: int = 0
    rounds: int = 1

    @classmethod
    def at(
        cls, axes: Sequence[Axis], coordinates: Iterable[Any], settings: str = ""
    ) -> Cell | None:
        """The place at these coordinates, in the order of `axes`; None if a coordinate without a
        default is missing or wrong."""
        values = {_source(axis): value for axis, value in zip(axes, coordinates, strict=True)}
        return cls("", values, tuple(axes), settings).place()

    @classmethod
    def of_figures(cls, axes: Sequence[Axis], figures: Mapping[str, Any]) -> Cell:
        """The place in a row of statistics.json or cells.csv. Raises KeyError."""
        values = {_source(axis): figures[axis.name] for axis in axes}
        return cls("", values, tuple(axes), figures.get(SETTINGS) or "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __lt__(self, other: Cell) -> bool:
        return self._identity < other._identity

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.coordinates, self.settings, self.repeat or 0, self.name

    @cached_property
    def coordinates(self) -> tuple[Any, ...]:
        """Its value on each axis, or the default; None where there is neither, and for the defaults
        after that."""
        values: list[Any] = []
        for axis in self.axes:
            value = self.setting(_source(axis))
            if not _is_usable(axis, value):
                value = None if None in values else axis.default_of(values)
            values.append(value)
        return tuple(values)

    def __getitem__(self, name: str) -> Any:
        """The value on the axis `name`, or the settings for SETTINGS."""
        return self.settings if name == SETTINGS else self.coordinates[self._place_of(name)]

    def setting(self, name: str) -> Any:
        """One of its values, or None; of a path only the last part."""
        value, rule = self.values.get(name), RULES.get(name)
        is_path = rule is not None and rule.shared.get("is_path") and isinstance(value, str)
        return Path(value).name if is_path else value

    @property
    def n(self) -> int:
        """How many functions may run at once."""
        return self[n_axis(self.axes)]

    @property
    def batch_size(self) -> int:
        """How many messages one invocation takes at most."""
        return batch_size_of(self.values)

    @property
    def invocations(self) -> int:
        """How many invocations its messages take, with full batches."""
        return -(-self.messages // self.batch_size)

    @property
    def warm_up_invocations(self) -> int:
        """How many invocations its warm-up takes."""
        return -(-self.warm_up_messages // self.batch_size)

    def place(self) -> Cell | None:
        """Its place on the axes; None if a coordinate is unknown."""
        if None in self.coordinates:
            return None
        return Cell(
            "", {_source(axis): value for axis, value in self._pairs()}, self.axes, self.settings
        )

    def on(self, axes: Sequence[Axis]) -> Cell:
        """Its place on `axes`, which are some of its own."""
        return replace(self, name="", axes=tuple(axes))

    def moved(self, values: Mapping[str, Any]) -> Cell:
        """The place with other `values`, by axis name."""
        sources = {axis.name: _source(axis) for axis in self.axes}
        changed = {sources[name]: value for name, value in values.items()}
        return replace(self, name="", values={**self.values, **changed})

    def without(self, axes: Iterable[str]) -> tuple[Any, ...]:
        """The coordinates, and the settings, except those on `axes` (or SETTINGS): what compared
        cells have in common."""
        left_out = set(axes)
        kept = [value for axis, value in self._pairs() if axis.name not in left_out]
        return (*kept, "" if SETTINGS in left_out else self.settings)

    def figures(self) -> dict[str, Any]:
        """The coordinates as in statistics.json and cells.csv."""
        coordinates = {axis.name: value for axis, value in self._pairs()}
        return coordinates | ({SETTINGS: self.settings} if self.settings else {})

    def difference(self, record: Mapping[str, Any]) -> Difference | None:
        """Where the record contradicts the cell; None if nowhere."""
        for axis in self.axes:
            wanted = self.setting(axis.variable)
            own = record.get(axis.record_field)
            if wanted is not None and own is not None and wanted != own:
                return Difference(axis.record_field, own, wanted)
        return None

    @property
    def alike(self) -> str:
        """The name that its repeats share."""
        return self.name.removesuffix(f",repeat={self.repeat}")

    def in_order(self) -> dict[str, Any]:
        """The values that its work orders set."""
        return {axis.variable: self.values[axis.variable] for axis in self.axes if axis.in_order}

    def as_json(self) -> dict[str, Any]:
        """The cell as in run.json."""
        return {"cell": self.name, **{name: getattr(self, name) for name in _STORED}}

    @classmethod
    def from_json(cls, stored: Any, experiment: Experiment) -> Cell:
        """The inverse of `as_json`. Raises ValueError."""
        row = msgspec.convert(stored, StoredCell)
        return cls(
            name=row.cell,
            axes=tuple(experiment.axes),
            **{name: getattr(row, name) for name in _STORED},
        )

    # Its words.

    @property
    def departures(self) -> set[str]:
        """The axes whose value isn't the default, and SETTINGS if it has any."""
        departing = {SETTINGS} if self.settings else set()
        for at, (axis, value) in enumerate(self._pairs()):
            if axis.is_variant and value != self._default(at):
                departing.add(axis.name)
        return departing

    @property
    def words(self) -> str:
        """The coordinates in words: `1,024 MB, N = 5, stream`."""
        return self.words_without((), distinguishing([self]))

    def text(self, axis: Axis) -> str:
        """Its coordinate on `axis` for reading, with thousands separators."""
        value = self[axis.name]
        return f"{value:,}" if axis.kind is int else _shown(value)

    def words_without(self, axes: Iterable[str], named: Collection[str] = ()) -> str:
        """The coordinates except those on `axes`, in words. Axes with a default are left out unless
        they are `named`."""
        left_out, parts = set(axes), []
        for at, axis in enumerate(self.axes):
            stands_alone = not axis.is_variant or (axis.kind is int and axis.name in named)
            if stands_alone and axis.name not in left_out:
                parts.append(self._words(at))
        if SETTINGS in named or any(axis.name in named for axis in self.axes if _is_phrased(axis)):
            parts.append(self._phrase(left_out, named))
        return ", ".join(filter(None, parts))

    def words_of(self, axes: Iterable[str]) -> str:
        """The coordinates on `axes`, in words: `N = 5`, `2,048 MB`, `ranges to memory`. Together
        with an axis without a default, defaults are left out."""
        chosen = set(axes)
        left_out = {axis.name for axis in self.axes} - chosen
        if any(axis.name in chosen and not axis.is_variant for axis in self.axes):
            chosen &= self.departures | {axis.name for axis in self.axes if not axis.is_variant}
        return self.words_without({*left_out, SETTINGS}, chosen)

    def value_words(self, name: str) -> str:
        """The value on one axis, in words."""
        return self._words(self._place_of(name))

    def is_of_stand_in(self, axes: Iterable[str]) -> bool:
        """Whether its value on one of `axes` was measured on a stand-in."""
        emulated = (
            axis for axis in self.axes if isinstance(axis, EmulatedAxis) and axis.name in axes
        )
        return any(self[axis.name] in axis.stand_ins for axis in emulated)

    def marked_text(self, axis: Axis) -> str:
        """The value on an axis, with the mark of a stand-in."""
        text = self.text(axis)
        return f"{text} {STAND_IN}" if self.is_of_stand_in([axis.name]) else text

    @property
    def plain(self) -> Cell:
        """The same cell without marks of stand-ins."""
        axes = (
            replace(axis, stand_ins=()) if isinstance(axis, EmulatedAxis) else axis
            for axis in self.axes
        )
        return replace(self, axes=tuple(axes))

    def _pairs(self) -> Iterable[tuple[Axis, Any]]:
        return zip(self.axes, self.coordinates, strict=True)

    def _place_of(self, name: str) -> int:
        return [axis.name for axis in self.axes].index(name)

    def _phrase(self, left_out: set[str], named: Collection[str]) -> str:
        phrased = [
            at
            for at, axis in enumerate(self.axes)
            if _is_phrased(axis) and axis.name not in left_out
        ]
        parts = []
        for at in phrased:
            # Rows of one planned cell differ here alone: every value is named.
            is_named = not self.axes[at].variable and self.axes[at].name in named
            if at == phrased[0] or is_named or self.coordinates[at] != self._default(at):
                parts.append(self._words(at))
        settings = "" if SETTINGS in left_out else _shown(self.settings)
        return ", ".join(filter(None, (" ".join(parts), settings)))

    def _words(self, at: int) -> str:
        axis = self.axes[at]
        return axis.words.format(self.marked_text(axis))

    def _default(self, at: int) -> Any:
        return self.axes[at].default_of(self.coordinates[:at])


class StoredCell(msgspec.Struct):
    """A cell as in run.json."""

    cell: str
    repeat: int | None
    block: str
    messages: int
    warm_up_messages: int
    rounds: int
    settings: str
    values: dict[str, Any]


_STORED = [name for name in StoredCell.__struct_fields__ if name != "cell"]


@dataclass(frozen=True)
class EmulatedAxis(Axis):
    """An axis on the embedded AWS. Values in `stand_ins` were measured on a stand-in, and their
    words say so. If the embedded AWS ignores the axis, `ignored` is its name in words: it can't
    cause any difference."""

    stand_ins: Collection[Any] = ()
    ignored: str = ""


def as_emulated(experiment: Experiment) -> Experiment:
    """`experiment` with its axes on the embedded AWS."""
    axes = (
        EmulatedAxis(
            **vars(axis),
            stand_ins=tuple(experiment.stand_ins.get(axis.name, ())),
            ignored=experiment.ignored_locally.get(axis.variable, ""),
        )
        for axis in experiment.axes
    )
    return experiment.with_(axes=tuple(axes))


def ignored_axes(axes: Iterable[Axis]) -> dict[str, str]:
    """The axes that the embedded AWS ignores, in words by name; none for a run elsewhere."""
    return {
        axis.name: axis.ignored for axis in axes if isinstance(axis, EmulatedAxis) and axis.ignored
    }


def is_query(cell: Cell, experiment: Experiment) -> bool:
    """Whether Athena carried out the operations of this cell, and not functions."""
    return (
        experiment.athena is not None and cell[experiment.athena.axis] in experiment.athena.values
    )


def varying(cells: Iterable[Cell]) -> set[str]:
    """The names of the values in which the cells differ."""
    seen: dict[str, set[str]] = {}
    for cell in cells:
        for name, value in cell.values.items():
            seen.setdefault(name, set()).add(json.dumps(value, sort_keys=True))
    return {name for name, values in seen.items() if len(values) > 1}


def batch_size_of(values: Mapping[str, Any]) -> int:
    """How many messages one invocation takes at most, from a cell's values or a stack's outputs."""
    return values.get("batch_size") or 1


def settings_text(values: Mapping[str, Any], swept: Iterable[str], experiment: Experiment) -> str:
    """The values of `swept` variables that no record of the experiment repeats, as
    `object_size_mb=4`."""
    recorded = {*experiment.record_fields, *experiment.recorded_variables}
    unrecorded = {name: values[name] for name in swept if name not in recorded and name in values}
    return ", ".join(f"{name}={_text(value)}" for name, value in unrecorded.items())


def cells_of(manifest: Mapping[str, Any], experiment: Experiment) -> dict[str, Cell]:
    """The cells of run.json by name, in the order of plan and floods, without invalid ones."""
    if manifest.get("format") != FORMAT:
        return _first_edition(manifest, experiment)
    cells: dict[str, Cell] = {}
    for row in _listed(manifest.get("cells"))[:MOST_CELLS]:
        with contextlib.suppress(ValueError):
            cell = Cell.from_json(row, experiment)
            cells[cell.name] = cell
    return cells


class _FirstPlan(msgspec.Struct):
    """The plan in a run.json of the first edition."""

    fixed: dict[str, Any] = {}
    swept: dict[str, list[Any]] = {}
    order: list[str] = []
    cells: list[dict[str, Any]] = []
    repeats: int = 1


class _FirstRun(msgspec.Struct):
    """What a run.json of the first edition says of its cells: the plan, the cells that were run,
    and what else their stacks were set to."""

    plan: _FirstPlan = msgspec.field(default_factory=_FirstPlan)
    cells: list[dict[str, Any]] = []
    settings: dict[str, dict[str, Any]] = {}


def _first_edition(manifest: Mapping[str, Any], experiment: Experiment) -> dict[str, Cell]:
    """The cells of a run.json of the first edition; none of an invalid one."""
    try:
        run = msgspec.convert(manifest, _FirstRun)
    except msgspec.ValidationError:
        return {}
    plan, cells = run.plan, {}
    variables = {*experiment.record_fields, *plan.swept, *plan.fixed}
    several = [name for name, listed in plan.swept.items() if len(listed) > 1]
    planned, flooded = (
        {row["cell"]: row for row in rows if isinstance(row.get("cell"), str)}
        for rows in (plan.cells, run.cells)
    )
    names = dict.fromkeys([*plan.order, *planned, *flooded, *run.settings])
    for name in list(names)[:MOST_CELLS]:
        row = planned.get(name, {}) | flooded.get(name, {})
        own = {key: value for key, value in row.items() if key in variables}
        values = plan.fixed | own | run.settings.get(name, {})
        repeat, block = row.get("repeat"), name
        if name in planned:
            shared = planned[name].keys() - {"cell", *experiment.order_axes}
            block = json.dumps({key: row[key] for key in shared}, sort_keys=True)
        cells[name] = Cell(
            name=name,
            values=values,
            axes=tuple(experiment.axes),
            settings=settings_text(values, several, experiment),
            repeat=repeat if plan.repeats > 1 and type(repeat) is int else None,
            block=block,
        )
    return cells


def common_axes(cells: Iterable[Cell]) -> list[str]:
    """The axes on which these cells are alike; none if there are no cells."""
    cells = list(cells)
    return [
        axis.name
        for axis in (cells[0].axes if cells else ())
        if len({cell[axis.name] for cell in cells}) == 1
    ]


def distinguishing(cells: Iterable[Cell]) -> frozenset[str]:
    """The axes with a default that must be named to tell these cells apart: those on which a cell
    departs from it. Texts are named together, with SETTINGS, because they form one phrase; but an
    axis that only records have is named only if a cell departs from its default."""
    cells = list(cells)
    departures = frozenset().union(*(cell.departures for cell in cells))
    texts = [axis for cell in cells[:1] for axis in cell.axes if _is_phrased(axis)]
    phrased = {SETTINGS, *(axis.name for axis in texts if axis.variable or axis.name in departures)}
    return departures | phrased if departures & phrased else departures


def _is_phrased(axis: Axis) -> bool:
    return axis.is_variant and axis.kind is str


def _is_usable(axis: Axis, value: object) -> bool:
    if axis.kind is int:
        return type(value) is int and 1 <= value < LARGEST_WHOLE
    return isinstance(value, str) and bool(value)


def _source(axis: Axis) -> str:
    """The key of an axis in a cell's values; an axis that only records have has no variable."""
    return axis.variable or axis.name


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(text: Any) -> Any:
    return (
        f"{text[:LONGEST_WORDS]}…" if isinstance(text, str) and len(text) > LONGEST_WORDS else text
    )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
