"""The outcome of messages and objects: the account, its discrepancies, and failures by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stampede.insights.unrecorded import unrecorded
from stampede.phrases import counted
from stampede.report.run import Run
from stampede.runs import stored_json
from stampede.runs.account import OBJECT_COUNTS, CellAccount, account
from stampede.runs.folder import FAILED_OBJECTS

COUNTS = (
    "sent",
    "succeeded",
    "failed",
    "dead_lettered",
    "unanswered",
    "duplicates",
    "unaccounted",
    "unexpected",
)
# Long enough to recognise a body or a message, short enough for a phone.
LONGEST_EXAMPLE = 200
NO_ORDER = "not a message of this run"
_FOREIGN = (
    "SELECT cell, count(*) FROM operations WHERE is_foreign GROUP BY cell ORDER BY min(cell_at)"
)
_FAILURES = """
WITH failed AS (
    SELECT line, cell, message, coalesce(nullif(error_type, ''), 'not named') AS kind,
           coalesce(error_message, '') AS words
    FROM operations WHERE status = 'error' AND NOT is_foreign AND NOT is_warm_up
), recovered AS (
    SELECT DISTINCT message, true AS is_recovered FROM operations SEMI JOIN failed USING (message)
    WHERE is_first_success
)
SELECT cell, kind, count(*) AS records,
       count(DISTINCT message) + CAST(count(message) < count(*) AS INTEGER) AS messages,
       count(DISTINCT message) FILTER (is_recovered) AS recovered, arg_min(words, line) AS example
FROM failed LEFT JOIN recovered USING (message) GROUP BY cell, kind ORDER BY records DESC, kind
"""
_LETTERS = """
SELECT nullif(cell, '') AS cell, count(*), arg_min(coalesce(body, ''), line) FROM letters GROUP BY 1
"""


@dataclass(frozen=True)
class Failure:
    """One kind of failure in one cell: its `records`, the number of `messages`, how many of these
    `recovered` in another attempt, and an `example`. `recovered` is None for a dead letter and an
    invocation without a record."""

    cell: str | None
    kind: str
    records: int
    messages: int | None
    recovered: int | None
    example: str


@dataclass(frozen=True)
class Account:
    """The rows of accounting.json, or the same counted from the other files.

    `problems` are discrepancies that put the figures in doubt. `unrecorded` are invocations whose
    end only Lambda logged, `objects` the account of objects by cell, if any, and `open_objects`
    what isn't known of them.
    """

    rows: list[dict[str, Any]]
    problems: list[str]
    unrecorded: list[dict[str, Any]]
    objects: dict[str, dict[str, int]]
    open_objects: list[str]

    def total(self, name: str) -> int:
        return sum(row[name] for row in self.rows)

    @property
    def is_clean(self) -> bool:
        """Whether every message is known to have succeeded exactly once."""
        again = self.total("duplicates") or self.total("unexpected")
        return (
            bool(self.rows)
            and not self.problems
            and not again
            and self.total("succeeded") == self.total("sent")
        )

    def without_record(self, cell: str) -> Counter[str]:
        """The invocations of a cell without a record, by kind."""
        return Counter(row["kind"] for row in self.unrecorded if row["cell"] == cell)


def account_of(run: Run) -> Account:
    """The account of a run, counted anew and compared with accounting.json."""
    accounts = account(run.store)
    counted_again = [_row(run, row.as_dict()) for row in accounts if row.sent]
    if "sent" not in run.store.files:
        counted_again = []
    rows, problems = counted_again, _foreign(run)
    if run.accounting is not None:
        rows = [_row(run, row) for row in run.accounting]
        problems += _differences(run, rows, counted_again)
    problems += [problem for row in rows for problem in _unbalanced(run, row)]
    silent = any(row["dead_lettered"] or row["unanswered"] or row["unaccounted"] for row in rows)
    ordered = sorted(rows, key=lambda row: run.order(row["cell"]))
    return Account(
        ordered,
        problems,
        unrecorded=unrecorded(run.directory) if silent else [],
        objects={row.cell: vars(row.objects) for row in accounts if row.objects},
        open_objects=list(_open_objects(run, accounts)),
    )


def _row(run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of an account with all counts; anything but a whole number counts as 0."""
    counts = {name: row.get(name) if type(row.get(name)) is int else 0 for name in COUNTS}
    return {
        "cell": str(row.get("cell")),
        "stored": {name for name in COUNTS if name in row},
        **counts,
    }


def _foreign(run: Run) -> list[str]:
    return [
        f"{run.cell_words(cell)}: {counted(records, 'record comes', 'records come')} from other "
        f"settings ({run.store.differences[cell][0]}), left out of all figures."
        for cell, records in run.store.rows(_FOREIGN)
    ]


def _unbalanced(run: Run, row: Mapping[str, Any]) -> Iterator[str]:
    ended = sum(row[name] for name in ("succeeded", "failed", "dead_lettered", "unanswered"))
    cell = run.cell_words(row["cell"])
    if row["unaccounted"]:
        yield f"{cell}: {row['unaccounted']} of {counted(row['sent'], 'message')} unaccounted for."
    elif row["sent"] != ended:
        yield (
            f"{cell}: {row['sent']} sent, but succeeded + failed + dead-lettered + unanswered is "
            f"{ended}."
        )


def _differences(
    run: Run, rows: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Where accounting.json and the other files disagree; a count that it lacks doesn't."""
    by_cell = {row["cell"]: row for row in again}
    return [
        f"{run.cell_words(row['cell'])}: accounting.json has {name} = {row[name]}, but the other "
        f"files add up to {by_cell[row['cell']][name]}."
        for row in rows
        if row["cell"] in by_cell
        for name in COUNTS
        if name in row["stored"] and row[name] != by_cell[row["cell"]][name]
    ]


def _open_objects(run: Run, accounts: Sequence[CellAccount]) -> Iterator[str]:
    for row in accounts:
        if row.objects and row.objects.is_open:
            yield f"{run.cell_words(row.cell)}: {row.objects.sentence()}."


def failures(run: Run, account: Account) -> list[Failure]:
    """Everything that failed: error records by cell and type, dead letters, and failures that only
    Lambda logged."""
    rows = [Failure(*row[:-1], example=_short(row[-1])) for row in run.store.rows(_FAILURES)]
    rows += [
        Failure(cell, "in the dead-letter queue", messages, messages, None, _short(body))
        for cell, messages, body in run.store.rows(_LETTERS)
    ]
    silent: dict[tuple[str, str], list[str]] = {}
    for row in account.unrecorded:
        silent.setdefault((row["cell"], row["kind"]), []).append(row["line"])
    for (cell, kind), lines in silent.items():
        rows.append(
            Failure(cell, f"{kind}, without a record", len(lines), None, None, _short(max(lines)))
        )
    return sorted(rows, key=lambda failure: run.order(failure.cell or ""))


def failed_objects(run: Run) -> list[Failure]:
    """The rows of failed_objects.jsonl (maybe millions) by cell and error, most frequent first."""
    is_file = "failed_objects" in run.store.files
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for _, row in stored_json.rows(run.directory / FAILED_OBJECTS, run.warnings) if is_file else ():
        key = str(row.get("cell")), str(row.get("error_type") or "not named")
        counts[key] += 1
        texts = (str(row.get(name) or "") for name in ("source", "destination", "error_message"))
        examples.setdefault(key, " | ".join(texts))
    return [
        Failure(*key, count, None, None, _short(examples[key]))
        for key, count in counts.most_common()
    ]


def total_objects(account: Account) -> dict[str, int]:
    """The objects of all cells."""
    return {name: sum(row[name] for row in account.objects.values()) for name in OBJECT_COUNTS}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_EXAMPLE else f"{line[: LONGEST_EXAMPLE - 1]}…"
