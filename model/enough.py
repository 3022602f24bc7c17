"""How many messages are enough: the fewest with which a share of the operations' time lies at full N."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from model.flood import Course

# No search goes beyond: nobody sends so many to one cell, and the model would take minutes.
MOST_MESSAGES = 1_000_000
# Found to one in a hundred, which is finer than the model is.
WITHIN = 0.01
# Where twice the messages bring hardly more at once, something else than their number keeps N away. A ramp in a
# straight line would bring 1.4 times as many.
HARDLY_MORE = 1.05


class NeverEnoughError(ValueError):
    """No number of messages does it. `course` is that of the largest that was tried, `messages` its number."""

    def __init__(self, messages: int, course: Course) -> None:
        super().__init__(f"{messages:,} messages put {course.share_at_n:.0%} at full N")
        self.messages, self.course = messages, course


def fewest(course_of: Callable[[int], Course], share: float, least: int, step: int = 1) -> int:
    """The fewest messages, a multiple of `step` and at least `least`, whose `share_at_n` is at least `share`.

    `course_of(messages)` asks the model. Where the time outside the full-overlap window is the ramp's and the tail's,
    the share only grows with the messages, so they are found by bisection, to WITHIN or one step. Raises
    NeverEnoughError.
    """
    low = high = _up(least, step)
    for messages, course in _growing(course_of, share, high, step):
        low, high = high, messages
        if course.share_at_n >= share:
            break
    while high - low > max(step, WITHIN * high):
        middle = _up((low + high) // 2, step)
        if middle >= high:
            break
        if course_of(middle).share_at_n >= share:
            high = middle
        else:
            low = middle
    return high


def _growing(
    course_of: Callable[[int], Course], share: float, messages: int, step: int
) -> Iterator[tuple[int, Course]]:
    """Ever larger numbers and their courses: twice as many until N is reached, then what should do, and a little more.

    Raises NeverEnoughError instead of going on for ever.
    """
    most_before = 0
    while True:
        course = course_of(messages)
        yield messages, course
        is_reached = course.time_to_n_s is not None
        is_stuck = not is_reached and course.most_at_once < HARDLY_MORE * most_before
        if is_stuck or messages >= MOST_MESSAGES:
            raise NeverEnoughError(messages, course)
        most_before = course.most_at_once
        # What lies outside the window stays the same, however many messages there are.
        times = (1 + WITHIN) * (1 - course.share_at_n) / (1 - share) if is_reached else 2
        messages = min(max(_up(int(messages * times), step), messages + step), _up(MOST_MESSAGES, step))


def _up(count: int, step: int) -> int:
    """The next multiple of `step` from `count` on."""
    return max(1, -(-count // step)) * step
