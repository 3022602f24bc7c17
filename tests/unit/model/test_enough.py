"""The fewest messages that are enough, found against floods whose shares are known by hand."""

from types import SimpleNamespace

import pytest

from stampede.model.enough import MOST_MESSAGES, WITHIN, NeverEnoughError, fewest


def ramped(n=500, outside_s=20_000.0, one_s=10.0, most=1_000_000):
    """A flood of which `outside_s` of all operations' time lies in ramp and tail; it gets `most` at once at most."""
    message_counts = []

    def course(messages):
        message_counts.append(messages)
        at_once = min(n, most, int(messages * one_s / 40))
        reached = at_once == n
        share = max(0.0, 1 - outside_s / (messages * one_s)) if reached else 0.0
        return SimpleNamespace(share_at_n=share, most_at_once=at_once, time_to_n_s=99.0 if reached else None)

    course.message_counts = message_counts
    return course


def test_the_fewest_are_found_to_one_in_a_hundred():
    course = ramped()
    count = fewest(course, 0.8, 500)
    # 20,000 s are a fifth of 100,000 s, which are 10,000 messages of ten seconds.
    assert 10_000 <= count <= 10_000 * (1 + 2 * WITHIN)
    assert course(count).share_at_n >= 0.8
    assert len(course.message_counts) < 16


@pytest.mark.parametrize(("least", "step", "count"), [(500, 1, 500), (10, 1, 10), (10, 4, 12), (1, 7, 7)])
def test_where_the_least_is_enough_it_is_that_in_whole_steps(least, step, count):
    assert fewest(ramped(n=1, outside_s=0.0, one_s=60), 0.8, least, step) == count


def test_a_number_is_always_a_multiple_of_the_step():
    course = ramped()
    count = fewest(course, 0.8, 500, step=33)
    assert count % 33 == 0 and all(messages % 33 == 0 for messages in course.message_counts)
    assert 10_000 <= count <= 10_000 * (1 + 2 * WITHIN) + 33


def test_where_n_is_out_of_reach_the_search_ends_soon_and_tells_how_far_it_got():
    course = ramped(most=400)
    with pytest.raises(NeverEnoughError) as error:
        fewest(course, 0.8, 500)
    assert error.value.figures.most_at_once == 400
    assert len(course.message_counts) < 10


def test_where_it_would_take_more_than_anyone_sends_the_search_ends():
    with pytest.raises(NeverEnoughError) as error:
        fewest(ramped(outside_s=5e6), 0.8, 500)
    assert error.value.messages == MOST_MESSAGES
    assert error.value.figures.share_at_n == pytest.approx(0.5)
