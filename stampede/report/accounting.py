"""Where every message went: sent = succeeded + failed + dead-lettered + unanswered, duplicates counted apart."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from stampede.insights.unrecorded import unrecorded
from stampede.phrases import counted
from stampede.report.run import Run
from stampede.runs.account import account

_FOREIGN = "SELECT cell, count(*) FROM operations WHERE is_foreign GROUP BY cell ORDER BY min(cell_at)"
_FAILURES = """
WITH failed AS (
    SELECT line, cell, place_at, message, coalesce(nullif(error_type, ''), 'not named') AS kind,
           coalesce(error_message, '') AS words
    FROM operations WHERE status = 'error' AND NOT is_foreign AND NOT is_warm_up
), recovered AS (
    SELECT DISTINCT message, true AS is_recovered FROM operations SEMI JOIN failed USING (message)
    WHERE is_first_success
)
SELECT {by}, count(*), count(DISTINCT message) + CAST(count(message) < count(*) AS INTEGER),
       count(DISTINCT message) FILTER (is_recovered), arg_min(words, line)
FROM failed LEFT JOIN recovered USING (message) GROUP BY {by}
"""
COUNTS = ("sent", "succeeded", "failed", "dead_lettered", "duplicates", "unaccounted", "unexpected", "unanswered")


@dataclass(frozen=True)
class AccountBook:
    """Rows {cell, and COUNTS}, whether they come from accounting.json, and what doesn't add up, in sentences. Where a
    message has no success and may have no record, `unrecorded` are the invocations that left none."""

    rows: list[dict[str, Any]]
    stored: bool
    problems: list[str]
    unrecorded: list[dict[str, Any]]

    @property
    def totals(self) -> dict[str, int]:
        return {name: sum(row[name] for row in self.rows) for name in COUNTS}

    @property
    def is_clean(self) -> bool:
        """Whether it is known that every message succeeded, and did so once."""
        if not self.rows or self.problems:
            return False
        again = any(row["duplicates"] or row["unexpected"] for row in self.rows)
        return not again and all(row["succeeded"] == row["sent"] for row in self.rows)

    def kinds(self, cell: str) -> Counter[str]:
        """The invocations of a cell that left no record, by kind."""
        return Counter(row["kind"] for row in self.unrecorded if row["cell"] == cell)


def account_book(run: Run) -> AccountBook:
    """The accounting of `run`: accounting.json, or the same counted from the other files when it's missing."""
    counted = recounted(run)
    is_stored = run.accounting is not None
    rows = sorted(map(_whole, run.accounting), key=lambda row: run.order(row["cell"])) if is_stored else counted
    problems = _problems(run, rows) + (_differences(run, run.accounting, counted) if is_stored else [])
    without_record = any(row["dead_lettered"] or row["unanswered"] or row["unaccounted"] for row in rows)
    return AccountBook(rows, is_stored, problems, unrecorded(run.directory) if without_record else [])


def failures(run: Run, by: str) -> list[tuple[Any, ...]]:
    """The error records by a column, `cell` or `place_at`, and kind: how many, of how many messages, how many of those
    succeeded in another attempt, and the first error message."""
    return run.store.rows(_FAILURES.format(by=f"{by}, kind"))


def unfinished_messages(run: Run) -> dict[int, int]:
    """How many messages failed and never succeeded, by `place_at`."""
    return {
        at: messages - recovered for at, _, messages, recovered, _ in run.store.rows(_FAILURES.format(by="place_at"))
    }


def recounted(run: Run) -> list[dict[str, Any]]:
    """Count each cell from sent, records and dead letters. [] without sent.jsonl. Warm-ups count like all others."""
    if run.sent is None:
        return []
    accounts = account(run.store)
    rows = [{"cell": row.cell} | {name: getattr(row, name) for name in COUNTS} for row in accounts if row.sent]
    return sorted(rows, key=lambda row: run.order(row["cell"]))


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    known = {name: row.get(name) if type(row.get(name)) is int else 0 for name in COUNTS}
    return {"cell": str(row.get("cell"))} | known


def _problems(run: Run, rows: list[dict[str, Any]]) -> list[str]:
    problems = []
    for cell, records in run.store.rows(_FOREIGN):
        problems.append(
            f"{run.cell_words(cell)}: {counted(records, 'record comes', 'records come')} from other settings "
            f"({run.store.differences[cell][0]}), left out of all figures."
        )
    for row in rows:
        known = row["succeeded"] + row["failed"] + row["dead_lettered"] + row["unanswered"]
        cell = run.cell_words(row["cell"])
        if row["unaccounted"]:
            problems.append(f"{cell}: {row['unaccounted']} of {counted(row['sent'], 'message')} unaccounted for.")
        elif row["sent"] != known:
            problems.append(
                f"{cell}: {row['sent']} sent, but succeeded + failed + dead-lettered + unanswered is {known}, "
                "and no message is listed as unaccounted for."
            )
    return problems


def _differences(run: Run, stored: list[dict[str, Any]], counted: list[dict[str, Any]]) -> list[str]:
    """Where accounting.json and the other files disagree; a count that it lacks is no disagreement."""
    again = {row["cell"]: row for row in counted}
    return [
        f"{run.cell_words(row['cell'])}: accounting.json has {name} = {row[name]}, but the other files add up to "
        f"{again[row['cell']][name]}."
        for row in stored
        if row.get("cell") in again
        for name in COUNTS
        if name in row and row[name] != again[row["cell"]][name]
    ]
