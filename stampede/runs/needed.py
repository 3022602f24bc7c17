"""What the files of a run must hold for whoever goes on with it: keys, and the kinds of their values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, TypedDict

import msgspec

_WORDS = {str: "a text", int: "a whole number", type(None): "null"}


class Line:
    """What each line of a file must have."""

    def __init__(self, **kinds: tuple[type, ...]) -> None:
        """The keys, and the types that the value of each may have."""
        self._kinds = kinds
        # Looked up once: this is done for every line of a million.
        self._values, self._right = itemgetter(*kinds), set(itertools.product(*kinds.values()))

    def fault(self, row: Mapping[str, Any]) -> str:
        """What is wrong with a line; "" where nothing is."""
        try:
            kinds = tuple(map(type, self._values(row)))
        except KeyError:
            kinds = ()
        if kinds in self._right:
            return ""
        name = next(name for name, kinds in self._kinds.items() if name not in row or type(row[name]) not in kinds)
        wanted = " or ".join(_WORDS[kind] for kind in self._kinds[name])
        return f"{name} must be {wanted}, got {row[name]!r}" if name in row else f"{name} is missing"


_SENT = Line(cell=(str,), seq=(int,), sent_at_ms=(int,))
_LINES = {
    "sent.jsonl": _SENT,
    "unanswered.jsonl": _SENT,
    "records.jsonl": Line(cell=(str,), seq=(int,), status=(str,)),
    # A dead letter that isn't a work order has no coordinates.
    "dead_letters.jsonl": Line(cell=(str, type(None)), seq=(int, type(None)), message_id=(str,)),
}


class _Cell(TypedDict):
    cell: str


class _Plan(TypedDict, total=False):
    paths: dict[str, dict[str, str]]


class _Description(TypedDict, total=False):
    stampede_version: str
    run_id: str
    experiment: str | None
    target: str
    started_at: str | None
    finished_at: str | None
    plan: _Plan
    cells: list[_Cell]
    settings: dict[str, dict[str, Any]]
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


def fault_of(name: str) -> Callable[[Mapping[str, Any]], str]:
    """What finds the fault in a line of the file `name`: a text, "" where there is none."""
    return _LINES[name].fault if name in _LINES else lambda row: ""


def check_file(name: str, value: Any) -> None:
    """Raise ValueError where `value` isn't what the file `name` must hold."""
    if name == "run.json" and value == {}:
        raise ValueError("it is empty")
    check(value, _FILES.get(name, Any))


def check(value: Any, kind: Any) -> None:
    """Raise ValueError where `value`, read from JSON, isn't of the `kind`; the text says which part of it."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        found, _, part = str(error).partition(" - at `$")
        name = part.strip("`.")
        raise ValueError(f"{name}: {found[0].lower()}{found[1:]}" if name else found) from None
