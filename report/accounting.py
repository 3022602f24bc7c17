"""Where every message went: sent = succeeded + failed + dead-lettered, duplicates counted apart."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from report.run import Run
from report.ways import Key

COUNTS = ("sent", "succeeded", "failed", "dead_lettered", "duplicates", "unaccounted", "unexpected")


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
    rows = sorted(map(_whole, run.accounting), key=partial(_order, run))
    return AccountBook(
        rows=rows, stored=True, problems=_problems(run, rows) + _differences(run, run.accounting, counted)
    )


def recounted(run: Run) -> list[dict[str, Any]]:
    """Count each cell from sent, records and dead letters. [] without sent.jsonl.

    A message that succeeded at last has succeeded, whatever came before; a message in the dead-letter queue
    that never succeeded is dead-lettered; one with nothing but error records has failed. Duplicates are ok
    records beyond the first of a message; unexpected are messages with a record that were never confirmed as
    sent. Warm-up messages count like all others.
    """
    if run.sent is None:
        return []
    sent, dead = _messages(run.sent), _messages(run.dead_letters)
    others = run.warm_ups + run.foreign
    good_records = run.downloads + [record for record in others if record.get("status") == "ok"]
    bad_records = run.errors + [record for record in others if record.get("status") == "error"]
    succeeded, failed = _messages(good_records), _messages(bad_records)
    extra = Counter(record.get("cell") for record in good_records)
    rows = []
    for cell in sorted(sent, key=lambda cell: _order(run, {"cell": cell})):
        good = succeeded[cell] & sent[cell]
        lost = (dead[cell] & sent[cell]) - good
        bad = (failed[cell] & sent[cell]) - good - lost
        recorded = succeeded[cell] | failed[cell]
        rows.append(
            {
                "cell": cell,
                "sent": len(sent[cell]),
                "succeeded": len(good),
                "failed": len(bad),
                "dead_lettered": len(lost),
                "duplicates": extra[cell] - len(succeeded[cell]),
                "unaccounted": len(sent[cell] - good - bad - lost),
                "unexpected": len(recorded - sent[cell]),
            }
        )
    return rows


def _messages(rows: Iterable[dict[str, Any]]) -> defaultdict[str, set[Any]]:
    by_cell: defaultdict[str, set[Any]] = defaultdict(set)
    for row in rows:
        if isinstance(row.get("cell"), str):
            by_cell[row["cell"]].add(row.get("seq"))
    return by_cell


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    counts = {name: row.get(name) if type(row.get(name)) is int else 0 for name in COUNTS}
    return {"cell": str(row.get("cell"))} | counts


def _order(run: Run, row: dict[str, Any]) -> tuple[Any, str]:
    return run.key_of(row["cell"]) or Key(0, 0), row["cell"]


def _problems(run: Run, rows: list[dict[str, Any]]) -> list[str]:
    found = []
    foreign = Counter(str(record.get("cell")) for record in run.foreign)
    for cell, count in foreign.items():
        why = next(run.cells.difference(record) for record in run.foreign if str(record.get("cell")) == cell)
        found.append(f"{run.cell_words(cell)}: {count} records ran under other settings ({why}) and are in no figure.")
    for row in rows:
        known = row["succeeded"] + row["failed"] + row["dead_lettered"]
        cell = run.cell_words(row["cell"])
        if row["unaccounted"]:
            found.append(f"{cell}: {row['unaccounted']} of {row['sent']} messages are unaccounted for.")
        elif row["sent"] != known:
            found.append(
                f"{cell}: {row['sent']} sent, but succeeded + failed + dead-lettered is {known}, "
                "and nothing is called unaccounted."
            )
    return found


def _differences(run: Run, stored: list[dict[str, Any]], counted: list[dict[str, Any]]) -> list[str]:
    """Where accounting.json and the other files disagree; a count that it lacks is no disagreement."""
    again = {row["cell"]: row for row in counted}
    return [
        f"{run.cell_words(row['cell'])}: accounting.json says {name} = {row[name]}, "
        f"counted again from the other files it is {again[row['cell']][name]}."
        for row in stored
        if row.get("cell") in again
        for name in COUNTS
        if name in row and row[name] != again[row["cell"]][name]
    ]
