"""One model of a table: as wide as the terminal, as CSV, JSON and Markdown, and what a page needs
of it.

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

# The width to which a text may be folded before a column is left out.
LEAST_TEXT = 20
_NUMBER = re.compile(rf"-?[\d,]+(\.\d+)?(e[+-]?\d+)?|{NOTHING}")


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """A column of a Table.

    `name` is its key in a row, and its heading in CSV and JSON; `heading` and `unit` are those for
    reading, and `show` is a value for reading that isn't None. `look` is what marks a row's entry
    on a page: `bad`, `short`, or nothing. `only` says where it stands alone: for `reading`, or in
    `files`. In a narrow terminal the largest `rank` is left out first, and rank 0 never.
    """

    name: str
    heading: str = ""
    unit: str = ""
    show: Callable[[Any], str] = str
    is_text: bool = False
    only: Literal["", "reading", "files"] = ""
    rank: int = 0
    look: Callable[[Row], str] = lambda row: ""
    nothing: str = NOTHING

    def text(self, row: Row) -> str:
        """The row's entry for reading; a dash where there is none."""
        value = row.get(self.name)
        return self.nothing if value is None or value == "" else self.show(value)

    def least_width(self, texts: Sequence[str]) -> int:
        """Below which a column with these entries can't be shown: numbers are never folded."""
        width = max(cell_len(line) for text in (self.lines, *texts) for line in text.split("\n"))
        return min(width, LEAST_TEXT) if self.is_text else width

    @property
    def lines(self) -> str:
        """The heading with its unit below it."""
        return "\n".join(filter(None, (self.heading, self.unit)))

    @property
    def label(self) -> str:
        """The heading with its unit, in one line."""
        return f"{self.heading} {self.unit}".strip()


@dataclass(frozen=True)
class Table:
    """Rows of figures by the names of their fields. `caption` has the sentences without which they
    would mislead; `is_strong(row)` is whether a row stands out, and `gap` the blanks between two
    columns in a terminal."""

    name: str
    title: str
    fields: Sequence[Field]
    rows: Sequence[Row]
    caption: Sequence[str] = ()
    is_strong: Callable[[Row], bool] = lambda row: True
    gap: int = 1

    @property
    def read(self) -> list[Field]:
        """The fields for reading."""
        return [field for field in self.fields if field.only != "files"]

    @property
    def stored(self) -> list[Field]:
        """The fields of files."""
        return [field for field in self.fields if field.only != "reading"]

    def print(self, form: str) -> None:
        """Print it on stdout: as table, csv, json or markdown. Raises ValueError for another
        form."""
        writers = {"csv": self.csv, "json": self.json, "markdown": self.markdown}
        if form == "table":
            console = terminal.console()
            terminal.show(self.drawn(console.width), console)
        elif form in writers:
            sys.stdout.write(writers[form]())
        else:
            raise ValueError(f"form {form!r}: a table is printed as table, {', '.join(writers)}")

    def drawn(self, width: int) -> rich.console.Group:
        """The table and its caption for a terminal of `width` columns: texts are folded, and from
        the first rank on for which there is no room fields are left out and named."""
        texts = {field: [field.text(row) for row in self.rows] for field in self.read}
        shown, free = set(), width + self.gap
        for field in sorted(self.read, key=lambda field: field.rank):
            free -= field.least_width(texts[field]) + self.gap
            if field.rank and free < 0:
                break
            shown.add(field)
        table = rich.table.Table(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, self.gap - 1, 0, 0)
        )
        fields = [field for field in self.read if field in shown]
        for field in fields:
            side, least = (
                ("left" if field.is_text else "right"),
                field.least_width(texts[field]),
            )
            heading = Text(field.lines)
            table.add_column(
                heading, justify=side, overflow="fold", no_wrap=not field.is_text, min_width=least
            )
        for at, row in enumerate(self.rows):
            style = "" if self.is_strong(row) else "dim"
            table.add_row(*(Text(texts[field][at]) for field in fields), style=style)
        names = [
            " ".join(field.lines.replace("-\n", "").split())
            for field in self.read
            if field not in shown
        ]
        notes = (
            [f"not shown in {width} columns: {', '.join(names)}; --format csv has them"]
            if names
            else []
        )
        return rich.console.Group(
            table, "", *(Text(sentence, style="dim") for sentence in (*notes, *self.caption))
        )

    def csv(self) -> str:
        """Every digit; what isn't known is empty."""
        text = io.StringIO()
        writer = csv.DictWriter(
            text, [field.name for field in self.stored], restval="", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(
            {name: _in_file(value) for name, value in row.items()} for row in self._values()
        )
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
        return (
            "\n".join([*markdown(heads, rows, texts), "", *map(in_markdown, self.caption)]) + "\n"
        )


def print_rows(rows: Sequence[Row], form: str, columns: Sequence[str] | None = None) -> None:
    """Print `rows` on stdout; `form` is table, csv or json. `columns` gives order and header but of
    json (default: the union of the rows' keys, in order).

    A table is as wide as the terminal: texts are folded, then the last columns left out, and named
    below it. A pipe gets all of them.
    """
    if form == "json":  # what a row doesn't have isn't null
        print(json.dumps(list(rows), indent=2))
        return
    fields = []
    for rank, name in enumerate(columns or dict.fromkeys(name for row in rows for name in row)):
        texts = [_text(row.get(name)) for row in rows]
        is_number = any(texts) and all(_NUMBER.fullmatch(text) for text in texts if text)
        fields.append(Field(name, name, show=_text, is_text=not is_number, rank=rank, nothing=""))
    Table("", "", fields, rows, gap=2).print(form)


def markdown(
    heads: Sequence[str], rows: Iterable[Sequence[str]], texts: Collection[str] = ()
) -> list[str]:
    """The lines of a table in Markdown; the columns with `texts`, by their heads, stand on the
    left, numbers on the right."""
    sides = ["---" if head in texts else "---:" for head in heads]
    return [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]


def in_markdown(text: str) -> str:
    """A text as an entry of a table: in one line, without what ends the entry, or begins a tag or a
    link."""
    return re.sub(r"([\\|<\[])", r"\\\1", plain(" ".join(text.splitlines())))


def number_text(value: float) -> str:
    """`value` with all its digits and no exponent: the shortest decimal that reads back as the same
    number."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


def _in_file(value: Any) -> Any:
    return number_text(value) if isinstance(value, int | float) else for_spreadsheets(value)


def for_spreadsheets(value: Any) -> Any:
    """A value of a CSV for people: a text that a spreadsheet would take for a formula begins with
    an apostrophe."""
    is_formula = (
        isinstance(value, str)
        and value[:1] in ("=", "+", "-", "@", "\t", "\r")
        and not _NUMBER.fullmatch(value)
    )
    return f"'{value}" if is_formula else value


def _text(value: Any) -> str:
    """A value of a table for reading: of a number that isn't whole four digits."""
    if value is None:
        return ""
    return number_text(float(f"{value:.4g}")) if isinstance(value, float) else str(value)
