"""Where every message went: sent = succeeded + failed + dead-lettered + unanswered, duplicates counted apart."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from stampede.insights.unrecorded import unrecorded
from stampede.phrases import counted
from stampede.runs.account import account
from stampede.runs.folder import RunFolder
from stampede.runs.run import Run
from stampede.runs.store import open_store

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


def recounted(run: Run) -> list[dict[str, Any]]:
    """Count each cell from sent, records and dead letters. [] without sent.jsonl. Warm-ups count like all others."""
    if run.sent is None:
        return []
    accounts = account(open_store(RunFolder(run.directory), run.manifest))
    rows = [{"cell": row.cell} | {name: getattr(row, name) for name in COUNTS} for row in accounts if row.sent]
    return sorted(rows, key=lambda row: run.order(row["cell"]))


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    known = {name: row.get(name) if type(row.get(name)) is int else 0 for name in COUNTS}
    return {"cell": str(row.get("cell"))} | known


def _problems(run: Run, rows: list[dict[str, Any]]) -> list[str]:
    problems = []
    for at, records in run.foreign.by_cell_id().items():
        cell = run.names.cells[at]
        problems.append(
            f"{run.cell_words(cell)}: {counted(len(records), 'record comes', 'records come')} from other settings "
            f"({run.differences[cell][0]}), left out of all figures."
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
