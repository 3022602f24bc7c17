"""Where every message went: sent = succeeded + failed + dead-lettered + unanswered, duplicates counted apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stampede.runs.records import Group, Records, cells_of, distinct
from stampede.runs.run import Run

COUNTS = ("sent", "succeeded", "failed", "dead_lettered", "duplicates", "unaccounted", "unexpected", "unanswered")


@dataclass(frozen=True)
class AccountBook:
    """Rows {cell, and COUNTS}, whether they come from accounting.json, and what doesn't add up, in sentences."""

    rows: list[dict[str, Any]]
    stored: bool
    problems: list[str]

    @property
    def totals(self) -> dict[str, int]:
        return {name: sum(row[name] for row in self.rows) for name in COUNTS}


def account_book(run: Run) -> AccountBook:
    """The accounting of `run`: accounting.json, or the same counted from the other files when it's missing."""
    counted = recounted(run)
    if run.accounting is None:
        return AccountBook(rows=counted, stored=False, problems=_problems(run, counted))
    rows = sorted(map(_whole, run.accounting), key=lambda row: run.order(row["cell"]))
    return AccountBook(
        rows=rows, stored=True, problems=_problems(run, rows) + _differences(run, run.accounting, counted)
    )


def recounted(run: Run) -> list[dict[str, Any]]:
    """Count each cell from sent, records and dead letters. [] without sent.jsonl.

    A message that succeeded at last has succeeded, whatever came before; a message in the dead-letter queue
    that never succeeded is dead-lettered; one with nothing but error records has failed. Duplicates are ok
    records beyond the first of a message; unexpected are messages with a record that were never confirmed as
    sent; unanswered left no trace, and were in flight when a drain ended early. Warm-up messages count like all others.
    """
    if run.sent is None:
        return []
    sent = _messages(run.sent.message)
    good_records = np.concatenate(
        [run.done["message"], _of(run.warm_ups, Group.WARM_UP), _of(run.foreign, Group.FOREIGN)]
    )
    bad_records = np.concatenate(
        [run.errors["message"], _of(run.warm_ups, Group.FAILED_WARM_UP), _of(run.foreign, Group.FAILED_FOREIGN)]
    )
    succeeded, failed, dead = _messages(good_records), _messages(bad_records), _listed(run, run.dead_letters)
    good = _both(succeeded, sent)
    lost = _without(_both(dead, sent), good)
    bad = _without(_without(_both(failed, sent), good), lost)
    left = _without(sent, np.concatenate([good, bad, lost]))
    unanswered = _both(left, _listed(run, run.unanswered))
    parts = {
        "sent": sent,
        "succeeded": good,
        "failed": bad,
        "dead_lettered": lost,
        "unaccounted": _without(left, unanswered),
        "unanswered": unanswered,
        "unexpected": _without(distinct(np.concatenate([succeeded, failed])), sent),
    }
    size = len(run.names.cells)
    counts = {name: np.bincount(cells_of(messages), minlength=size) for name, messages in parts.items()}
    orders = good_records[good_records >= 0]
    counts["duplicates"] = np.bincount(cells_of(orders), minlength=size) - np.bincount(
        cells_of(succeeded), minlength=size
    )
    cells = [at for at in range(size) if counts["sent"][at]]
    rows = [{"cell": run.names.cells[at]} | {name: int(counts[name][at]) for name in COUNTS} for at in cells]
    return sorted(rows, key=lambda row: run.order(row["cell"]))


def _messages(messages: np.ndarray) -> np.ndarray:
    """Each work order once; what isn't a work order has no cell to be counted in."""
    return distinct(messages[messages >= 0])


def _both(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.intersect1d(some, others, assume_unique=True)


def _without(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.setdiff1d(some, others, assume_unique=True)


def _of(records: Records, group: int) -> np.ndarray:
    return records["message"][records["group"] == group]


def _listed(run: Run, listed: list[dict[str, Any]]) -> np.ndarray:
    rows = ((run.names.cell(row.get("cell")), row) for row in listed)
    return _messages(np.array([run.names.message(cell, row) for cell, row in rows], dtype=np.int64))


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    counts = {name: row.get(name) if type(row.get(name)) is int else 0 for name in COUNTS}
    return {"cell": str(row.get("cell"))} | counts


def _problems(run: Run, rows: list[dict[str, Any]]) -> list[str]:
    found = []
    for at, records in run.foreign.by_cell_id().items():
        cell = run.names.cells[at]
        found.append(
            f"{run.cell_words(cell)}: {len(records)} records come from other settings ({run.differences[cell][0]}) "
            "and are left out of all figures."
        )
    for row in rows:
        known = row["succeeded"] + row["failed"] + row["dead_lettered"] + row["unanswered"]
        cell = run.cell_words(row["cell"])
        if row["unaccounted"]:
            found.append(f"{cell}: {row['unaccounted']} of {row['sent']} messages are unaccounted for.")
        elif row["sent"] != known:
            found.append(
                f"{cell}: {row['sent']} sent, but succeeded + failed + dead-lettered + unanswered is {known}, "
                "and no message is listed as unaccounted for."
            )
    return found


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
