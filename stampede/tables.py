"""Prints rows on stdout as a table that fits the terminal, as CSV or as JSON."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from stampede import terminal

# Between two columns, and the width to which a text may be folded before a column is left out.
GAP, LEAST_TEXT = 2, 20
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e[+-]?\d+)?")


@dataclass(frozen=True)
class Column:
    """A column of a table for reading: its heading and its texts, each of one or several lines.

    Numbers stand on the right and are never folded; texts are folded to no less than `least` characters, None is not at
    all.
    """

    heading: str
    texts: Sequence[str]
    number: bool = False
    least: int | None = None

    @property
    def width(self) -> int:
        """In which nothing is folded."""
        return max(cell_len(line) for text in (self.heading, *self.texts) for line in text.split("\n"))

    @property
    def least_width(self) -> int:
        """Below which it can't be shown."""
        return self.width if self.number or self.least is None else min(self.width, self.least)

    @property
    def name(self) -> str:
        """Its heading in one line."""
        return " ".join(self.heading.replace("-\n", "").split())


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    form: str,
    columns: Sequence[str] | None = None,
    headings: Mapping[str, str] | None = None,
) -> None:
    """Print `rows` on stdout; `form` is table, csv or json. `columns` gives order and header (default: the union of the
    rows' keys, in order), and `headings` what a table has over a column instead of its key.

    A table is as wide as the terminal: texts are folded, then the last columns left out, and named below it. A pipe
    gets all of them.
    """
    names = list(columns) if columns is not None else list(dict.fromkeys(name for row in rows for name in row))
    if form == "json":
        print(json.dumps(list(rows), indent=2))
        return
    if form == "csv":
        writer = csv.DictWriter(sys.stdout, names, restval="", lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: for_spreadsheets(value) for name, value in row.items()} for row in rows)
        return
    table = []
    for name in names:
        texts = [_text(row.get(name)) for row in rows]
        is_number = any(texts) and all(_NUMBER.fullmatch(text) for text in texts if text)
        table.append(Column((headings or {}).get(name, name), texts, is_number, least=LEAST_TEXT))
    width = terminal.console().width
    shown, left_out = fitting(table, width)
    terminal.show(grid(shown, width))
    if left_out:
        print(named(left_out, width))


def fitting(
    columns: Sequence[Column],
    width: int,
    kept: int = 1,
    by_importance: Sequence[int] | None = None,
    gap: int = GAP,
) -> tuple[list[Column], list[Column]]:
    """The columns that fit into `width` characters, and those that are left out, both in their order.

    The first `kept` are always shown, and of the others the important ones, up to the first for which there is no room;
    `by_importance` are their places (default: their order).
    """
    free = width + gap - sum(column.least_width + gap for column in columns[:kept])
    places = set(range(kept))
    for place in range(kept, len(columns)) if by_importance is None else by_importance:
        free -= columns[place].least_width + gap
        if free < 0:
            break
        places.add(place)
    shown = [column for place, column in enumerate(columns) if place in places]
    return shown, [column for place, column in enumerate(columns) if place not in places]


def grid(columns: Sequence[Column], width: int, gap: int = GAP) -> Table:
    """The table of these columns. Where `width` characters aren't enough, the widest texts are folded, all to the same
    width."""
    widths = [column.width for column in columns]
    foldable = [not column.number and column.least is not None for column in columns]
    most = max(widths, default=0)
    while sum(widths) + gap * (len(columns) - 1) > width and most > 1:
        most = min(most, width) - 1
        widths = [min(own, most) if folded else own for own, folded in zip(widths, foldable, strict=True)]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
    for column, own in zip(columns, widths, strict=True):
        side, heading = "right" if column.number else "left", Text(column.heading)
        table.add_column(heading, justify=side, overflow="fold", width=own)
    for texts in zip(*(column.texts for column in columns), strict=True):
        table.add_row(*map(Text, texts))
    return table


def width_of(columns: Sequence[Column], gap: int = GAP) -> int:
    """Of the table of these columns, where nothing is folded."""
    return sum(column.width + gap for column in columns) - gap


def named(columns: Sequence[Column], width: int) -> str:
    """A line that names the columns for which `width` characters have no room."""
    return f"not shown in {width} columns: {', '.join(column.name for column in columns)}; --format csv has them"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: Collection[str] = ()) -> list[str]:
    """The lines of a table in Markdown; the columns with `texts`, by their heads, stand on the left, numbers on the
    right."""
    sides = ["---" if head in texts else "---:" for head in heads]
    return [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]


def for_spreadsheets(value: Any) -> Any:
    """A value of a CSV for people: a text that a spreadsheet would take for a formula begins with an apostrophe."""
    is_formula = (
        isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.fullmatch(value)
    )
    return f"'{value}" if is_formula else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)
