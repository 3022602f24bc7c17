"""Work on many items with a bounded number in flight, so that a stream of them needs the memory of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_flight(work: Callable[[Item], Result], items: Iterable[Item], at_once: int) -> Iterator[Result]:
    """What `work` gives for each item, in the order in which they end; `at_once` items are taken ahead, no more.

    The first error ends it: what has begun is waited for, nothing more begins.
    """
    waiting: set[Future[Result]] = set()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for item in items:
                if len(waiting) >= at_once:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
                waiting.add(pool.submit(work, item))
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
