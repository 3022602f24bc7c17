"""How many messages are enough: the fewest with which a share of the operations' time lies in full overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from stampede.phrases import counted

# No search goes beyond: nobody sends so many to one cell, and the model would take minutes.
MOST_MESSAGES = 1_000_000
# Found to one in a hundred, which is finer than the model is.
WITHIN = 0.01
# Where twice the messages bring hardly more at once, so often in a row, something else than their number keeps N away.
# A ramp in a straight line brings 1.4 times as many; close to N it may take a few more until all meet.
HARDLY_MORE, IN_A_ROW = 1.05, 3


class Figures(Protocol):
    """What the search has to know of a flood, as a Course or a Prediction has it."""

    share_at_n: float
    time_to_n_s: float | None
    most_at_once: int


class NeverEnoughError(ValueError):
    """No number of messages does it. `messages` is the largest that was tried, and `figures` what it gives."""

    def __init__(self, messages: int, figures: Figures) -> None:
        super().__init__(
            f"with {counted(messages, 'message')}, {figures.share_at_n:.0%} of the time is in full overlap"
        )
        self.messages, self.figures = messages, figures


def fewest(figures_of: Callable[[int], Figures], share: float, least: int, step: int = 1) -> int:
    """The fewest messages, a multiple of `step` and at least `least`, whose `share_at_n` is at least `share`.

    `figures_of(messages)` asks the model. Where the time outside the full-overlap window is the ramp's and the tail's,
    the share only grows with the messages, so they are found by bisection, to WITHIN or one step. Raises
    NeverEnoughError.
    """
    low = high = _up(least, step)
    for messages, figures in _growing(figures_of, share, high, step):
        low, high = high, messages
        if figures.share_at_n >= share:
            break
    while high - low > max(step, WITHIN * high):
        middle = _up((low + high) // 2, step)
        if middle >= high:
            break
        if figures_of(middle).share_at_n >= share:
            high = middle
        else:
            low = middle
    return high


def _growing(
    figures_of: Callable[[int], Figures], share: float, messages: int, step: int
) -> Iterator[tuple[int, Figures]]:
    """Ever larger numbers and what they give: twice as many until N is reached, then what should do, and a little more.

    Raises NeverEnoughError instead of going on for ever.
    """
    most_before = in_vain = 0
    while True:
        figures = figures_of(messages)
        yield messages, figures
        is_reached = figures.time_to_n_s is not None
        in_vain = 0 if is_reached or figures.most_at_once >= HARDLY_MORE * most_before else in_vain + 1
        if in_vain >= IN_A_ROW or messages >= MOST_MESSAGES:
            raise NeverEnoughError(messages, figures)
        most_before = figures.most_at_once
        # What lies outside the window stays the same, however many messages there are.
        times = (1 + WITHIN) * (1 - figures.share_at_n) / (1 - share) if is_reached else 2
        messages = min(max(_up(int(messages * times), step), messages + step), _up(MOST_MESSAGES, step))


def _up(count: int, step: int) -> int:
    """The next multiple of `step` from `count` on."""
    return max(1, -(-count // step)) * step
