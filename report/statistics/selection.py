"""Sorts the records of a run into cells: what counts, what is a duplicate, what ran at all."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from experiments.experiment import FAILED_RUN
from report.cell_key import Key
from report.records import NO_MESSAGE, UNKNOWN, Records
from report.run import Run

NO_CELL = "no cell named"


@dataclass(frozen=True)
class Cell:
    """The records of one cell, all repeats together.

    `done` are the first ok record of each message, `duplicates` the further ones, `errors` the error records; none of
    these is a warm-up.
    """

    key: Key
    done: Records
    duplicates: Records
    errors: Records
    warm_ups: Records
    sent: int | None = None
    repeat_of: Callable[[str], int | None] = lambda cell: None

    @property
    def whole(self) -> Records:
        """Those of `done` whose speed is that of the whole operation: most of its objects didn't fail, and none was
        there already, copied by an earlier delivery of the message."""
        planned, failed, there = (self.done.columns.get(name) for name in ("planned", "failed", "already_there"))
        if planned is None or failed is None or there is None:
            return self.done
        # A run without objects has no failed ones; what isn't known (NaN) leaves nothing out.
        return self.done.where(~((there > 0) | ((failed > 0) & (failed >= FAILED_RUN * planned))))

    def by_repeat(self) -> dict[str, "Cell"]:
        """The cell by cell id, one for each repeat that left a record other than of warm-ups, in order of repeat."""
        kinds = ("done", "duplicates", "errors")
        groups = {kind: getattr(self, kind).by_cell_id() for kind in kinds}
        none = self.warm_ups.where(np.array([], dtype=np.int64))
        parts = {
            NO_CELL if at == UNKNOWN else self.done.names.cells[at]: replace(
                self, warm_ups=none, **{kind: groups[kind].get(at, none) for kind in kinds}
            )
            for at in {at for found in groups.values() for at in found}
        }
        return dict(sorted(parts.items(), key=lambda item: (self.repeat_of(item[0]) or 0, item[0])))


def cells(run: Run) -> list[Cell]:
    """Every cell of `run`, planned or seen, sorted by its key. Records without coordinates are in none."""
    first, further = first_of_each(run.done)
    kinds = (first, further, run.errors, run.warm_ups)
    groups = [records.by_cell() for records in kinds]
    messages = sent(run)
    none = run.done.where(np.array([], dtype=np.int64))
    return [
        Cell(
            key,
            *(group.get(key, none) for group in groups),
            sent=None if messages is None else messages.get(key, 0),
            repeat_of=run.cells.repeat,
        )
        for key in run.cell_keys()
    ]


def first_of_each(records: Records) -> tuple[Records, Records]:
    """The first record of each message, in the order of the file, and the further ones; one whose message isn't known
    can't be told from another."""
    messages = records["message"]
    first = np.zeros(len(records), dtype=bool)
    first[np.unique(messages, return_index=True)[1]] = True
    first |= messages == NO_MESSAGE
    return records.where(first), records.where(~first)


def sent(run: Run) -> dict[Key, int] | None:
    """Messages sent for measurement, by cell; None without sent.jsonl."""
    if run.sent is None:
        return None
    mine = ~run.sent.warm_up & (run.sent.cell != UNKNOWN)
    first = np.unique(run.sent.message[mine], return_index=True)[1]
    counts: dict[Key, int] = {}
    for at, count in enumerate(np.bincount(run.sent.cell[mine][first]).tolist()):
        key = run.key_of(run.names.cells[at]) if count else None
        if key is not None:
            counts[key] = counts.get(key, 0) + count
    return counts
