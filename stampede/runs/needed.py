"""What the files of a run must hold for whoever goes on with it: keys, and the kinds of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NotRequired, TypedDict

import msgspec

_WORDS = {str: "a text", int: "a whole number", type(None): "null"}
_MESSAGE: dict[str, tuple[type, ...]] = {"cell": (str,), "seq": (int,)}
_SENT = {**_MESSAGE, "sent_at_ms": (int,)}
# By file, what each of its lines must have, of one of these types.
LINES: dict[str, dict[str, tuple[type, ...]]] = {
    "sent.jsonl": _SENT,
    "unanswered.jsonl": _SENT,
    "records.jsonl": {**_MESSAGE, "status": (str,)},
    # A dead letter that isn't a work order has no coordinates.
    "dead_letters.jsonl": {"cell": (str, type(None)), "seq": (int, type(None)), "message_id": (str,)},
    "failed_objects.jsonl": _MESSAGE,
}


class _Cell(TypedDict):
    cell: str
    values: NotRequired[dict[str, Any]]


class _Description(TypedDict, total=False):
    stampede_version: str
    run_id: str
    experiment: str | None
    target: str
    started_at: str | None
    finished_at: str | None
    plan: dict[str, Any]
    cells: list[_Cell]
    begun: list[str]
    finished: dict[str, Any]
    account: dict[str, Any]
    versions: dict[str, Any]
    prediction: dict[str, Any]


class _Account(TypedDict, total=False):
    cell: str
    sent: int
    succeeded: int
    failed: int
    dead_lettered: int
    unanswered: int
    duplicates: int


_FILES = {"run.json": _Description, "accounting.json": list[_Account]}


def words(kinds: Iterable[type]) -> str:
    """What a value must be."""
    return " or ".join(_WORDS[kind] for kind in kinds)


def fault_of(name: str) -> Callable[[Mapping[str, Any]], str]:
    """What finds the fault in a line of the file `name`: a text, "" where there is none."""
    needed = LINES.get(name, {}).items()

    def fault(row: Mapping[str, Any]) -> str:
        for key, kinds in needed:
            if key not in row:
                return f"{key} is missing"
            if type(row[key]) not in kinds:
                return f"{key} must be {words(kinds)}, got {row[key]!r}"
        return ""

    return fault


def check_file(name: str, value: Any) -> None:
    """Raise ValueError where `value` isn't what the file `name` must hold."""
    if name == "run.json" and value == {}:
        raise ValueError("it is empty")
    check(value, _FILES.get(name, Any))


def check(value: Any, kind: Any) -> Any:
    """`value`, read from JSON, as what `kind` is. Raises ValueError where it isn't that; the text says which part."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        found, _, part = str(error).partition(" - at `$")
        name = part.strip("`.")
        raise ValueError(f"{name}: {found[0].lower()}{found[1:]}" if name else found) from None
