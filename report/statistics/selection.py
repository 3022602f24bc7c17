"""Sorts the records of a run into cells: what counts as a download, what is a duplicate, what ran at all."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from report.run import Run, record_key
from report.ways import Key

Record = Mapping[str, Any]
Message = tuple[Any, ...]


@dataclass
class Cell:
    """The records of one cell, all repeats together.

    `downloads` are the first ok record of each message, `duplicates` the further ones, `errors` the error records;
    none of these is a warm-up.
    """

    key: Key
    downloads: list[Record] = field(default_factory=list)
    duplicates: list[Record] = field(default_factory=list)
    errors: list[Record] = field(default_factory=list)
    warm_ups: list[Record] = field(default_factory=list)
    sent: int | None = None
    repeat_of: Callable[[str], int | None] = lambda cell: None

    @property
    def seconds(self) -> list[float]:
        """The time of each download."""
        return [download["download_time_seconds"] for download in self.downloads]

    def by_repeat(self) -> dict[str, "Cell"]:
        """The cell by cell id, one for each repeat that left a record other than of warm-ups, in order of repeat."""
        parts: dict[str, Cell] = {}
        for name in ("downloads", "duplicates", "errors"):
            for record in getattr(self, name):
                cell = str(record.get("cell") or "no cell named")
                getattr(parts.setdefault(cell, Cell(self.key)), name).append(record)
        return dict(sorted(parts.items(), key=lambda item: (self.repeat_of(item[0]) or 0, item[0])))


def cells(run: Run) -> list[Cell]:
    """Every cell of `run`, planned or seen, sorted by its key. Records without coordinates are in none."""
    found = {key: Cell(key, repeat_of=run.cells.repeat) for key in run.cell_keys()}
    first, further = first_of_each(run.downloads)
    for name, records in (
        ("downloads", first),
        ("duplicates", further),
        ("errors", run.errors),
        ("warm_ups", run.warm_ups),
    ):
        for record in records:
            key = record_key(record)
            if key is not None:
                getattr(found[key], name).append(record)
    messages = sent(run)
    for key, cell in found.items():
        cell.sent = None if messages is None else messages.get(key, 0)
    return [found[key] for key in sorted(found)]


def first_of_each(downloads: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """The first record of each message, in the order of the file, and the further ones."""
    first: dict[Message, Record] = {}
    further = []
    for number, record in enumerate(downloads):
        identity = message(record)
        if identity is None:  # can't be told from another
            identity = ("line", number)
        if identity in first:
            further.append(record)
        else:
            first[identity] = record
    return list(first.values()), further


def message(record: Record) -> Message | None:
    """What identifies the message of a record: cell and seq, or SQS's id when it wasn't a work order."""
    cell, seq, message_id = record.get("cell"), record.get("seq"), record.get("message_id")
    if isinstance(cell, str) and type(seq) is int:
        return cell, seq
    return ("message", message_id) if isinstance(message_id, str) else None


def sent(run: Run) -> dict[Key, int] | None:
    """Messages sent for measurement, by cell; None without sent.jsonl."""
    if run.sent is None:
        return None
    known: dict[str, Key | None] = {}
    messages: dict[Key, set[Any]] = {}
    for row in run.sent:
        cell = row.get("cell")
        if not isinstance(cell, str) or row.get("warm_up") == 1:
            continue
        if cell not in known:
            known[cell] = run.key_of(cell)
        key = known[cell]
        if key is not None:
            messages.setdefault(key, set()).add(message(row))
    return {key: len(found) for key, found in messages.items()}
