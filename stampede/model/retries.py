"""How an SDK retries in standard mode, by SDK version: `functions/agreed/retries.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from stampede.checkout import FUNCTIONS

AGREED = FUNCTIONS / "agreed" / "retries.json"


@dataclass(frozen=True)
class Rules:
    """The rules of standard mode.

    A client has at most `tokens`; a retry takes `retry_cost` of them, `timeout_cost` after a
    timeout and `throttle_cost` after a throttled call. A successful call returns the cost of its
    last retry, or `success_gain`. The first pause lasts up to `first_pause_s`, after a throttled
    call up to `throttle_first_pause_s`; each later one up to twice as long, at most
    `longest_pause_s`. `retry_after_header` names the response header that may extend a pause, in
    milliseconds and by at most 5 s; None if no header does.
    """

    tokens: int
    retry_cost: int
    timeout_cost: int
    throttle_cost: int
    success_gain: int
    first_pause_s: float
    throttle_first_pause_s: float
    longest_pause_s: float
    retry_after_header: str | None


def rules_of(sdk: str) -> Rules | None:
    """The rules of an `sdk` as records name it (`botocore 1.44.5`); None if they are unknown.

    Records of the first edition say `none` for its own HTTP clients. The SDK for Go has its retries
    switched off: our own surround its calls.
    """
    name, _, version = sdk.partition(" ")
    since = _agreed()["sdks"].get(name, {})
    reached = [first for first in since if _numbers(first) <= _numbers(version or "0")]
    return _standard(since[max(reached, key=_numbers)]) if reached else None


def ours() -> Rules:
    """The rules of the Go programs, and of the first edition's HTTP clients."""
    return _standard(_agreed()["ours"])


@cache
def _agreed() -> dict[str, Any]:
    return json.loads(AGREED.read_text(encoding="utf-8"))


def _standard(name: str) -> Rules:
    rules = _agreed()["standard"][name]
    return Rules(**{field.name: rules[field.name] for field in fields(Rules)})


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
