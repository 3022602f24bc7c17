"""What went wrong: error records and dead letters, grouped so that the same failure is one line."""

from dataclasses import dataclass
from typing import Any

from report.run import Run
from report.ways import Key

# Long enough to recognise a body, short enough for a phone.
BODY_LENGTH = 200


@dataclass(frozen=True)
class Failure:
    """One kind of failure in one cell.

    `records` is how many error records there are, `messages` of how many messages, `recovered` how many of
    those succeeded in another attempt. `example` is the first error message.
    """

    cell: str
    error_type: str
    records: int
    messages: int
    recovered: int
    example: str


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of one cell, with the start of the first body."""

    cell: str
    messages: int
    example: str


def failures(run: Run) -> list[Failure]:
    """The error records of `run` by cell and error type, the most frequent first within a cell."""
    succeeded = {_message(record) for record in run.downloads}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in run.errors:
        key = (_cell(record), str(record.get("error_type") or "not named"))
        groups.setdefault(key, []).append(record)
    found = []
    for (cell, error_type), records in groups.items():
        messages = {_message(record) for record in records}
        example = str(records[0].get("error_message") or "")
        found.append(Failure(cell, error_type, len(records), len(messages), len(messages & succeeded), example))
    return sorted(found, key=lambda failure: (_order(run, failure.cell), -failure.records, failure.error_type))


def dead_letters(run: Run) -> list[DeadLetters]:
    """The dead letters of `run` by cell."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for letter in run.dead_letters:
        groups.setdefault(_cell(letter), []).append(letter)
    return [
        DeadLetters(cell, len(letters), str(letters[0].get("body") or "")[:BODY_LENGTH])
        for cell, letters in sorted(groups.items(), key=lambda group: _order(run, group[0]))
    ]


def _order(run: Run, cell: str) -> tuple[Key, str]:
    return run.key_of(cell) or Key(0, 0), cell


def _cell(row: dict[str, Any]) -> str:
    return str(row.get("cell") or "not a work order")


def _message(record: dict[str, Any]) -> tuple[Any, Any, Any]:
    # A body that isn't a work order has no cell and no seq; SQS's own id still tells messages apart.
    named = record.get("cell") is not None
    return (record.get("cell"), record.get("seq"), None if named else record.get("message_id"))
