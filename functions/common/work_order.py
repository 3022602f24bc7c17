"""A work order: the JSON body of one message, parsed strictly.

An experiment adds its own keys to the common ones.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from common.failures import Failure

# 2^53 - 1: JSON readers that use doubles (Logs Insights, browsers) would change larger values.
LARGEST_INTEGER = 2**53 - 1
LONGEST_NAME_CHARACTERS = 256


class WorkOrderError(Failure):
    """The body isn't a work order. The message is one line with key, rule and value."""


@dataclass(frozen=True)
class WorkOrder:
    """The common keys of work orders.

    `start_at_ms` (epoch ms) delays the timed part; None: no delay. `round` is the round of the
    sweep, from 1; 0: none.
    """

    run_id: str
    cell: str
    seq: int
    start_at_ms: int | None = None
    round: int = 0


Order = TypeVar("Order", bound=WorkOrder)
# Takes a key and its JSON value and returns the order's value; raises WorkOrderError.
Parser = Callable[[str, Any], Any]


def parse_work_order(body: str, make: type[Order], own: Mapping[str, Parser]) -> Order:
    """Parse the body of a message into `make`, a dataclass with the common keys and those of `own`.

    Fields without a default are required keys. Raises WorkOrderError for anything but one JSON
    object with known keys: an ignored parameter would falsify a measurement.
    """
    parsers = _COMMON | own
    values = _parse_object(body)
    required = [field.name for field in fields(make) if field.default is MISSING]
    missing = [key for key in required if key not in values]
    if missing:
        raise WorkOrderError(
            f"the message lacks the key {missing[0]}: it needs {', '.join(required)}"
        )
    unknown = [key for key in values if key not in parsers]
    if unknown:
        raise WorkOrderError(
            f"the message has the unknown key {quote(unknown[0])}: known are {', '.join(parsers)}"
        )
    return make(**{key: parse(key, values[key]) for key, parse in parsers.items() if key in values})


def _parse_object(body: str) -> dict[str, Any]:
    try:
        values = json.loads(body, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        # also for an integer of more than 4,300 digits, or nesting deeper than the stack
        raise WorkOrderError(f"the message body isn't JSON: {quote(str(error))}") from None
    if not isinstance(values, dict):
        raise WorkOrderError(f"the message body must be a JSON object, not {quote(values)}")
    return values


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise WorkOrderError(f"the message has the key {quote(key)} twice")
        values[key] = value
    return values


def name(key: str, value: Any) -> str:
    """Return a short name; raises WorkOrderError."""
    if (
        not isinstance(value, str)
        or not value.isprintable()
        or not 1 <= len(value) <= LONGEST_NAME_CHARACTERS
    ):
        raise WorkOrderError(
            f"{key} must be text of 1 to {LONGEST_NAME_CHARACTERS} printable characters, not "
            f"{quote(value)}"
        )
    return value


def whole_number(key: str, value: Any) -> int:
    """Return a whole number from 0 to LARGEST_INTEGER; raises WorkOrderError."""
    # bool is an int in Python: true must not pass as 1.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_INTEGER:
        raise WorkOrderError(
            f"{key} must be a whole number from 0 to {LARGEST_INTEGER}, not {quote(value)}"
        )
    return value


def flag(key: str, value: Any) -> int:
    """Return 0 or 1; raises WorkOrderError."""
    if type(value) is not int or value not in (0, 1):  # neither true nor 1.0
        raise WorkOrderError(f"{key} must be 0 or 1, not {quote(value)}")
    return value


def quote(value: Any) -> str:
    """Show a foreign value on one line: ascii() escapes line breaks and unprintable characters."""
    shown = ascii(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


_COMMON: dict[str, Parser] = {
    "run_id": name,
    "cell": name,
    "seq": whole_number,
    "start_at_ms": whole_number,
    "round": whole_number,
}
