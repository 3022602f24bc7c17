"""A work order: the JSON body of one message, parsed strictly."""

import json
from dataclasses import dataclass
from typing import Any

from checksum import Checksum, parse_checksum
from failures import Failure

# 2^53 - 1: above it a JSON reader that holds numbers as doubles (Logs Insights, browsers) would change the
# value.
LARGEST_INTEGER = 2**53 - 1
LONGEST_NAME_CHARACTERS = 256
_REQUIRED = ("run_id", "cell", "seq")
_OPTIONAL = ("start_at_ms", "object_bytes", "warm_up", "checksum")


class WorkOrderError(Failure):
    """The body isn't a work order; the message is one line naming the key, the rule and what was there."""


@dataclass(frozen=True)
class WorkOrder:
    """One download to do.

    `start_at_ms` (epoch ms) holds the timed part back until then; `object_bytes` is the size that the object
    must have, `checksum` what its bytes must have. They are None when the order leaves them out. `warm_up` 1 marks a
    download that no figure counts.
    """

    run_id: str
    cell: str
    seq: int
    start_at_ms: int | None = None
    object_bytes: int | None = None
    warm_up: int = 0
    checksum: Checksum | None = None


def parse_work_order(body: str) -> WorkOrder:
    """Parse the body of a message.

    Raises WorkOrderError for anything but one JSON object with exactly the known keys: an unknown key is
    refused, because a parameter that is ignored would be measured as something that it isn't.
    """
    values = _parse_object(body)
    missing = [key for key in _REQUIRED if key not in values]
    if missing:
        raise WorkOrderError(f"the work order lacks {missing[0]}: it needs {', '.join(_REQUIRED)}")
    unknown = [key for key in values if key not in _REQUIRED + _OPTIONAL]
    if unknown:
        known = ", ".join(_REQUIRED + _OPTIONAL)
        raise WorkOrderError(f"the work order has the unknown key {_quote(unknown[0])}: known are {known}")
    return WorkOrder(
        run_id=_name(values, "run_id"),
        cell=_name(values, "cell"),
        seq=_integer(values, "seq"),
        start_at_ms=_integer(values, "start_at_ms") if "start_at_ms" in values else None,
        object_bytes=_integer(values, "object_bytes") if "object_bytes" in values else None,
        warm_up=_flag(values, "warm_up") if "warm_up" in values else 0,
        checksum=_checksum(values) if "checksum" in values else None,
    )


def _parse_object(body: str) -> dict[str, Any]:
    try:
        values = json.loads(body, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise WorkOrderError(
            f"the message body isn't JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except (ValueError, RecursionError) as error:
        # An integer of more than 4,300 digits, or nesting deeper than the interpreter's stack.
        raise WorkOrderError(f"the message body isn't JSON that can be read: {_quote(str(error))}") from None
    if not isinstance(values, dict):
        raise WorkOrderError(f"the message body must be a JSON object, not {_quote(values)}")
    return values


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise WorkOrderError(f"the work order has the key {_quote(key)} twice")
        values[key] = value
    return values


def _name(values: dict[str, Any], key: str) -> str:
    value = values[key]
    if not isinstance(value, str) or not value.isprintable() or not 1 <= len(value) <= LONGEST_NAME_CHARACTERS:
        raise WorkOrderError(
            f"{key} must be text of 1 to {LONGEST_NAME_CHARACTERS} printable characters, not {_quote(value)}"
        )
    return value


def _integer(values: dict[str, Any], key: str) -> int:
    value = values[key]
    # bool is an int in Python: true must not pass as 1.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_INTEGER:
        raise WorkOrderError(f"{key} must be a whole number from 0 to {LARGEST_INTEGER}, not {_quote(value)}")
    return value


def _flag(values: dict[str, Any], key: str) -> int:
    value = values[key]
    if isinstance(value, bool) or value not in (0, 1):
        raise WorkOrderError(f"{key} must be 0 or 1, not {_quote(value)}")
    return int(value)


def _checksum(values: dict[str, Any]) -> Checksum:
    value = values["checksum"]
    checksum = parse_checksum(value) if isinstance(value, str) else None
    if checksum is None:
        raise WorkOrderError(
            f"checksum must be sha256: and 64, or crc32: and 8 hexadecimal digits in lower case, not {_quote(value)}"
        )
    return checksum


def _quote(value: Any) -> str:
    """Show a foreign value on one line: ascii() escapes every line break and every unprintable character."""
    shown = ascii(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
