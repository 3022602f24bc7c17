"""Sorts the records of a run into cells: what counts, what is a duplicate, what ran at all."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stampede.experiment.declaration import FAILED_RUN
from stampede.runs.cell_key import Key
from stampede.runs.records import NO_MESSAGE, UNKNOWN, Records, cells_of, distinct
from stampede.runs.run import Run

NO_CELL = "no cell named"
# The records of a cell that a repeat or a round has a part of.
OWN_KINDS = ("done", "duplicates", "errors", "beside")


@dataclass(frozen=True)
class Cell:
    """The records of one cell, all repeats together.

    `done` are the first ok record of each message, `duplicates` the further ones, `errors` the error records; none of
    these is a warm-up. `beside` are the others of the same planned cells, which ran among these: on an axis that only
    records tell, they are in other cells; and what came back of other cells' messages during this one's rounds. `sent`
    counts the messages of all of them.
    """

    key: Key
    done: Records
    duplicates: Records
    errors: Records
    warm_ups: Records
    beside: Records
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

    @property
    def intruders(self) -> int:
        """How many attempts at messages of other planned cells ran during the rounds of this one."""
        planned = cells_of(self.beside["message"])
        return int(((planned != self.beside["cell"]) & (planned != UNKNOWN)).sum())

    def floods(self) -> list["Cell"]:
        """The cell by what was sent at once: by repeat and round, in their order; whole where it had none."""
        rounds = {kind: getattr(self, kind)["round"].clip(0) for kind in OWN_KINDS}
        numbers = np.unique(np.concatenate([*rounds.values()])).tolist()
        if len(numbers) < 2:
            return [self]
        floods = []
        for number in numbers:
            parts = {kind: getattr(self, kind).where(rounds[kind] == number) for kind in OWN_KINDS}
            floods.append(replace(self, **parts))
        return floods

    def by_repeat(self) -> dict[str, "Cell"]:
        """The cell by cell id, one for each repeat that left a record other than of warm-ups, in order of repeat."""
        groups = {kind: getattr(self, kind).by_cell_id() for kind in OWN_KINDS}
        none = self.warm_ups.where(np.array([], dtype=np.int64))
        repeats = {}
        for at in {*groups["done"], *groups["duplicates"], *groups["errors"]}:
            parts = {kind: groups[kind].get(at, none) for kind in OWN_KINDS}
            name = NO_CELL if at == UNKNOWN else self.done.names.cells[at]
            repeats[name] = replace(self, warm_ups=none, **parts)
        return dict(sorted(repeats.items(), key=lambda item: (self.repeat_of(item[0]) or 0, item[0])))


def cells(run: Run) -> list[Cell]:
    """Every cell of `run`, planned or seen, sorted by its key. Records without coordinates are in none."""
    first, further = first_of_each(run.done)
    kinds = (first, further, run.errors, run.warm_ups)
    groups = [records.by_cell() for records in kinds]
    everything = first.plus(further, run.errors)
    if len(intruders := _intruders(everything)):
        everything = everything.plus(intruders)
    ids, messages = _planned(run), sent(run)
    none = run.done.where(np.array([], dtype=np.int64))
    return [
        Cell(
            key,
            *(group.get(key, none) for group in groups),
            beside=_beside(everything, key, ids.get(key, set())),
            sent=None if messages is None else sum(messages.get(at, 0) for at in ids.get(key, ())),
            repeat_of=run.cells.repeat,
        )
        for key in run.cell_keys()
    ]


def _planned(run: Run) -> dict[Key, set[int]]:
    """The numbers of the ids of the planned cells of each cell: those that its records name, else the plan."""
    planned: dict[Key, set[int]] = {}
    for records in (run.done, run.errors, run.warm_ups):
        known = (records["cell"] != UNKNOWN) & (records["key"] != UNKNOWN)
        for pair in distinct(records["key"][known] << 32 | records["cell"][known]).tolist():
            planned.setdefault(records.keys[pair >> 32], set()).add(pair & 0xFFFFFFFF)
    for at, name in enumerate(run.names.cells):
        if (key := run.key_of(name)) is not None:
            planned.setdefault(key, set()).add(at)
    return planned


def _beside(records: Records, key: Key, ids: set[int]) -> Records:
    """The records of these planned cells that are in another cell."""
    own = records.keys.index(key) if key in records.keys else UNKNOWN
    return records.where(np.isin(records["cell"], list(ids)) & (records["key"] != own) & (records["key"] != UNKNOWN))


def _intruders(records: Records) -> Records:
    """Attempts at messages that came back while another cell had its round, as records of that cell and round."""
    started, ended, rounds = (records[name] for name in ("started_at_ms", "finished_at_ms", "round"))
    in_round = (rounds > 0) & (started != UNKNOWN) & (records["cell"] != UNKNOWN)
    late = np.flatnonzero(in_round & (records["attempt"] > 1))
    overlaps: list[tuple[int, int, int]] = []
    if len(late):
        on_time = records.where(in_round & (records["attempt"] == 1))
        for cell, part in on_time.by_cell_id().items():
            for number in np.unique(part["round"]).tolist():
                own = part.where(part["round"] == number)
                meets = (started[late] < own["finished_at_ms"].max()) & (ended[late] > own["started_at_ms"].min())
                overlaps += [(at, cell, number) for at in late[meets & (records["cell"][late] != cell)].tolist()]
    rows, cells, numbers = np.array(overlaps, dtype=np.int64).reshape(-1, 3).T
    moved = records.where(rows)
    moved.columns = {**moved.columns, "cell": cells, "round": numbers}
    return moved


def first_of_each(records: Records) -> tuple[Records, Records]:
    """The first record of each message, in the order of the file, and the further ones; one whose message isn't known
    can't be told from another."""
    messages = records["message"]
    first = np.zeros(len(records), dtype=bool)
    first[np.unique(messages, return_index=True)[1]] = True
    first |= messages == NO_MESSAGE
    return records.where(first), records.where(~first)


def sent(run: Run) -> dict[int, int] | None:
    """Messages sent for measurement, by the number of their cell's id; None without sent.jsonl."""
    if run.sent is None:
        return None
    mine = ~run.sent.warm_up & (run.sent.cell != UNKNOWN)
    first = np.unique(run.sent.message[mine], return_index=True)[1]
    return {at: count for at, count in enumerate(np.bincount(run.sent.cell[mine][first]).tolist()) if count}
