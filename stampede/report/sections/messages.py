"""Where every message went, and what went wrong: error records and dead letters, grouped so that the same failure is
one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stampede.report.accounting import failures as counted_failures
from stampede.report.grid import BLANK, Column, Grid, Row, number, words
from stampede.report.run import Run
from stampede.report.sections.page import Block, Page

# Long enough to recognise a body, short enough for a phone.
BODY_LENGTH = 200
NO_ORDER = "not a message of this run"
_LETTERS = """
SELECT coalesce(nullif(cell, ''), ?), count(*), arg_min(left(coalesce(body, ''), ?), line) FROM letters GROUP BY 1
"""


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


def accounting(page: Page) -> Block | None:
    """Where every message went; None where each succeeded, and once."""
    if page.book.is_clean:
        return None
    cell_words = page.run.cell_words
    return page.block("accounting", "Accounting", template="messages", book=page.book, cell_words=cell_words)


def errors(page: Page) -> Block:
    """What went wrong; where messages left no record, also what Lambda itself logged of failures."""
    return page.block(
        "errors",
        "Errors",
        template="messages",
        failures=failures(page.run),
        attempts=_attempts(page),
        dead_letters=dead_letters(page.run),
        logged=_logged(page.book.unrecorded),
        cell_words=page.run.cell_words,
    )


def failures(run: Run) -> list[Failure]:
    """The error records of `run` by cell and error type, the most frequent first within a cell."""
    groups = [Failure(cell or NO_ORDER, *counts) for cell, *counts in counted_failures(run, "cell")]
    return sorted(groups, key=lambda failure: (run.order(failure.cell), -failure.records, failure.error_type))


def _logged(unrecorded: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The invocations without a record by kind and memory size, the most frequent first, with a line of each."""
    groups: dict[tuple[str, int], list[str]] = {}
    for row in unrecorded:
        groups.setdefault((row["kind"], row.get("memory_size_mb", 0)), []).append(row["line"])
    rows = [
        {"kind": kind, "memory_size_mb": size, "invocations": len(lines), "example": max(lines)}
        for (kind, size), lines in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["invocations"], row["kind"], row["memory_size_mb"]))


def dead_letters(run: Run) -> list[DeadLetters]:
    """The dead letters of `run` by cell."""
    letters = [DeadLetters(*counts) for counts in run.store.rows(_LETTERS, NO_ORDER, BODY_LENGTH)]
    return sorted(letters, key=lambda letters: run.order(letters.cell))


def _attempts(page: Page) -> Grid | None:
    """How many needed another attempt, and what else left a record; None where nothing did."""
    totals = page.numbers["totals"]
    if not any(totals[name] for name in ("retried", "errors", "duplicates", "warm_up_errors")):
        return None
    operations = page.experiment.operation[1]
    labels = {
        "sent": "sent",
        "count": operations,
        "retried": "retried",
        "errors": "error records",
        "duplicates": "duplicates",
        "warm_ups": page.warm_ups,
        "warm_up_errors": f"failed {page.warm_ups}",
    }
    lines = []
    for cell in page.numbers["cells"]:
        bad = {name: "bad" if cell[name] else "" for name in ("errors", "warm_up_errors")}
        lines.append((cell, [number(cell[name], looks=bad.get(name, "")) for name in labels]))
    caption = f"{operations.capitalize()}, retries and errors"
    grid = page.grid("attempts", caption, [Column(label) for label in labels.values()], lines)
    sums = [number(totals["downloads" if name == "count" else name]) for name in labels]
    return replace(grid, foot=Row([words("total"), *[BLANK] * (grid.heads - 1), *sums]))
