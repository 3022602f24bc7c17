"""Where every message went: sent = succeeded + failed + dead-lettered + unanswered, duplicates counted apart."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from stampede.insights.unrecorded import unrecorded
from stampede.phrases import counted
from stampede.runs.message_marks import COMBINATIONS, DEAD, ERRED, OK, SENT, UNANSWERED, counts
from stampede.runs.records import Group, Records, cells_of, distinct
from stampede.runs.run import Run

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
    """Count each cell from sent, records and dead letters. [] without sent.jsonl.

    Messages are marked as a drain marks them, but in columns, which the records are by now: of a million, row by row
    takes twice as long (1.25 s of a processor for 0.6). Warm-ups count like all others; what isn't a message of the
    run has no cell to be counted in.
    """
    if run.sent is None:
        return []
    ok_records = [run.done["message"], _of(run.warm_ups, Group.WARM_UP), _of(run.foreign, Group.FOREIGN)]
    error_records = [
        run.errors["message"],
        _of(run.warm_ups, Group.FAILED_WARM_UP),
        _of(run.foreign, Group.FAILED_FOREIGN),
    ]
    marked = {
        SENT: run.sent.message,
        OK: np.concatenate(ok_records),
        ERRED: np.concatenate(error_records),
        DEAD: _listed(run, run.dead_letters),
        UNANSWERED: _listed(run, run.unanswered),
    }
    marked = {mark: messages[messages >= 0] for mark, messages in marked.items()}
    messages = distinct(np.concatenate(list(marked.values())))
    marks = np.zeros(len(messages), dtype=np.int64)
    for mark, carriers in marked.items():
        marks[np.searchsorted(messages, carriers)] |= mark
    shape = len(run.names.cells), COMBINATIONS
    by_marks = np.bincount(cells_of(messages) * COMBINATIONS + marks, minlength=shape[0] * COMBINATIONS).reshape(shape)
    repeated = np.bincount(cells_of(marked[OK]), minlength=shape[0]) - np.bincount(
        cells_of(messages[marks & OK > 0]), minlength=shape[0]
    )
    rows = []
    for cell, of_cell, duplicates in zip(run.names.cells, by_marks, repeated.tolist(), strict=True):
        counted = counts(of_cell) | {"duplicates": duplicates}
        if counted["sent"]:
            rows.append({"cell": cell} | {name: counted[name] for name in COUNTS})
    return sorted(rows, key=lambda row: run.order(row["cell"]))


def _of(records: Records, group: int) -> np.ndarray:
    return records["message"][records["group"] == group]


def _listed(run: Run, rows: list[dict[str, Any]]) -> np.ndarray:
    numbers = [run.names.message(run.names.cell(row.get("cell")), row) for row in rows]
    return np.array(numbers, dtype=np.int64)


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
