"""The flood against arithmetic by hand: the ramp, the drain, throttling, failures, shared limits,
and no loss."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.model.course import Attempts, course
from stampede.model.flood import Flood
from stampede.model.limits import Limit
from stampede.model.operation import Operation
from stampede.model.sharing import Shared
from stampede.model.simulation import run
from stampede.model.trigger import Trigger

STANDARD, WORKERS = Trigger(start=5, per_minute=300, most=1250), None
BYTES, REQUESTS = "bytes", "requests"


def operation(seconds=10.0, spread_s=0.0, cold_s=None, **demands):
    """An operation of about `seconds`, and of `cold_s` for an environment's first."""

    def draw(random, count, cold):
        own = cold_s if cold and cold_s is not None else seconds
        return own + random.uniform(-spread_s, spread_s, count)

    return Operation(draw, seconds, demands, 1.0, "hand-made", "hand-made")


def flooded(messages, concurrency, trigger=STANDARD, doing=None, limits=(), seed=1, **changes):
    known = {"messages_per_s": math.inf, "timeout_s": 60.0, "visibility_timeout_s": 360.0}
    return run(
        Flood(messages, concurrency, trigger=trigger, **known | changes),
        doing or operation(),
        limits,
        seed,
    )


COLD = operation(10, cold_s=12)
HALF = [Limit(REQUESTS, [1.0])]
TAKING = operation(10, **{REQUESTS: 1.0})


# Of a flood what is known by hand; a `first` of 4 are as many operations of new environments.
@pytest.mark.parametrize(
    ("arguments", "changes", "figures"),
    [
        # The ramp: 500 at once after 99 s, up to the trigger's most; 50 pollers have 500, and 1000
        # more a minute.
        ((5000, 500), {}, {"time_to_n_s": 99, "most_at_once": 500}),
        ((8000, 1000, Trigger(500, 1000, 1000)), {}, {"begin": 500, "time_to_n_s": 30}),
        # Messages drain in rounds, which cold starts and hand-overs lengthen; warm environments
        # have no cold start.
        (
            (30, 10, WORKERS, COLD),
            {"cold_start_s": 0.5, "hand_over_s": 0.1},
            {
                "drain_s": 0.5 + 12 + 2 * (0.1 + 10),
                "first_start_s": 0.5,
                "max_s": 12,
                "time_to_n_s": 0,
            },
        ),
        (
            (30, 10, WORKERS, COLD),
            {"cold_start_s": 0.5, "warm": 6},
            {"first_start_s": 0, "first": 4, "later": 26},
        ),
        # What was cut off starts cold.
        (
            (2, 1, WORKERS, operation(20, cold_s=10)),
            {"timeout_s": 15, "warm": 1, "receives": 1},
            {"first": 1, "later": 0, "dead_lettered": 1},
        ),
        # Messages come at the loader's rate, and a trigger that waits for them doesn't grow.
        (
            (11, 100, WORKERS, operation(0.5)),
            {"messages_per_s": 1},
            {"most_at_once": 1, "drain_s": 10.5},
        ),
        ((100, 50, Trigger(5, 300, 50)), {"barrier_s": 20}, {"first_start_s": 20, "begin": 50}),
        # What the trigger holds beyond N waits and is done; one that is throttled doesn't grow.
        (
            (40, 20, Trigger(5, 300, 20), operation(100)),
            {"account_concurrency": 5, "timeout_s": 200, "visibility_timeout_s": 1200},
            {"throttled": 1, "most_at_once": 5},
        ),
        # Without room for a visibility timeout, five times, it is a dead letter; and after five
        # timeouts or crashes.
        (
            (2, 1, Trigger(2, 0, 2), operation(900)),
            {"timeout_s": 1000, "visibility_timeout_s": 100},
            {"succeeded": 1, "dead_lettered": 1, "throttled": 5},
        ),
        (
            (1, 1),
            {"timeout_s": 4, "visibility_timeout_s": 24},
            {"failed_attempts": 5, "dead_lettered": 1, "drain_s": 4 * 24 + 4},
        ),
        (
            (1, 1),
            {"crashing": 1.0},
            {"failed_attempts": 5, "dead_lettered": 1, "drain_s": 4 * 360 + 10},
        ),
        # Failures come back after the function's pauses.
        (
            (1, 1),
            {"failing": 1.0},
            {"failed_attempts": 5, "dead_lettered": 1, "drain_s": 5 * 10 + 2 + 4 + 8 + 16},
        ),
        # A limit slows whoever wants more; one that nobody reaches slows nobody.
        (
            (200, 100, WORKERS, operation(10, **{BYTES: 2.0}), [Limit(BYTES, [50.0])]),
            {},
            {"avg_s": 40, "drain_s": 80, "slowed_shares": {BYTES: 1}},
        ),
        (
            (200, 100, WORKERS, TAKING, [Limit(REQUESTS, [100.0])]),
            {},
            {"avg_s": 10, "slowed_shares": {REQUESTS: 0}},
        ),
        # A quarter of the speed for 10 s, then half of it for the 7.5 s that are left.
        (
            (
                10,
                10,
                WORKERS,
                operation(10, **{BYTES: 1.0, REQUESTS: 1.0}),
                [Limit(BYTES, [2.5, 40.0], [0.0, 10.0]), Limit(REQUESTS, [5.0])],
            ),
            {},
            {"drain_s": 25, "slowed_shares": {BYTES: 10 / 25, REQUESTS: 15 / 25}},
        ),
        # The first has done 4 s when the second comes; at half speed its other 6 take 12, and the
        # second has 4 to do.
        (
            (2, 2, WORKERS, TAKING, HALF),
            {"messages_per_s": 0.25},
            {"min_s": 16, "max_s": 16, "drain_s": 20},
        ),
        # What a limit slows beyond the timeout is cut off, and nothing at the deadline of what has
        # ended.
        (
            (2, 2, WORKERS, TAKING, HALF),
            {"timeout_s": 15},
            {"failed_attempts": 10, "drain_s": 4 * 360 + 15},
        ),
        (
            (2, 1, WORKERS, operation(2, **{REQUESTS: 1.0}), [Limit(REQUESTS, [0.5])]),
            {"messages_per_s": 0.1, "timeout_s": 5},
            {"succeeded": 2, "failed_attempts": 0, "drain_s": 14},
        ),
    ],
)
def test_a_flood_agrees_with_arithmetic_by_hand(arguments, changes, figures):
    result = flooded(*arguments, **changes)
    assert result.succeeded + result.dead_lettered == arguments[0]
    seen = vars(result) | {"begin": result.ramp[0][1]}
    seen |= {kind: getattr(result, f"of_{kind}")["count"] for kind in ("first", "later")}
    assert {name: seen[name] for name in figures} == {
        name: pytest.approx(value) for name, value in figures.items()
    }


def test_new_environments_start_as_fast_as_lambda_scales():
    result = flooded(4000, 2000, Trigger(2000, 1000, 2000), operation(60), timeout_s=900)
    assert (result.ramp[0], result.throttled) == ((0, 1000), 1000)
    # 100 a second, as far as the retries of the trigger take them
    assert 10 < result.time_to_n_s < 40


@given(
    messages=st.integers(1, 60),
    concurrency=st.integers(1, 12),
    trigger=st.none()
    | st.builds(Trigger, st.integers(1, 20), st.sampled_from([0, 300, 6000]), st.integers(2, 20)),
    messages_per_s=st.sampled_from([0.5, 20.0, math.inf]),
    receives=st.integers(1, 5),
    ends=st.sampled_from([(0.0, 0.0), (0.3, 0.0), (1.0, 0.0), (0.3, 0.3), (0.0, 0.2)]),
    timeout_s=st.sampled_from([4.0, 9.0, 60.0]),
    room=st.sampled_from([0.5, 3.0, math.inf]),
    account_concurrency=st.sampled_from([1, 5, math.inf]),
    cold_start_s=st.sampled_from([0.0, 0.7]),
    barrier_s=st.sampled_from([0.0, 6.0]),
)
def test_every_message_ends_as_success_or_dead_letter_whatever_happens(
    messages, concurrency, room, ends, **settings
):
    result = flooded(
        messages,
        concurrency,
        doing=operation(5, 3, s3=1.0),
        limits=[Limit("s3", [room])],
        failing=ends[0],
        crashing=ends[1],
        **settings | {"visibility_timeout_s": 60},
    )
    assert result.succeeded + result.dead_lettered == messages
    assert result.failed_attempts + result.throttled >= result.dead_lettered * settings["receives"]
    assert result.most_at_once <= min(concurrency, settings["account_concurrency"])
    assert result.first_start_s >= settings["barrier_s"] and result.drain_s >= result.first_start_s
    assert 0 <= result.share_at_n <= 1 and sum(result.slowed_shares.values()) <= 1 + 1e-9
    if result.succeeded:
        assert result.max_s <= settings["timeout_s"] + 1e-6


def counted(n, *times, failed=()):
    attempts = Attempts()
    for number, (start, end) in enumerate(sorted(times, key=lambda attempt: attempt[1])):
        attempts.add(start, end, number in failed)
    return course(attempts, n, 3.0, Shared([], {}))


def test_the_model_and_the_report_count_concurrency_alike():
    result = counted(2, (1, 5), (2, 8), (6, 9))
    # from 2 to 8, the first start being at 1
    assert (result.time_to_n_s, result.window_end_s) == (1, 7)
    assert result.share_at_n == pytest.approx(((5 - 2) + (8 - 2) + (8 - 6)) / (4 + 6 + 3))
    no_dip = counted(2, (0, 5), (0, 5), (5, 9), (5, 9))
    assert (no_dip.share_at_n, no_dip.peak_requests_per_s) == (1, 6)
    failed = counted(9, (0, 1), (0, 2), (0, 3), (0, 10), (0, 60), failed=[4])
    figures = (failed.min_s, failed.p25_s, failed.avg_s, failed.p75_s, failed.max_s)
    assert figures == (1, 1.75, 4, 4.75, 10)
    assert math.isnan(failed.p99_s)  # too few
    assert counted(1, *((0, at) for at in range(1, 102))).p99_s == 100
    assert (failed.succeeded, failed.failed_attempts) == (4, 1)
    assert (failed.drain_s, failed.time_to_n_s) == (60, None)
