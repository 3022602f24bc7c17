"""A choice between two kinds of storage, as the size of an object decides it: by time, and by what each costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

# Of each choice: N = 1 sends ten messages by default, so the default matrix can just be compared.
MINIMUM_FOR_COMPARISON = 10


@dataclass(frozen=True)
class Tariff:
    """What a choice of storage costs, in US dollars: a request that writes or reads one object, a GB (2**30 bytes)
    written or read, and a GB kept for a month. A second of a function's memory is the same whatever is chosen."""

    write_usd: float
    read_usd: float
    write_gb_usd: float
    read_gb_usd: float
    gb_month_usd: float


@dataclass(frozen=True)
class BySize:
    """A choice of two, whose time and cost are set against the size of an object.

    `choice` is its axis, `size` that of an object's bytes. `moves` is the axis that says what is done with an object,
    and which of its values "write" or "read" one; where a cell is an `execution`, neither. `tariffs(prices)` is what
    each value of the choice costs, None where a price isn't known.
    """

    choice: str
    size: str
    moves: tuple[str, Mapping[str, str]]
    tariffs: Callable[[Mapping[str, float]], Mapping[str, Tariff] | None]
