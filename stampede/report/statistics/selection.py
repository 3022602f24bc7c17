"""Sorts the records of a run into cells: what counts, what is a duplicate, what ran at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stampede.cell import Cell
from stampede.experiment import FAILED_RUN
from stampede.report.columns import UNKNOWN, Columns, chosen, count, grouped, none_of, together
from stampede.report.run import Run
from stampede.report.statistics.bootstrap import Sample
from stampede.report.statistics.rounds import sample

NO_CELL = "no cell named"
# The records of a cell that a repeat or a round has a part of.
OWN_KINDS = ("done", "duplicates", "errors", "beside")


@dataclass(frozen=True)
class CellRecords:
    """The records of one cell, all repeats together.

    `done` are the first ok record of each message, `duplicates` the further ones, `errors` the error records; none of
    these is a warm-up. `beside` are the others of the same planned cells, which ran among these: on an axis that only
    records tell, they are in other cells; and what came back of other cells' messages during this one's rounds. `sent`
    counts the messages of all of them, and `succeeded` those of them that did.
    """

    key: Cell
    done: Columns
    duplicates: Columns
    errors: Columns
    warm_ups: Columns
    beside: Columns
    sent: int | None = None
    succeeded: int = 0
    run: Run | None = None

    @property
    def whole(self) -> Columns:
        """Those of `done` whose speed is that of the whole operation: most of its objects didn't fail, and none was
        there already, copied by an earlier delivery of the message."""
        if "planned" not in self.done:
            return self.done
        planned, failed, there = (self.done[name] for name in ("planned", "failed", "already_there"))
        has_failed = (failed > 0) & (planned != UNKNOWN) & (failed >= FAILED_RUN * planned)
        return chosen(self.done, ~((there > 0) | has_failed))

    @property
    def intruders(self) -> int:
        """How many attempts at messages of other planned cells ran during the rounds of this one."""
        return int(self.beside["is_intruder"].sum())

    def sample(self, columns: Columns, values: np.ndarray, label: str) -> Sample:
        """A sample of `values`, one for each of these records of the cell."""
        return sample(columns["unit"], self.run.blocks if self.run else [], values, label)

    def floods(self) -> list[CellRecords]:
        """The cell by what was sent at once: by repeat and round, in their order; whole where it had none."""
        rounds = {kind: getattr(self, kind)["round"].clip(0) for kind in OWN_KINDS}
        numbers = np.unique(np.concatenate([*rounds.values()])).tolist()
        if len(numbers) < 2:
            return [self]
        floods = []
        for number in numbers:
            parts = {kind: chosen(getattr(self, kind), rounds[kind] == number) for kind in OWN_KINDS}
            floods.append(replace(self, **parts))
        return floods

    def by_repeat(self) -> dict[str, CellRecords]:
        """The cell by cell id, one for each repeat that left a record other than of warm-ups, in order of repeat."""
        groups = {kind: grouped(getattr(self, kind), "cell_at") for kind in OWN_KINDS}
        none = none_of(self.warm_ups)
        repeats = {}
        for at in {*groups["done"], *groups["duplicates"], *groups["errors"]}:
            parts = {kind: groups[kind].get(at, none) for kind in OWN_KINDS}
            name = NO_CELL if at == UNKNOWN else self.run.store.cells[at]
            repeats[name] = replace(self, warm_ups=none, **parts)
        repeat_of = self.run.repeat
        return dict(sorted(repeats.items(), key=lambda item: (repeat_of(item[0]) or 0, item[0])))


def cells(run: Run) -> list[CellRecords]:
    """Every cell of `run`, planned or seen, sorted by its key. Records without coordinates are in none."""
    everything = chosen(run.operations, ~run.operations["is_warm_up"])
    succeeded = everything["is_first_success"] & (everything["seq"] != UNKNOWN)
    successes = np.bincount(everything["cell_at"][succeeded & (everything["cell_at"] != UNKNOWN)])
    own, warm_ups = grouped(everything, "place_at"), grouped(_warm_ups(run), "place_at")
    if count(intruders := _intruders(everything)):
        everything = together(everything, intruders)
    own.pop(UNKNOWN, None)
    numbers = run.store.numbers
    warm_ups.pop(UNKNOWN, None)
    planned, none, place_at, found = _planned(run), none_of(everything), everything["place_at"], []
    for key in run.cell_keys():
        at = numbers.get(key, UNKNOWN)
        ids = [numbers[name] for name in planned.get(key, ()) if name in numbers]
        part = own.get(at, none)
        is_first, is_error = part["is_first_success"], part["is_error"]
        is_beside = np.isin(everything["cell_at"], ids) & (place_at != at) & (place_at != UNKNOWN)
        found.append(
            CellRecords(
                key,
                chosen(part, is_first),
                chosen(part, ~is_first & ~is_error),
                chosen(part, is_error),
                warm_ups.get(at, none),
                beside=chosen(everything, is_beside),
                sent=None if run.sent is None else sum(run.sent.get(name, (0,))[0] for name in planned.get(key, ())),
                succeeded=int(sum(successes[at] for at in ids if at < len(successes))),
                run=run,
            )
        )
    return found


def _warm_ups(run: Run) -> Columns:
    return chosen(run.operations, run.operations["is_warm_up"])


def _planned(run: Run) -> dict[Cell, set[str]]:
    """The ids of the planned cells of each cell: those that its records name, else the plan."""
    planned: dict[Cell, set[str]] = {}
    for name, key in run.keys_of_names():
        planned.setdefault(key, set()).add(name)
    return planned


def _intruders(everything: Columns) -> Columns:
    """Attempts at messages that came back while another cell had its round, as records of that cell and round."""
    cell_at, started, ended, rounds = (
        everything[name] for name in ("cell_at", "started_at_ms", "finished_at_ms", "round")
    )
    in_round = (rounds > 0) & (started != UNKNOWN) & (cell_at != UNKNOWN)
    late = np.flatnonzero(in_round & (everything["attempt"] > 1))
    overlaps: list[tuple[int, int, int]] = []
    if len(late):
        on_time = chosen(everything, in_round & (everything["attempt"] == 1))
        for cell, part in grouped(on_time, "cell_at").items():
            for number, own in grouped(part, "round").items():
                meets = (started[late] < own["finished_at_ms"].max()) & (ended[late] > own["started_at_ms"].min())
                overlaps += [(at, cell, number) for at in late[meets & (cell_at[late] != cell)].tolist()]
    rows, cells, numbers = np.array(overlaps, dtype=np.int64).reshape(-1, 3).T
    moved = {"cell_at": cells, "round": numbers, "is_intruder": np.ones(len(rows), dtype=bool)}
    return {**chosen(everything, rows), **moved}
