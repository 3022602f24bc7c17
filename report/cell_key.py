"""Which operations belong together: a cell is its axes' values, and whatever else was swept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.experiment import CONCURRENCY, Axis

# Whole numbers beyond this aren't exact as doubles.
LARGEST_WHOLE = 2**53
SETTINGS = "settings"


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
        found: list[Any] = []
        for axis, value in zip(axes, values, strict=True):
            usable = _is_usable(axis, value)
            found.append(value if usable else axis.default_of(found))
            if found[-1] is None:
                return None
        return cls(tuple(found), settings, tuple(axes))

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
        return next(value for axis, value in zip(self.axes, self.values, strict=True)
                    if axis.record_field == CONCURRENCY)  # fmt: skip

    @property
    def way(self) -> tuple[Any, ...]:
        """The values of the axes that have a default, and the settings where there are any."""
        way = tuple(value for axis, value in zip(self.axes, self.values, strict=True) if axis.is_way)
        return (*way, self.settings) if self.settings else way

    @property
    def is_usual(self) -> bool:
        """Whether it goes the way that goes without saying."""
        return not self.settings and all(value == self._default(at) for at, value in enumerate(self.values)
                                         if self.axes[at].is_way)  # fmt: skip

    @property
    def way_words(self) -> str:
        """The way in words: its first part, whatever else departs from its default, and the settings."""
        ways = [at for at, axis in enumerate(self.axes) if axis.is_way]
        told = [at for at in ways if at == ways[0] or self.values[at] != self._default(at)]
        words = " ".join(self._words(at) for at in told)
        return ", ".join(filter(None, (words, self.settings)))

    @property
    def words(self) -> str:
        """The coordinates in words: `1024 MB, N = 5, stream`."""
        return ", ".join([*self._plain_words(), *([] if self.is_usual else [self.way_words])])

    def words_without(self, axes: Iterable[str], *, with_way: bool) -> str:
        """What a cell has in common with those that differ from it in `axes` alone, in words."""
        parts = self._plain_words(set(axes))
        return ", ".join([*parts, *([self.way_words] if with_way else [])])

    def value_words(self, name: str) -> str:
        """The value on one axis, in words."""
        return self._words([axis.name for axis in self.axes].index(name))

    def without(self, axes: Iterable[str]) -> tuple[Any, ...]:
        """The coordinates but those on `axes`, SETTINGS among them: what compared cells have in common."""
        left_out = set(axes)
        kept = [value for axis, value in zip(self.axes, self.values, strict=True) if axis.name not in left_out]
        return (*kept, "" if SETTINGS in left_out else self.settings)

    def figures(self) -> dict[str, Any]:
        """The coordinates as they stand in statistics.json and cells.csv."""
        named = {axis.name: value for axis, value in zip(self.axes, self.values, strict=True)}
        return named | ({SETTINGS: self.settings} if self.settings else {})

    def _plain_words(self, left_out: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
        return [self._words(at) for at, axis in enumerate(self.axes) if not axis.is_way and axis.name not in left_out]

    def _words(self, at: int) -> str:
        return self.axes[at].words.format(self.values[at])

    def _default(self, at: int) -> Any:
        return self.axes[at].default_of(self.values[:at])


def _is_usable(axis: Axis, value: object) -> bool:
    if axis.kind is int:
        return type(value) is int and 1 <= value < LARGEST_WHOLE
    return isinstance(value, str) and bool(value)


def told_apart(keys: Iterable[Key]) -> bool:
    """Whether the ways of these cells must be named: any but the usual one."""
    return any(not key.is_usual for key in keys)
