"""Work on many items with a bounded number in flight, so that a stream of them needs the memory of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 4  # items taken for each that is in flight: the last of them are all that is waited for together


def in_flight(work: Callable[[Item], Result], items: Iterable[Item], at_once: int) -> Iterator[Result]:
    """What `work` gives for each item, in their order. The first error ends it: what has begun is waited for."""
    source = iter(items)
    with ThreadPoolExecutor(at_once) as pool:
        while taken := list(islice(source, AHEAD * at_once)):
            yield from pool.map(work, taken)
