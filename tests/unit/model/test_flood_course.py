"""How a course is counted: as the report counts it from records. And what a large flood holds in memory."""

import tracemalloc
from array import array

import pytest

from stampede.model.course import RAMP_POINTS, Attempts, course
from stampede.model.flood import Flood
from stampede.model.operation import Operation
from stampede.model.sharing import Shared
from stampede.model.simulation import run
from stampede.model.trigger import Trigger

NOTHING_SHARED = Shared([], {})


def attempts(*times, failed=()):
    ordered = sorted(times, key=lambda attempt: attempt[1])
    return Attempts(
        array("d", [attempt[0] for attempt in ordered]),
        array("d", [attempt[1] for attempt in ordered]),
        array("q", failed),
    )


def test_the_window_goes_from_the_first_to_the_last_moment_with_n_at_once():
    result = course(attempts((1, 5), (2, 8), (6, 9)), 2, 1.0, NOTHING_SHARED)
    assert (result.first_start_s, result.drain_s, result.most_at_once) == (1, 9, 2)
    assert (result.time_to_n_s, result.window_end_s) == (1, 7)  # from 2 to 8, the first start being at 1
    assert result.share_at_n == pytest.approx(((5 - 2) + (8 - 2) + (8 - 6)) / (4 + 6 + 3))


def test_a_next_one_at_the_same_moment_leaves_no_dip():
    result = course(attempts((0, 5), (0, 5), (5, 9), (5, 9)), 2, 3.0, NOTHING_SHARED)
    assert result.ramp == ((0, 2), (5, 2), (9, 0))
    assert (result.share_at_n, result.peak_requests_per_s) == (1, 6)


def test_quartiles_are_linear_between_ranks_and_failed_attempts_only_fill_the_time():
    result = course(attempts((0, 1), (0, 2), (0, 3), (0, 10), (0, 60), failed=[4]), 9, 1.0, NOTHING_SHARED)
    assert (result.min_s, result.p25_s, result.avg_s, result.p75_s, result.max_s) == (1, 1.75, 4, 4.75, 10)
    assert (result.succeeded, result.failed_attempts, result.drain_s, result.time_to_n_s) == (4, 1, 60, None)


def test_the_curve_of_a_long_flood_has_no_more_points_than_a_screen_shows():
    result = course(attempts(*((at, at + 10) for at in range(1000))), 10, 1.0, NOTHING_SHARED)
    assert len(result.ramp) == RAMP_POINTS
    assert (result.ramp[0], result.ramp[-1]) == ((0, 1), (1009, 0))
    assert {running for at, running in result.ramp if 10 <= at < 1000} == {10}


def test_memory_grows_by_arrays_alone():
    """16 bytes an attempt in the engine and one a message, and what the counting needs; 160 MiB for a million whole."""

    def peak_bytes(messages):
        doing = Operation(lambda random, count, cold: random.uniform(9, 11, count), 10.0, {}, 1.0, "")
        flood = Flood(messages, 10, 1e4, Trigger(10, 0, 10), 60, 360)
        tracemalloc.start()
        run(flood, doing, [], seed=1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert (peak_bytes(6_000) - peak_bytes(2_000)) / 4_000 < 160
