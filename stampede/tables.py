"""One model of a table, for terminals, CSV, JSON, Markdown and HTML.

`Table` holds figures with their units; `print_rows` prints rows of any kind.
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
from typing import TYPE_CHECKING, Any, Literal

from stampede.phrases import NOTHING
from stampede.standard_streams import plain

# Rich takes a tenth of a second to import, and `--help` prints no table.
if TYPE_CHECKING:
    from rich.console import Group

# A column of text may be folded to this width before it is left out.
LEAST_TEXT = 20
_NUMBER = re.compile(rf"-?[\d,]+(\.\d+)?(e[+-]?\d+)?|{NOTHING}")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """A column of a Table.

    `name` is its key in a row, and its heading in CSV and JSON. `heading` and `unit` are for
    reading, and `show` formats a value that isn't None. `look` marks a row's entry on a page as
    `bad` or `short`. `only` restricts the column to `reading` or to `files`. A narrow terminal
    leaves out the largest `rank` first, and rank 0 never.
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
        """The smallest width that shows these entries: numbers are never folded."""
        from rich.cells import cell_len

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
    """Rows of figures, by the names of their fields. The sentences of `caption` keep them from
    misleading. `is_strong(row)` is whether a row stands out, and `gap` the number of blanks between
    two columns in a terminal."""

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
        """Print the table on stdout as table, csv, json or markdown. Raises KeyError."""
        if form == "table":
            from stampede import terminal

            console = terminal.console()
            terminal.show(self.drawn(console.width), console)
        else:
            writers = {"csv": self.csv, "json": self.json, "markdown": self.markdown}
            text = writers[form]()
            # A file gets every character of a log line; a terminal would act on some.
            sys.stdout.write(plain(text) if sys.stdout.isatty() else text)

    def drawn(self, width: int) -> Group:
        """The table and its caption for a terminal of `width` columns. Texts are folded; from the
        first rank that doesn't fit, fields are left out, and named below the table."""
        from rich import box
        from rich.console import Group
        from rich.table import Table as Drawing
        from rich.text import Text

        texts = {field: [field.text(row) for row in self.rows] for field in self.read}
        least = {field: field.least_width(texts[field]) for field in self.read}
        shown, free = set(), width + self.gap
        for field in sorted(self.read, key=lambda field: field.rank):
            free -= least[field] + self.gap
            if field.rank and free < 0:
                break
            shown.add(field)
        fields = [field for field in self.read if field in shown]
        table = Drawing(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, self.gap - 1, 0, 0)
        )
        for field in fields:
            table.add_column(
                Text(field.lines),
                justify="left" if field.is_text else "right",
                overflow="fold",
                no_wrap=not field.is_text,
                min_width=least[field],
            )
        for at, row in enumerate(self.rows):
            style = "" if self.is_strong(row) else "dim"
            table.add_row(*(Text(texts[field][at]) for field in fields), style=style)
        notes = list(self.caption)
        if left_out := [field for field in self.read if field not in shown]:
            names = ", ".join(
                " ".join(field.lines.replace("-\n", "").split()) for field in left_out
            )
            notes.insert(0, f"not shown in {width} columns: {names}; --format csv has them")
        return Group(table, "", *(Text(note, style="dim") for note in notes))

    def csv(self) -> str:
        """Every digit; an unknown value is empty."""
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
        """An array of objects; an unknown value is null."""
        return json.dumps(self._values(), indent=2) + "\n"

    def _values(self) -> list[dict[str, Any]]:
        return [{field.name: row.get(field.name) for field in self.stored} for row in self.rows]

    def markdown(self) -> str:
        """The table for pasting, with its caption below."""
        heads = [field.label for field in self.read]
        rows = [[in_markdown(field.text(row)) for field in self.read] for row in self.rows]
        texts = [field.label for field in self.read if field.is_text]
        return (
            "\n".join([*markdown(heads, rows, texts), "", *map(in_markdown, self.caption)]) + "\n"
        )


def print_rows(rows: Sequence[Row], form: str, columns: Sequence[str] | None = None) -> None:
    """Print `rows` on stdout as table, csv or json. `columns` are the keys to print as table or
    csv, in order (default: the union of the rows' keys).

    A terminal gets folded texts, and the last columns that don't fit are left out and named below
    the table. A pipe gets all of them.
    """
    if form == "json":  # without null for a key that a row doesn't have
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
    """The lines of a table in Markdown; columns are aligned right, those headed by `texts` left."""
    sides = ["---" if head in texts else "---:" for head in heads]
    return [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]


def in_markdown(text: str) -> str:
    """A text as an entry of a table: one line, with characters escaped that would end the entry, or
    begin a tag or a link."""
    return re.sub(r"([\\|<\[])", r"\\\1", plain(" ".join(text.splitlines())))


def number_text(value: float) -> str:
    """The shortest decimal that reads back as the same number, without an exponent."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


def _in_file(value: Any) -> Any:
    return number_text(value) if isinstance(value, int | float) else for_spreadsheets(value)


def for_spreadsheets(value: Any) -> Any:
    """A value for a CSV file: an apostrophe is put before a text that a spreadsheet would take for
    a formula."""
    is_formula = (
        isinstance(value, str)
        and value[:1] in ("=", "+", "-", "@", "\t", "\r")
        and not _NUMBER.fullmatch(value)
    )
    return f"'{value}" if is_formula else value


def _text(value: Any) -> str:
    """A value for reading; a number that isn't whole has four digits."""
    if value is None:
        return ""
    return number_text(float(f"{value:.4g}")) if isinstance(value, float) else str(value)
