"""The page of a report, or of a comparison of runs: self-contained, complete without its script."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import groupby, takewhile
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from stampede.phrases import unbroken
from stampede.report.charts import Chart, css_variables
from stampede.tables import Field, Row, Table

# Rows of a table that are shown; further ones are folded.
MOST_ROWS = 40
# A text column may be this narrow, in letters.
LEAST_LETTERS = 16


@dataclass(frozen=True)
class Download:
    """A file inside the page, or next to it: the text of its link, its name, its address.

    `plain` is its name once a script has decompressed it.
    """

    label: str
    file_name: str
    address: str
    note: str = ""
    plain: str = ""


@dataclass(frozen=True)
class Detail:
    """A section below the tables. `terms` are a list of definitions."""

    name: str
    heading: str
    sentences: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    terms: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Page:
    """What a page shows, from top to bottom.

    `problems` put the figures in doubt, `warnings` say what is missing; `failures` and `cost` are
    open, `details` folded; `command` rebuilds the page.
    """

    title: str
    kicker: Sequence[str]
    headline: str
    basis: Sequence[tuple[str, str]]
    command: str
    problems: Sequence[str] = ()
    warnings: Sequence[str] = ()
    chart: Chart | None = None
    tables: Sequence[Table] = ()
    caveats: Sequence[str] = ()
    failures: Sequence[Detail] = ()
    cost: Detail | None = None
    details: Sequence[Detail] = ()
    downloads: Sequence[Download] = ()


def render(context: Page) -> str:
    """The page as HTML. Every text of `context` is escaped."""
    style = f":root {{ {css_variables()} }}\n{_text('page.css')}"
    script = _text("page.js")
    # Nothing may be loaded or sent, and no other script may run, whatever a record contains. Charts
    # have their colours in attributes.
    policy = (
        f"default-src 'none'; style-src-elem {_digest(style)}; style-src-attr 'unsafe-inline'; "
        f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'"
    )
    inlined = {"style": Markup(style), "script": Markup(script)}
    return _template().render(page=context, policy=policy, **inlined)


def _text(name: str) -> str:
    return (files("stampede.report") / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("stampede.report"),
        autoescape=True,
        finalize=lambda value: unbroken(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "parts": parts,
        "groups": groups,
        "heads": heads,
        "letters": letters,
        "decimals": most_decimals,
        "attributes": attributes,
    }
    return environment.get_template("page.html.j2")


def heads(table: Table) -> list[Field]:
    """The fields that name a row: the leading ones of rank 0, which are never left out."""
    return list(takewhile(lambda column: column.rank == 0, table.read))


def groups(table: Table) -> list[list[Row]]:
    """The rows, grouped by name; a group stays together when the table is sorted."""
    columns = heads(table)
    if not columns:
        return [[row] for row in table.rows]
    by_name = groupby(table.rows, key=lambda row: [column.text(row) for column in columns])
    return [list(rows) for _, rows in by_name]


def parts(table: Table) -> tuple[Table, Table]:
    """The rows that are shown, and the folded ones; no group is split."""
    opened: list[Row] = []
    for group in groups(table):
        if opened and len(opened) + len(group) > MOST_ROWS:
            break
        opened += group
    folded = table.rows[len(opened) :]
    return replace(table, rows=opened), replace(table, name=f"{table.name}-more", rows=folded)


def letters(column: Field, table: Table) -> int:
    """The minimum width of a text column."""
    widest_word = max(map(len, column.heading.split()), default=0)
    return min(LEAST_LETTERS, max([widest_word, *(len(column.text(row)) for row in table.rows)]))


def most_decimals(table: Table) -> dict[str, str]:
    """The longest decimals of each field, such as `.25`."""
    return {
        column.name: max((_decimals(column, row) or "" for row in table.rows), key=len, default="")
        for column in table.read
    }


def _decimals(column: Field, row: Row) -> str | None:
    """`.25` for 1.25, an empty text for 1, None for anything but a number."""
    if not isinstance(row.get(column.name), int | float):
        return None
    number = re.fullmatch(r"\D*[\d,]+(\.\d+)?", column.text(row))
    return number and (number[1] or "")


def attributes(column: Field, row: Row, is_again: bool, longest: dict[str, str]) -> dict[str, Any]:
    """The class of an entry, the number that it is sorted by, and the decimals that it lacks
    compared with the `longest`.

    `is_again`: the row above already shows it.
    """
    value, decimals = row.get(column.name), _decimals(column, row)
    missing = "" if decimals is None else longest[column.name][len(decimals) :]
    looks = ["words" if column.is_text else "", "again" if is_again else "", column.look(row)]
    return {
        "class": " ".join(filter(None, looks)) or None,
        "data-value": value if isinstance(value, int | float) else None,
        "data-decimals": re.sub(r"\d", "0", missing) or None,
    }
