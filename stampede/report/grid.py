"""A table of the page, apart from how it is drawn: columns, rows, and for each entry the value that it sorts by."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments import Axis
from stampede.cell import Cell, has_phrase, own_columns, phrase_label
from stampede.phrases import NOTHING, Interval, between, decimal_size, ratios, signed

# The unit of an axis whose values are shown in the unit that fits.
BYTES = "bytes"

LEVELS = {
    "holds": "✓ holds",
    "slower": "▼ slower",
    "faster": "▲ faster",
    "unclear": "? inconclusive",
    "cant_tell": "? not comparable",
    "mixed": "± differs between series",
}


@dataclass(frozen=True)
class Column:
    """One column: its heading, a unit in small print, and whether it holds words instead of numbers."""

    label: str
    unit: str = ""
    words: bool = False


@dataclass(frozen=True)
class Entry:
    """One entry: its text, the number it sorts by (None: by its text; a dash sorts last), and its looks.

    Looks are space-separated names: `bad` for what must not be, `short` for less than was meant, `again` for a
    coordinate that the line above already shows, `wrapped` and `long` for words that may take several lines. `missing`
    are the decimals that stand unseen behind it, so that the decimal points of its column are aligned.
    """

    text: str
    value: float | None = None
    looks: str = ""
    missing: str = ""

    @property
    def nothing(self) -> bool:
        """Whether it is a dash."""
        return self.text == NOTHING


@dataclass(frozen=True)
class Row:
    """One line, and its looks: `ours`, `theirs`, or none. The first `Grid.heads` entries name the line."""

    entries: list[Entry]
    looks: str = ""


@dataclass(frozen=True)
class Grid:
    """A table with its caption. `groups` are lines that stay together when the table is sorted, by their first line."""

    name: str
    caption: str
    columns: list[Column]
    groups: list[list[Row]]
    foot: Row | None = None
    heads: int = 2
    looks: str = ""

    def aligned(self) -> Grid:
        """The same with the decimals that each number lacks of the longest in its column."""
        rows = [*(row for group in self.groups for row in group), *([self.foot] if self.foot else [])]
        longest = [""] * len(self.columns)
        for row in rows:
            for at, entry in enumerate(row.entries):
                longest[at] = max(longest[at], _decimals(entry) or "", key=len)

        def filled(row: Row) -> Row:
            entries = []
            for entry, decimals in zip(row.entries, longest, strict=True):
                own = _decimals(entry)
                missing = "" if own is None else re.sub(r"\d", "0", decimals[len(own) :])
                entries.append(replace(entry, missing=missing))
            return replace(row, entries=entries)

        groups = [[filled(row) for row in group] for group in self.groups]
        return replace(self, groups=groups, foot=self.foot and filled(self.foot))


def _decimals(entry: Entry) -> str | None:
    """`.25` of 1.25, "" of 1; None of what isn't one number."""
    number = re.fullmatch(r"\D*[\d,]+(\.\d+)?", entry.text) if entry.value is not None else None
    return number and (number[1] or "")


def number(value: float | None, text: str | None = None, looks: str = "") -> Entry:
    """An entry that sorts by `value`; without a `text` a whole number with thousands set apart."""
    if value is None:
        return Entry(NOTHING, looks=looks)
    return Entry(f"{value:,}" if text is None else text, value, looks)


def words(text: str, looks: str = "") -> Entry:
    """An entry of text, sorted by it; a dash for none."""
    return Entry(text or NOTHING, looks=looks)


def coordinates(key: Cell, shown_axes: Collection[str], looks: str = "") -> list[Entry]:
    """The entries that name a cell: a column an axis, those with a default only where they are in `shown_axes`."""
    entries = []
    for axis in own_columns(key.axes, shown_axes):
        value = key[axis.name]
        if axis.kind is int:
            entries.append(number(value, decimal_size(value, digits=9) if axis.unit == BYTES else None, looks))
        else:
            entries.append(words(key.value_words(axis.name), looks))
    return [*entries, words(key.variant_words(shown_axes), looks)] if has_phrase(key.axes, shown_axes) else entries


def head_columns(axes: Sequence[Axis], shown_axes: Collection[str]) -> list[Column]:
    """The columns of `coordinates`."""
    columns = [
        Column(axis.label, "" if axis.unit == BYTES else axis.unit, words=axis.kind is str)
        for axis in own_columns(axes, shown_axes)
    ]
    return [*columns, Column(phrase_label(axes), words=True)] if has_phrase(axes, shown_axes) else columns


def interval(ends: Interval | None, pattern: str = "{:.3f}") -> Entry:
    """An entry of an interval, sorted by its lower end; a dash for None."""
    return number(ends and ends["low"], between(ends, pattern), "interval")


def ratio(figures: Mapping[str, float] | None) -> list[Entry]:
    """The entries of {"value", "low", "high"}: the value, and its interval."""
    return _with_interval(figures, "{:.2f}".format, ratios)


def difference_s(figures: Mapping[str, float] | None) -> list[Entry]:
    """The same of a difference in seconds, which has a sign."""
    return _with_interval(
        figures, lambda value: signed(value, 3), lambda ends: f"{signed(ends['low'], 3)} to {signed(ends['high'], 3)}"
    )


def _with_interval(
    figures: Interval | None, shown: Callable[[float], str], between_ends: Callable[[Interval], str]
) -> list[Entry]:
    if figures is None:
        return [number(None), number(None, looks="interval")]
    low = figures["low"]
    return [
        number(figures["value"], shown(figures["value"])),
        number(low, None if low is None else between_ends(figures), "interval"),
    ]


def as_fast(took: Mapping[str, float] | None) -> list[Entry]:
    """The entries of how many times as fast: the ratio of two medians upside down."""
    return ratio(took and {"value": 1 / took["value"], "low": 1 / took["high"], "high": 1 / took["low"]})


def level(name: str) -> Entry:
    """The entry of a level."""
    return words(LEVELS[name], name)


def single_lines(rows: Iterable[list[Entry]]) -> list[list[Row]]:
    """Groups of one line each."""
    return [[Row(entries)] for entries in rows]


# For the last line of a table, where a column has no sum.
BLANK = Entry("")
