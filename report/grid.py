"""A table of the page, apart from how it is drawn: columns, rows, and for each entry the value that it sorts by."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from report.phrases import NOTHING
from report.ways import Key, way_words


@dataclass(frozen=True)
class Column:
    """One column: its heading, a unit in small print, and whether it holds words instead of numbers."""

    label: str
    unit: str = ""
    words: bool = False


@dataclass(frozen=True)
class Entry:
    """One entry: its text, the number it sorts by (None: by its text; nothing to tell sorts last), and its looks.

    Looks are space-separated names: `bad` for what must not be, `short` for less than was meant, `again` for a
    coordinate that the line above already shows.
    """

    text: str
    value: float | None = None
    looks: str = ""

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to tell."""
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
    looks: str = field(default="")


def number(value: float | None, text: str | None = None, looks: str = "") -> Entry:
    """An entry that sorts by `value`; without a `text` a whole number with thousands set apart."""
    if value is None:
        return Entry(NOTHING, looks=looks)
    return Entry(f"{value:,}" if text is None else text, value, looks)


def words(text: str, looks: str = "") -> Entry:
    """An entry of text, sorted by it; a dash for none."""
    return Entry(text or NOTHING, looks=looks)


def coordinates(key: Key, with_way: bool, looks: str = "") -> list[Entry]:
    """The entries that name a cell: memory, N and, when asked for, how it downloads."""
    named = [number(key.memory_mb, str(key.memory_mb), looks), number(key.n, str(key.n), looks)]
    return [*named, words(way_words(*key.way), looks)] if with_way else named


def head_columns(with_way: bool) -> list[Column]:
    """The columns of `coordinates`."""
    return [MEMORY, N, METHOD] if with_way else [MEMORY, N]


def single_lines(rows: Iterable[list[Entry]]) -> list[list[Row]]:
    """Groups of one line each."""
    return [[Row(entries)] for entries in rows]


# For the last line of a table, where a column has no sum.
BLANK = Entry("")
MEMORY, N, METHOD = Column("memory", "MB"), Column("N"), Column("method", words=True)
