"""Where every object went, for records that account for objects: planned = copied + already there + failed."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stampede.cell import Cell
from stampede.phrases import counted
from stampede.report.accounting import unfinished_messages
from stampede.report.columns import Columns, count, known, together
from stampede.report.run import Run
from stampede.report.statistics.selection import CellRecords, cells
from stampede.runs import stored_json
from stampede.runs.account import OBJECT_COUNTS as COUNTS
from stampede.runs.failed_objects import FAILED_OBJECTS

NOT_NAMED = "no type"
_COUNTING = "SELECT cell, seq, coalesce(attempt, -1), place_at FROM operations WHERE is_first_success AND failed > 0"


@dataclass(frozen=True)
class CellObjects:
    """One cell. `counts` are those of COUNTS, from the first successful record of each message, None where a record
    doesn't say one; `again` are copies of messages that were delivered once more, `open` messages that never came to
    their end, whose objects nobody has accounted for; `once` is whether each left one success and nothing is open, so
    that whoever counts finds the same. `per_s` is what all workers copied a second, from the first start to the last
    end; None with one worker."""

    key: Cell
    counts: dict[str, int | None]
    again: int
    open: int
    once: bool
    per_s: float | None

    @property
    def missing(self) -> int | None:
        """Planned objects of which nothing is known; below 0 where more is known than was planned."""
        planned, *accounted_for = (self.counts[name] for name in COUNTS)
        return None if planned is None or None in accounted_for else planned - sum(accounted_for)


@dataclass
class Reason:
    """Failed objects of one cell and error type, and the first of them."""

    key: Cell
    error_type: str
    count: int = 0
    example: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failures:
    """The rows of failed_objects.jsonl: by reason those of the records that count, most first; `earlier` are those of
    attempts after which the message came back, or that left no record. `there` is whether there is such a file."""

    reasons: list[Reason]
    earlier: int
    there: bool
    unreadable: int


def of_cells(run: Run) -> list[CellObjects]:
    """Every cell that was planned or seen."""
    failed = {run.store.places[at]: many for at, many in unfinished_messages(run).items() if at is not None}
    return [_of_cell(cell, failed.get(cell.key, 0)) for cell in cells(run)]


def _of_cell(cell: CellRecords, failed: int) -> CellObjects:
    counts = {name: _sum(cell.done, name) for name in COUNTS}
    rates = [_together(flood) for repeat in cell.by_repeat().values() for flood in repeat.floods()]
    known = [rate for rate in rates if rate is not None] if cell.key.n > 1 else []
    # Some leave no record at all: of a host that was killed, or of log lines that got lost.
    unfinished = max(failed, (cell.sent or 0) - count(cell.done))
    return CellObjects(
        cell.key,
        counts,
        _sum(cell.duplicates, "copied") or 0,
        unfinished,
        not unfinished and not count(cell.duplicates),
        sum(known) / len(known) if known else None,
    )


def differences(run: Run, cell_objects: list[CellObjects]) -> list[str]:
    """Where accounting.json and the records disagree, in sentences; it counts what an unfinished message did, and
    earlier versions took the last success of one, so cells with such aren't compared."""
    stored: dict[Cell, Counter[str]] = {}
    for row in run.accounting or ():
        if (key := run.key_of(str(row.get("cell")))) and isinstance(account := row.get("objects"), dict):
            known = {name: account[name] for name in COUNTS if type(account.get(name)) is int}
            stored.setdefault(key, Counter()).update(known)
    sentences = []
    for cell in cell_objects:
        account = stored.get(cell.key, {}) if cell.once else {}
        for name in COUNTS:
            if cell.counts[name] is not None and name in account and account[name] != cell.counts[name]:
                sentences.append(
                    f"{cell.key.words}: accounting.json has {name.replace('_', ' ')} = "
                    f"{counted(account[name], 'object')}, but the records have {cell.counts[name]:,}."
                )
    return sentences


def _sum(records: Columns, name: str) -> int | None:
    if not count(records):
        return 0
    values = known(records, name)
    return None if values is None else int(values.sum())


def _together(cell: CellRecords) -> float | None:
    """Copied a second by all workers of one repeat, whichever delivery of a message did it; None where a delivery that
    copied left no record, so that nobody knows when it began."""
    everything = together(cell.done, cell.duplicates, cell.errors)
    starts, ends = (known(everything, name) for name in ("started_at_ms", "finished_at_ms"))
    planned, failed = _sum(cell.done, "planned"), _sum(cell.done, "failed")
    if starts is None or ends is None or planned is None or failed is None:
        return None
    total = float(everything["copied"].clip(0).sum())
    if total < planned - failed or ends.max() <= starts.min():
        return None
    return total / (int(ends.max()) - int(starts.min())) * 1000


def failures(run: Run) -> Failures:
    """Read failed_objects.jsonl row by row: it may have millions."""
    path = run.directory / FAILED_OBJECTS
    if not path.exists():
        return Failures([], 0, False, 0)
    # By message: the attempt that counts, and its cell.
    counting = {
        f"{seq} of {cell}": (attempt, run.store.places[at]) for cell, seq, attempt, at in run.store.rows(_COUNTING)
    }
    reasons: dict[tuple[Cell, str], Reason] = {}
    earlier, warnings = 0, list[str]()
    for _, row in stored_json.rows(path, warnings):
        attempt, key = counting.get(f"{row.get('seq')} of {row.get('cell')}", (None, None))
        if key is None or attempt != row.get("attempt"):
            earlier += 1
            continue
        kind = str(row.get("error_type") or NOT_NAMED)
        reason = reasons.setdefault((key, kind), Reason(key, kind, example=row))
        reason.count += 1
    ordered = sorted(reasons.values(), key=lambda reason: (reason.key, -reason.count))
    return Failures(ordered, earlier, True, len(warnings))
