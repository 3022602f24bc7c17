"""Records as columns: read once, line by line, without keeping a dictionary of any of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments import Experiment
from stampede.runs.cell_key import LARGEST_WHOLE, Key
from stampede.runs.cell_settings import CellSettings, Difference

# A time of more than 30 years is none.
LONGEST_S = 1e9
UNKNOWN = -1
NO_MESSAGE = -1
NOT_NAMED = "not named"
# Whole numbers that every record has, UNKNOWN where one hasn't.
WHOLE = ("bytes", "started_at_ms", "finished_at_ms", "attempt", "cold_start", "round")
OTHERS = ("key", "cell", "message", "kind", "group")
# A message is its cell's number and its own in one integer; what doesn't fit gets a negative number of its own.
_SEQ_BITS, _LARGEST_SEQ = 40, 2**40 - 1
# A round is the number of its block and its own in one integer.
ROUND_BITS = 32


class Names:
    """What the rows of a run have in common: the names of its cells, and a number for each message. `blocks` are the
    names of the stacks that cells ran on, and `rounds` the last round of each, by its number."""

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.blocks: list[str] = []
        self.rounds: dict[int, int] = {}
        self._numbers: dict[str, int] = {}
        self._others: dict[Any, int] = {}

    def cell(self, name: object) -> int:
        """The number of the cell `name`; UNKNOWN for what can't be one."""
        if not isinstance(name, str) or not name:
            return UNKNOWN
        if name not in self._numbers:
            self._numbers[name] = len(self.cells)
            self.cells.append(name)
        return self._numbers[name]

    def message(self, cell: int, row: Mapping[str, Any]) -> int:
        """What identifies the message of a row: cell and seq, or SQS's id when it wasn't a work order; NO_MESSAGE when
        nothing does."""
        seq, message_id = row.get("seq"), row.get("message_id")
        if cell != UNKNOWN and type(seq) is int:
            return cell << _SEQ_BITS | seq if 0 <= seq <= _LARGEST_SEQ else self._other((cell, seq))
        return self._other(message_id) if isinstance(message_id, str) else NO_MESSAGE

    def _other(self, identity: Any) -> int:
        return -2 - self._others.setdefault(identity, len(self._others))


def distinct(numbers: np.ndarray) -> np.ndarray:
    """The different numbers among these, ascending; np.unique hashes whole numbers, which takes ten times as long."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]


def cells_of(messages: np.ndarray) -> np.ndarray:
    """The number of the cell of each work order, UNKNOWN for other messages."""
    return np.where(messages >= 0, messages >> _SEQ_BITS, UNKNOWN)


class Records:
    """Some records of a run, a column a field.

    `seconds` is the time of one operation and NaN without one, `key` the number of the cell's coordinates among
    `keys`, `cell` that of its id and `message` that of its message among `names`, `kind` that of its error type among
    `kinds`; `unit` is the number of the round of the cells that shared its stack, UNKNOWN where it was in none.
    `examples` has the first message of each error type in each cell.
    """

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        names: Names,
        keys: Sequence[Key],
        kinds: Sequence[str] = (),
        examples: Mapping[tuple[int, int], str] | None = None,
    ) -> None:
        self.columns, self.names, self.keys = columns, names, keys
        self.kinds, self.examples = kinds, examples or {}

    def __len__(self) -> int:
        return len(self.columns["key"])

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def where(self, chosen: np.ndarray) -> Records:
        """Those that a mask or an array of positions picks out; a mask of all picks these, without a copy."""
        if chosen.dtype == bool and chosen.all():
            return self
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return Records(columns, self.names, self.keys, self.kinds, self.examples)

    def plus(self, *others: Records) -> Records:
        """These and others of the same run."""
        added = [records for records in others if len(records)]
        if not added:
            return self
        columns = {}
        for name, column in self.columns.items():
            columns[name] = np.concatenate([column, *(records[name] for records in added)])
        return Records(columns, self.names, self.keys, self.kinds, self.examples)

    def known(self, name: str) -> np.ndarray | None:
        """The column `name`; None when one of the records lacks it, or there is none."""
        column = self.columns.get(name)
        if column is None or not len(column):
            return None
        missing = np.isnan(column) if column.dtype.kind == "f" else column == UNKNOWN
        return None if missing.any() else column

    def by_cell(self) -> dict[Key, Records]:
        """The records by cell, sorted by its key; those without coordinates are in none."""
        return {self.keys[at]: self.where(places) for at, places in _groups(self["key"]) if at != UNKNOWN}

    def by_cell_id(self) -> dict[int, Records]:
        """The records by the number of their cell's id."""
        return {at: self.where(places) for at, places in _groups(self["cell"])}


def _groups(numbers: np.ndarray) -> Iterable[tuple[int, np.ndarray]]:
    """Each number and where it stands, in the order of the numbers; the places ascend."""
    if not len(numbers):
        return ()
    order = np.argsort(numbers, kind="stable")
    distinct_numbers, starts = np.unique(numbers[order], return_index=True)
    return zip(distinct_numbers.tolist(), np.split(order, starts[1:]), strict=True)


class Reader:
    """Takes the rows of records.jsonl one by one; `sorted_out` gives them as columns."""

    def __init__(self, experiment: Experiment, settings: CellSettings, names: Names) -> None:
        self._experiment, self._settings, self._names = experiment, settings, names
        self._fields = ["cell", *(axis.record_field for axis in experiment.axes)]
        self._time = experiment.time_field
        # The fields of metrics beside bytes and time, which have columns of their own.
        figures = [metric.field for metric in experiment.metrics if metric.field not in (self._time, *WHOLE)]
        self._places: dict[tuple[Any, ...], tuple[int, Difference | None]] = {}
        self._keys: dict[Key, int] = {}
        self._kinds: dict[str, int] = {}
        self._examples: dict[tuple[int, int], str] = {}
        self._whole = {name: array("q") for name in (*WHOLE, *OTHERS)}
        self._real = {name: array("d") for name in ("seconds", *figures)}
        # Looked up once: this is done for every record of a million.
        self._to_whole = [(name, self._whole[name].append) for name in WHOLE]
        self._to_real = [(name, self._real[name].append) for name in figures]
        self._to_others = [self._whole[name].append for name in OTHERS]
        self.differences: dict[str, list[Difference]] = {}
        self.sdks: set[str] = set()

    @property
    def needs(self) -> str:
        """What makes a row a record."""
        needed = [axis.record_field for axis in self._experiment.axes if not axis.is_variant]
        return f"status, {', '.join(needed)} and, when ok, {self._time}"

    def add(self, row: Mapping[str, Any]) -> bool:
        """Take a row; False, and it is left out, when it isn't a record."""
        get = row.get
        place, difference = self._place(row)
        status, seconds, own = get("status"), get(self._time), get("warm_up") != 1
        timed = type(seconds) in (int, float) and 0 <= seconds <= LONGEST_S
        if difference is not None:
            if difference not in (of_cell := self.differences.setdefault(str(get("cell")), [])):
                of_cell.append(difference)
            group = {"ok": Group.FOREIGN, "error": Group.FAILED_FOREIGN}.get(str(status), Group.OTHER_FOREIGN)
        elif status == "error":
            group = Group.ERROR if own else Group.FAILED_WARM_UP
        elif status == "ok" and timed and place != UNKNOWN:
            group = Group.OK if own else Group.WARM_UP
        else:
            return False
        if type(sdk := get("sdk")) is str:
            self.sdks.add(sdk)
        self._append(row, place, group, seconds if timed else np.nan)
        return True

    def sorted_out(self) -> dict[int, Records]:
        """The records by Group."""
        columns = {name: np.frombuffer(values, dtype=np.int64) for name, values in self._whole.items()}
        columns |= {name: np.frombuffer(values) for name, values in self._real.items()}
        keys = sorted(self._keys)
        renumbered = np.array([*(keys.index(key) for key in self._keys), UNKNOWN], dtype=np.int64)
        columns["key"] = renumbered[columns["key"]]
        columns["unit"] = self._units(columns["cell"], columns["round"])
        everything = Records(columns, self._names, keys, list(self._kinds), self._examples)
        groups = columns["group"]
        return {group: everything.where(groups == group) for group in Group.ALL}

    def _units(self, cells: np.ndarray, rounds: np.ndarray) -> np.ndarray:
        names = self._names
        labels = [self._settings.block(name) for name in names.cells]
        numbers = {label: at for at, label in enumerate(sorted(set(labels)))}
        names.blocks = list(numbers)
        block_of = np.array([*map(numbers.get, labels), UNKNOWN], dtype=np.int64)[cells]
        is_in_round = (cells != UNKNOWN) & (rounds > 0) & (rounds < 1 << ROUND_BITS)
        for at in np.unique(block_of[is_in_round]).tolist():
            names.rounds[at] = int(rounds[is_in_round & (block_of == at)].max())
        return np.where(is_in_round, block_of << ROUND_BITS | rounds, UNKNOWN)

    def _place(self, row: Mapping[str, Any]) -> tuple[int, Difference | None]:
        """The number of the row's coordinates, and what it says otherwise than its cell."""
        coordinates = tuple(map(row.get, self._fields))
        try:
            known = self._places.get(coordinates)
        except TypeError:  # a list or an object where a name or a number belongs
            return UNKNOWN, None
        if known is None:
            cell, *values = coordinates
            key = Key.of(self._experiment.axes, values, self._settings.others(cell))
            at = UNKNOWN if key is None else self._keys.setdefault(key, len(self._keys))
            known = self._places[coordinates] = at, self._settings.difference(row)
        return known

    def _append(self, row: Mapping[str, Any], place: int, group: int, seconds: float) -> None:
        get = row.get
        for name, append in self._to_whole:
            value = get(name)
            append(value if type(value) is int and 0 <= value < LARGEST_WHOLE else UNKNOWN)
        for name, append in self._to_real:
            value = get(name)
            append(value if type(value) in (int, float) and 0 <= value < LARGEST_WHOLE else np.nan)
        cell = self._names.cell(get("cell"))
        kind = UNKNOWN
        if group in Group.FAILED:
            name = str(get("error_type") or NOT_NAMED)
            kind = self._kinds.setdefault(name, len(self._kinds))
            self._examples.setdefault((cell, kind), str(get("error_message") or ""))
        self._real["seconds"].append(seconds)
        numbers = (place, cell, self._names.message(cell, row), kind, group)
        for append, value in zip(self._to_others, numbers, strict=True):
            append(value)


class Group:
    """What a record counts as: one that is of its own cell and no warm-up, a warm-up, or foreign to its cell."""

    OK, ERROR, WARM_UP, FAILED_WARM_UP, FOREIGN, FAILED_FOREIGN, OTHER_FOREIGN = ALL = range(7)
    FAILED = (ERROR, FAILED_WARM_UP, FAILED_FOREIGN)
