"""What went wrong: error records and dead letters, grouped so that the same failure is one line."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stampede.report.grid import BLANK, Column, Grid, Row, number, words
from stampede.report.sections.page import Block, Page
from stampede.runs.records import NO_MESSAGE, UNKNOWN, distinct
from stampede.runs.run import Run

# Long enough to recognise a body, short enough for a phone.
BODY_LENGTH = 200
NO_ORDER = "not a message of this run"


@dataclass(frozen=True)
class Failure:
    """One kind of failure in one cell.

    `records` is how many error records there are, `messages` of how many messages, `recovered` how many of
    those succeeded in another attempt. `example` is the first error message.
    """

    cell: str
    error_type: str
    records: int
    messages: int
    recovered: int
    example: str


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of one cell, with the start of the first body."""

    cell: str
    messages: int
    example: str


def render(page: Page) -> Block:
    """The section."""
    return page.block(
        "errors",
        "Errors",
        failures=failures(page.run),
        attempts=_attempts(page),
        dead_letters=dead_letters(page.run),
        cell_words=page.run.cell_words,
    )


def failures(run: Run) -> list[Failure]:
    """The error records of `run` by cell and error type, the most frequent first within a cell."""
    errors, succeeded = run.errors, distinct(run.done["message"])
    found = []
    for cell, of_cell in errors.by_cell_id().items():
        name = NO_ORDER if cell == UNKNOWN else run.names.cells[cell]
        for kind in np.unique(of_cell["kind"]).tolist():
            records = of_cell.where(of_cell["kind"] == kind)
            messages = distinct(records["message"])
            recovered = int(np.isin(messages[messages != NO_MESSAGE], succeeded).sum())
            example = errors.examples[cell, kind]
            found.append(Failure(name, errors.kinds[kind], len(records), len(messages), recovered, example))
    return sorted(found, key=lambda failure: (run.order(failure.cell), -failure.records, failure.error_type))


def dead_letters(run: Run) -> list[DeadLetters]:
    """The dead letters of `run` by cell."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for letter in run.dead_letters:
        groups.setdefault(_cell(letter), []).append(letter)
    return [
        DeadLetters(cell, len(letters), str(letters[0].get("body") or "")[:BODY_LENGTH])
        for cell, letters in sorted(groups.items(), key=lambda group: run.order(group[0]))
    ]


def _cell(row: dict[str, Any]) -> str:
    return str(row.get("cell") or NO_ORDER)


def _attempts(page: Page) -> Grid:
    """How many needed another attempt, and what else left a record."""
    names = ("sent", "count", "retried", "errors", "duplicates", "warm_ups", "warm_up_errors")
    lines = []
    for cell in page.numbers["cells"]:
        bad = {name: "bad" if name in ("errors", "warm_up_errors") and cell[name] else "" for name in names}
        lines.append((cell, [number(cell[name], looks=bad[name]) for name in names]))
    many = page.experiment.operation[1]
    columns = [Column("sent"), Column(many), Column("retried"), Column("error records"), Column("duplicates"),
               Column("warm-ups"), Column("failed warm-ups")]  # fmt: skip
    grid = page.grid("attempts", f"{many.capitalize()}, retries and errors", columns, lines)
    totals = page.numbers["totals"]
    sums = [number(totals["downloads" if name == "count" else name]) for name in names]
    return replace(grid, foot=Row([words("total"), *[BLANK] * (grid.heads - 1), *sums]))
