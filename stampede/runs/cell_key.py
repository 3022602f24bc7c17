"""Which operations belong together: a cell is its axes' values, and whatever else was swept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stampede.experiment import Axis, Experiment, n_axis

# Whole numbers beyond this aren't exact as doubles.
LARGEST_WHOLE = 2**53
SETTINGS = "settings"
STAND_IN = "stand-in"


@dataclass(frozen=True, order=True)
class Key:
    """The coordinates of a cell: a value for each axis of its experiment, in the order of the declaration.

    `settings` are the other variables that the run swept, as `object_size_mb=4`; empty where it swept none.
    """

    values: tuple[Any, ...]
    settings: str = ""
    axes: tuple[Axis, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, axes: Sequence[Axis], values: Iterable[Any], settings: str = "") -> Key | None:
        """The key of these values, in the order of `axes`; None where one that is needed isn't there or can't be."""
        coordinates: list[Any] = []
        for axis, value in zip(axes, values, strict=True):
            coordinates.append(value if _is_usable(axis, value) else axis.default_of(coordinates))
            if coordinates[-1] is None:
                return None
        return cls(tuple(coordinates), settings, tuple(axes))

    @classmethod
    def of_figures(cls, axes: Sequence[Axis], figures: Mapping[str, Any]) -> Key:
        """The key of a cell as it stands in statistics.json or cells.csv. Raises KeyError where an axis is missing."""
        return cls(tuple(figures[axis.name] for axis in axes), figures.get(SETTINGS) or "", tuple(axes))

    def __getitem__(self, name: str) -> Any:
        """The value on the axis `name`; its settings for SETTINGS."""
        if name == SETTINGS:
            return self.settings
        return self.values[[axis.name for axis in self.axes].index(name)]

    @property
    def n(self) -> int:
        """How many functions may run at once."""
        return self[n_axis(self.axes)]

    @property
    def variant(self) -> tuple[Any, ...]:
        """The values of the axes that have a default, and the settings where there are any."""
        variant = tuple(value for axis, value in zip(self.axes, self.values, strict=True) if axis.is_variant)
        return (*variant, self.settings) if self.settings else variant

    @property
    def departures(self) -> set[str]:
        """The axes that stand at another value than their default, and SETTINGS where it has any."""
        departing = {SETTINGS} if self.settings else set()
        for at, axis in enumerate(self.axes):
            if axis.is_variant and self.values[at] != self._default(at):
                departing.add(axis.name)
        return departing

    def variant_words(self, named: Collection[str] = ()) -> str:
        """The texts of its variant as one phrase, the first of them and whatever else departs from its default, and the
        settings; of `named` axes that records alone tell the default too."""
        return self._phrase(set(), named)

    @property
    def words(self) -> str:
        """The coordinates in words: `1,024 MB, N = 5, stream`."""
        return self.words_without((), distinguishing([self]))

    def text(self, axis: Axis) -> str:
        """Its coordinate on `axis` for reading: numbers with thousands set apart."""
        value = self[axis.name]
        return f"{value:,}" if axis.kind is int else value

    def words_without(self, axes: Iterable[str], named: Collection[str] = ()) -> str:
        """What a cell has in common with those that differ from it in `axes` alone, in words; `named` are the axes with
        a default that are named."""
        left_out, columns = set(axes), own_columns(self.axes, named)
        parts = []
        for at, axis in enumerate(self.axes):
            if axis in columns and axis.name not in left_out:
                parts.append(self._words(at))
        if has_phrase(self.axes, named) and (phrase := self._phrase(left_out, named)):
            parts.append(phrase)
        return ", ".join(parts)

    def words_of(self, axes: Iterable[str]) -> str:
        """What it has of `axes` alone, in words: `N = 5`, `2,048 MB`, `ranges to memory`. Beside an axis without a
        default one that stands at its default goes without saying."""
        chosen = set(axes)
        left_out = {axis.name for axis in self.axes} - chosen
        if any(axis.name in chosen and not axis.is_variant for axis in self.axes):
            chosen &= self.departures | {axis.name for axis in self.axes if not axis.is_variant}
        return self.words_without({*left_out, SETTINGS}, chosen)

    def value_words(self, name: str) -> str:
        """The value on one axis, in words."""
        return self._words([axis.name for axis in self.axes].index(name))

    def without(self, axes: Iterable[str]) -> tuple[Any, ...]:
        """The coordinates but those on `axes`, SETTINGS among them: what compared cells have in common."""
        left_out = set(axes)
        kept = [value for axis, value in zip(self.axes, self.values, strict=True) if axis.name not in left_out]
        return (*kept, "" if SETTINGS in left_out else self.settings)

    def on(self, axes: Sequence[Axis]) -> Key:
        """The same coordinates on `axes`, some of its own, alone."""
        return Key(tuple(self[axis.name] for axis in axes), self.settings, tuple(axes))

    def is_of_stand_in(self, axes: Iterable[str]) -> bool:
        """Whether a stand-in replaced its value on one of `axes`."""
        emulated = (axis for axis in self.axes if isinstance(axis, EmulatedAxis) and axis.name in axes)
        return any(self[axis.name] in axis.stand_ins for axis in emulated)

    @property
    def plain(self) -> Key:
        """The same where nothing marks a stand-in."""
        axes = (replace(axis, stand_ins=()) if isinstance(axis, EmulatedAxis) else axis for axis in self.axes)
        return replace(self, axes=tuple(axes))

    def figures(self) -> dict[str, Any]:
        """The coordinates as they stand in statistics.json and cells.csv."""
        coordinates = {axis.name: value for axis, value in zip(self.axes, self.values, strict=True)}
        return coordinates | ({SETTINGS: self.settings} if self.settings else {})

    def _phrase(self, left_out: set[str], named: Collection[str]) -> str:
        phrased = [at for at, axis in enumerate(self.axes) if _is_phrased(axis) and axis.name not in left_out]
        parts = []
        for at in phrased:
            # Rows of one planned cell: none of them goes without saying.
            is_named = not self.axes[at].variable and self.axes[at].name in named
            if at == phrased[0] or is_named or self.values[at] != self._default(at):
                parts.append(self._words(at))
        settings = "" if SETTINGS in left_out else self.settings
        return ", ".join(filter(None, (" ".join(parts), settings)))

    def _words(self, at: int) -> str:
        axis, value = self.axes[at], self.values[at]
        is_stand_in = isinstance(axis, EmulatedAxis) and value in axis.stand_ins
        text = self.text(axis)
        return axis.words.format(f"{text} {STAND_IN}" if is_stand_in else text)

    def _default(self, at: int) -> Any:
        return self.axes[at].default_of(self.values[:at])


@dataclass(frozen=True)
class EmulatedAxis(Axis):
    """An axis as the embedded AWS has it: values in `stand_ins` were measured on a stand-in, and are named as such
    wherever they are named; one that is `ignored`, in words, can't have been the cause of anything."""

    stand_ins: Collection[Any] = ()
    ignored: str = ""


def as_emulated(experiment: Experiment) -> Experiment:
    """`experiment` as it runs on the embedded AWS."""
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
    """The axes that the embedded AWS ignores, in words by their names; none of a run elsewhere."""
    return {axis.name: axis.ignored for axis in axes if isinstance(axis, EmulatedAxis) and axis.ignored}


def is_query(key: Key, experiment: Experiment) -> bool:
    """Whether Athena carried the operations of this cell out, and no function."""
    return experiment.athena is not None and key[experiment.athena.axis] in experiment.athena.values


def _is_usable(axis: Axis, value: object) -> bool:
    if axis.kind is int:
        return type(value) is int and 1 <= value < LARGEST_WHOLE
    return isinstance(value, str) and bool(value)


def distinguishing(keys: Iterable[Key]) -> frozenset[str]:
    """The axes with a default that must be named to tell these cells apart: each on which one of them departs from it;
    texts all together, with SETTINGS, as they make one phrase; but of what records alone tell only what departs."""
    keys = list(keys)
    departures = frozenset().union(*(key.departures for key in keys))
    texts = [axis for key in keys[:1] for axis in key.axes if _is_phrased(axis)]
    phrased = {SETTINGS, *(axis.name for axis in texts if axis.variable or axis.name in departures)}
    return departures | phrased if departures & phrased else departures


def own_columns(axes: Sequence[Axis], named: Collection[str]) -> list[Axis]:
    """The axes with a column of their own: those without a default, and of the `named` ones the numbers."""
    return [axis for axis in axes if not axis.is_variant or (axis.kind is int and axis.name in named)]


def has_phrase(axes: Sequence[Axis], named: Collection[str]) -> bool:
    """Whether the others that are `named` have one column together."""
    return SETTINGS in named or any(axis.name in named for axis in axes if _is_phrased(axis))


def phrase_label(axes: Sequence[Axis]) -> str:
    """What heads that column: the first of them, and those that records alone tell."""
    labels = [axis.label for axis in axes if _is_phrased(axis)]
    of_records = [axis.label for axis in axes if _is_phrased(axis) and not axis.variable]
    return ", ".join(dict.fromkeys([*labels[:1], *of_records])) or SETTINGS


def _is_phrased(axis: Axis) -> bool:
    return axis.is_variant and axis.kind is str
