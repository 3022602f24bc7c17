"""One model of a table: as wide as the terminal, as CSV, JSON and Markdown, and what a page needs of it.

`Table` is of figures with their units; `print_rows` prints whatever rows a verb has.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import rich.console
import rich.table
from rich import box
from rich.cells import cell_len
from rich.text import Text

from stampede import terminal
from stampede.phrases import NOTHING
from stampede.standard_streams import plain

# Between two columns, and the width to which a text may be folded before a column is left out.
GAP, LEAST_TEXT = 2, 20
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e[+-]?\d+)?")


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """A column of a Table.

    `name` is its key in a row, and its heading in CSV and JSON; `heading` and `unit` are those for reading, and `show`
    is a value for reading that isn't None. `look` is what marks a row's entry on a page: `bad`, `short`, or nothing.
    `only` says where it stands alone: for `reading`, or in `files`. In a narrow terminal the largest `rank` is left
    out first, and rank 0 never.
    """

    name: str
    heading: str = ""
    unit: str = ""
    show: Callable[[Any], str] = str
    is_text: bool = False
    only: Literal["", "reading", "files"] = ""
    rank: int = 0
    look: Callable[[Row], str] = lambda row: ""

    def text(self, row: Row) -> str:
        """The row's entry for reading; a dash where there is none."""
        value = row.get(self.name)
        return NOTHING if value is None or value == "" else self.show(value)

    @property
    def label(self) -> str:
        """The heading with its unit, in one line."""
        return f"{self.heading} {self.unit}".strip()


@dataclass(frozen=True)
class Table:
    """Rows of figures by the names of their fields. `caption` has the sentences without which they would mislead;
    `is_strong(row)` is whether a row stands out."""

    name: str
    title: str
    fields: Sequence[Field]
    rows: Sequence[Row]
    caption: Sequence[str] = ()
    is_strong: Callable[[Row], bool] = lambda row: True

    @property
    def read(self) -> list[Field]:
        """The fields for reading."""
        return [field for field in self.fields if field.only != "files"]

    @property
    def stored(self) -> list[Field]:
        """The fields of files."""
        return [field for field in self.fields if field.only != "reading"]

    def print(self, form: str) -> None:
        """Print it on stdout: as table, csv, json or markdown. Raises ValueError for another form."""
        writers = {"csv": self.csv, "json": self.json, "markdown": self.markdown}
        if form == "table":
            console = terminal.console()
            if not console.is_terminal:  # into a pipe, as wide as it needs
                console.width = sum(column.width + 1 for column in self._columns())
            terminal.show(self.drawn(console.width), console)
        elif form in writers:
            sys.stdout.write(writers[form]())
        else:
            raise ValueError(f"form {form!r}: a table is printed as table, {', '.join(writers)}")

    def drawn(self, width: int) -> rich.console.Group:
        """The table and its caption for a terminal of `width` columns; fields that don't fit are left out and named."""
        columns, read = self._columns(), self.read
        kept = sum(not field.rank for field in read)
        by_rank = sorted(range(kept, len(read)), key=lambda at: read[at].rank)
        shown, left_out = fitting(columns, width, kept, by_rank, gap=1)
        table = grid(shown, width, gap=1)
        for line, row in zip(table.rows, self.rows, strict=True):
            line.style = "bold" if self.is_strong(row) else "dim"
        notes = [named(left_out, width)] if left_out else []
        return rich.console.Group(table, "", *(Text(sentence, style="dim") for sentence in (*notes, *self.caption)))

    def _columns(self) -> list[Column]:
        """The fields for reading as columns; those that are never left out must stand first."""
        return [
            Column(
                "\n".join(filter(None, (field.heading, field.unit))),
                [field.text(row) for row in self.rows],
                number=not field.is_text,
                least=LEAST_TEXT if field.is_text else None,
            )
            for field in self.read
        ]

    def csv(self) -> str:
        """Every digit; what isn't known is empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, [field.name for field in self.stored], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _in_file(value) for name, value in row.items()} for row in self._values())
        return text.getvalue()

    def json(self) -> str:
        """An array of objects, numbers as numbers, what isn't known null."""
        return json.dumps(self._values(), indent=2) + "\n"

    def _values(self) -> list[dict[str, Any]]:
        return [{field.name: row.get(field.name) for field in self.stored} for row in self.rows]

    def markdown(self) -> str:
        """For pasting, with the caption under it."""
        heads = [field.label for field in self.read]
        rows = [[in_markdown(field.text(row)) for field in self.read] for row in self.rows]
        texts = [field.label for field in self.read if field.is_text]
        return "\n".join([*markdown(heads, rows, texts), "", *map(in_markdown, self.caption)]) + "\n"


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


def grid(columns: Sequence[Column], width: int, gap: int = GAP) -> rich.table.Table:
    """The table of these columns. Where `width` characters aren't enough, the widest texts are folded, all to the same
    width."""
    widths = [column.width for column in columns]
    foldable = [not column.number and column.least is not None for column in columns]
    most = max(widths, default=0)
    while sum(widths) + gap * (len(columns) - 1) > width and most > 1:
        most = min(most, width) - 1
        widths = [min(own, most) if folded else own for own, folded in zip(widths, foldable, strict=True)]
    table = rich.table.Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
    for column, own in zip(columns, widths, strict=True):
        side, heading = "right" if column.number else "left", Text(column.heading)
        table.add_column(heading, justify=side, overflow="fold", width=own)
    for texts in zip(*(column.texts for column in columns), strict=True):
        table.add_row(*map(Text, texts))
    return table


def named(columns: Sequence[Column], width: int) -> str:
    """A line that names the columns for which `width` characters have no room."""
    return f"not shown in {width} columns: {', '.join(column.name for column in columns)}; --format csv has them"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: Collection[str] = ()) -> list[str]:
    """The lines of a table in Markdown; the columns with `texts`, by their heads, stand on the left, numbers on the
    right."""
    sides = ["---" if head in texts else "---:" for head in heads]
    return [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]


def in_markdown(text: str) -> str:
    """A text as an entry of a table: in one line, without what ends the entry, or begins a tag or a link."""
    return re.sub(r"([\\|<\[])", r"\\\1", plain(" ".join(text.splitlines())))


def number_text(value: float) -> str:
    """`value` with all its digits and no exponent: the shortest decimal that reads back as the same number."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


def _in_file(value: Any) -> Any:
    return number_text(value) if isinstance(value, int | float) else for_spreadsheets(value)


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
