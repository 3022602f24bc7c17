"""The flood against arithmetic by hand: the ramp, the drain, throttling, failures, and that nothing gets lost."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.model.flood import Flood
from stampede.model.limits import Limit
from stampede.model.operation import Operation
from stampede.model.simulation import run
from stampede.model.trigger import Trigger

STANDARD = Trigger(start=5, per_minute=300, most=1250)


def operation(seconds=10.0, spread_s=0.0, cold_s=None, requests_per_s=1.0, **demands):
    """One of `seconds`, give or take; the first of an environment of `cold_s`."""

    def draw(random, count, cold):
        own = cold_s if cold and cold_s is not None else seconds
        return own + random.uniform(-spread_s, spread_s, count)

    return Operation(draw, seconds, demands, requests_per_s, "hand-made")


def flood(messages, concurrency, trigger=STANDARD, **changes):
    known = {"messages_per_s": math.inf, "timeout_s": 60.0, "visibility_timeout_s": 360.0}
    return Flood(messages, concurrency, trigger=trigger, **(known | changes))


def course(messages, concurrency, trigger=STANDARD, doing=None, limits=(), seed=1, **changes):
    return run(flood(messages, concurrency, trigger, **changes), doing or operation(), limits, seed)


def test_500_at_once_are_reached_after_99_seconds_and_half_of_the_work_is_done_by_then():
    result = course(5000, 500)
    assert result.time_to_n_s == pytest.approx((500 - 5) / 5)
    # 5 messages a second more, every 10 s: the operations run 99 x (5 + 500) / 2 seconds up to then, of 50,000.
    before = (99 * (5 + 500) / 2) / 50_000
    assert result.share_at_n == pytest.approx(1 - before - tail(result, 500), abs=0.01)
    assert 0.4 < result.share_at_n < 0.5


def tail(result, n):
    """The share of the work after the window: what still runs when the first of N finds no next message."""
    points = [(at, running) for at, running in result.ramp if at >= result.window_end_s]
    return np.trapezoid([point[1] for point in points], [point[0] for point in points]) / (result.succeeded * 10)


def test_the_trigger_goes_up_to_its_most_and_no_further():
    result = course(4000, 500, Trigger(5, 300, 100))
    assert (result.most_at_once, result.time_to_n_s, result.share_at_n) == (100, None, 0)


def test_50_provisioned_pollers_have_500_at_once_from_the_first_moment_and_1000_more_a_minute():
    result = course(8000, 1000, Trigger(start=50 * 10, per_minute=1000, most=100 * 10))
    assert result.ramp[0] == (0, 500)
    assert result.time_to_n_s == pytest.approx(30)


@pytest.mark.parametrize(("messages", "workers"), [(100, 10), (101, 10), (7, 10)])
def test_messages_drain_in_rounds_of_as_many_as_there_are_workers(messages, workers):
    result = course(messages, workers, None)
    assert result.drain_s == pytest.approx(math.ceil(messages / workers) * 10)
    assert (result.succeeded, result.min_s, result.p25_s, result.avg_s, result.p75_s, result.max_s) == (
        messages,
        *[10.0] * 5,
    )


def test_cold_starts_and_hand_overs_lengthen_the_drain_and_not_the_seconds():
    result = course(30, 10, None, operation(10, cold_s=12), cold_start_s=0.5, hand_over_s=0.1)
    assert result.first_start_s == 0.5
    assert result.drain_s == pytest.approx(0.5 + 12 + 2 * (0.1 + 10))
    assert (result.min_s, result.max_s) == (pytest.approx(10), pytest.approx(12))
    assert result.time_to_n_s == 0 and result.window_end_s == pytest.approx(result.drain_s - 0.5)


def test_environments_that_are_warm_have_no_cold_start_and_each_kind_has_its_own_seconds():
    result = course(30, 10, None, operation(10, cold_s=12), cold_start_s=0.5, warm=6)
    assert (result.first_start_s, result.ramp[0], result.succeeded) == (0, (0, 6), 30)
    assert (result.of_first["count"], result.of_first["avg_s"]) == (4, pytest.approx(12))
    assert (result.of_later["count"], result.of_later["avg_s"]) == (26, pytest.approx(10))
    all_warm = course(30, 10, None, operation(10, cold_s=12), cold_start_s=0.5, warm=20)
    assert (all_warm.of_first["count"], all_warm.max_s, all_warm.most_at_once) == (0, pytest.approx(10), 10)


def test_an_environment_that_was_cut_off_starts_cold_and_its_first_success_counts_as_such():
    result = course(2, 1, None, operation(10, cold_s=20), timeout_s=15, warm=1, receives=1)
    assert (result.of_later["count"], result.of_first["count"], result.failed_attempts) == (2, 0, 0)
    slow = course(2, 1, None, operation(20, cold_s=10), timeout_s=15, warm=1, receives=1)
    assert (slow.of_later["count"], slow.of_first["count"], slow.dead_lettered) == (0, 1, 1)


def test_messages_come_at_the_loaders_rate():
    result = course(11, 100, None, operation(0.5), messages_per_s=1)
    assert (result.most_at_once, result.drain_s) == (1, 10.5)


def test_a_trigger_whose_places_wait_for_messages_does_not_grow():
    result = course(200, 100, doing=operation(3), messages_per_s=1)
    assert result.most_at_once == 3
    soon_enough = course(200, 100, doing=operation(30), messages_per_s=1)
    assert soon_enough.most_at_once == pytest.approx(30, abs=1)


def test_a_batch_is_one_invocation_after_the_other_in_one_environment():
    result = course(40, 10, Trigger(2, 0, 2), operation(1), batch_size=10)
    assert (result.most_at_once, result.drain_s) == (2, pytest.approx(20))


def test_none_begins_before_the_barrier():
    result = course(100, 50, Trigger(5, 300, 50), barrier_s=20)
    assert (result.first_start_s, result.most_at_once) == (20, 50)
    assert result.ramp[0] == (20, 50)


def test_2000_environments_at_once_come_as_fast_as_lambda_scales_out():
    result = course(4000, 2000, Trigger(2000, 1000, 2000), operation(60), timeout_s=900)
    assert result.ramp[0] == (0, 1000)
    assert result.throttled == 1000
    assert 10 < result.time_to_n_s < 40  # 100 a second, as far as the retries of the trigger take them


def test_what_the_trigger_holds_beyond_n_is_throttled_waits_and_is_done_in_the_end():
    result = course(10, 1, Trigger(2, 300, 2))
    assert (result.succeeded, result.dead_lettered, result.throttled) == (10, 0, 1)
    assert 100 <= result.drain_s <= 100 + 10 * 1.5


def test_an_account_with_less_room_than_n_throttles_as_well():
    result = course(100, 50, Trigger(50, 0, 50), account_concurrency=20)
    assert (result.most_at_once, result.succeeded, result.time_to_n_s) == (20, 100, None)
    assert result.throttled >= 30


def test_a_message_that_never_finds_room_before_its_visibility_timeout_is_over_becomes_a_dead_letter():
    result = course(2, 1, Trigger(2, 0, 2), operation(900), timeout_s=1000, visibility_timeout_s=100)
    assert (result.succeeded, result.dead_lettered, result.throttled) == (1, 1, 5)


def test_a_function_that_is_cut_off_five_times_leaves_a_dead_letter_after_five_visibility_timeouts():
    result = course(1, 1, timeout_s=4, visibility_timeout_s=24)
    assert (result.succeeded, result.failed_attempts, result.dead_lettered) == (0, 5, 1)
    assert result.drain_s == 4 * 24 + 4
    assert math.isnan(result.avg_s)


def test_an_operation_that_a_shared_limit_slows_beyond_the_timeout_is_cut_off():
    alone, two, patient = (
        course(messages, 2, None, operation(10, s3=1.0), [Limit("s3", [1.0])], timeout_s=timeout_s)
        for messages, timeout_s in ((1, 15), (2, 15), (2, 21))
    )
    assert (alone.succeeded, alone.failed_attempts) == (1, 0)
    assert (two.succeeded, two.failed_attempts, two.dead_lettered, two.drain_s) == (0, 10, 2, 4 * 360 + 15)
    assert (patient.succeeded, patient.avg_s) == (2, 20)


def test_what_crashes_comes_back_as_what_is_cut_off_does_and_leaves_a_cold_environment():
    result = course(1, 1, crashing=1.0)
    assert (result.succeeded, result.failed_attempts, result.dead_lettered, result.drain_s) == (0, 5, 1, 4 * 360 + 10)
    some = course(1000, 10, None, operation(10, cold_s=12), crashing=0.05, failing=0.05)
    assert some.of_first["count"] == pytest.approx(10 + some.failed_attempts / 2, rel=0.5)
    assert some.failed_attempts == pytest.approx(1000 * 0.1, rel=0.4)


def test_failures_come_back_after_the_pauses_of_the_function():
    result = course(1, 1, failing=1.0)
    assert (result.failed_attempts, result.dead_lettered) == (5, 1)
    assert result.drain_s == pytest.approx(5 * 10 + 2 + 4 + 8 + 16)


def test_a_share_of_failures_is_made_good_by_further_receives():
    result = course(2000, 100, None, failing=0.2)
    assert result.succeeded + result.dead_lettered == 2000
    assert result.failed_attempts == pytest.approx(2000 * 0.25, rel=0.15)  # 0.2 + 0.2^2 + ...
    assert result.dead_lettered < 6  # 2000 x 0.2^5


def test_the_same_seed_gives_the_same_course_and_another_seed_another():
    settled = {"doing": operation(10, 5, s3=1.0), "limits": [Limit("s3", [30, 60], [0, 50])], "failing": 0.1}
    first, again, other_seed = (course(500, 50, seed=seed, **settled) for seed in (1, 1, 2))
    assert first == again and first != other_seed


@given(
    messages=st.integers(1, 60),
    concurrency=st.integers(1, 12),
    trigger=st.none() | st.builds(Trigger, st.integers(1, 20), st.sampled_from([0, 300, 6000]), st.integers(2, 20)),
    messages_per_s=st.sampled_from([0.5, 20.0, math.inf]),
    batch_size=st.integers(1, 4),
    receives=st.integers(1, 5),
    ends=st.sampled_from([(0.0, 0.0), (0.3, 0.0), (1.0, 0.0), (0.3, 0.3), (0.0, 0.2)]),
    timeout_s=st.sampled_from([4.0, 9.0, 60.0]),
    room=st.sampled_from([0.5, 3.0, math.inf]),
    account_concurrency=st.sampled_from([1, 5, math.inf]),
    hand_over_s=st.sampled_from([0.0, 0.2]),
    cold_start_s=st.sampled_from([0.0, 0.7]),
    barrier_s=st.sampled_from([0.0, 6.0]),
)
def test_every_message_ends_as_success_or_dead_letter_whatever_happens(room, receives, ends, **settings_of_it):
    work, (failing, crashing) = operation(5, 3, s3=1.0), ends
    wanted = flood(**settings_of_it, failing=failing, crashing=crashing, receives=receives, visibility_timeout_s=60)
    result = run(wanted, work, [Limit("s3", [room])], seed=7)
    assert result.succeeded + result.dead_lettered == wanted.messages
    assert result.failed_attempts * wanted.batch_size + result.throttled >= result.dead_lettered * receives
    assert result.most_at_once <= min(wanted.concurrency, wanted.account_concurrency)
    assert result.first_start_s >= wanted.barrier_s and result.drain_s >= result.first_start_s
    assert 0 <= result.share_at_n <= 1 and sum(result.slowed_shares.values()) <= 1 + 1e-9
    if result.succeeded:
        assert result.max_s <= wanted.timeout_s + 1e-6


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"messages": 0}, "messages must be 1 or more, got 0"),
        ({"messages_per_s": 0}, "messages_per_s must be above 0, got 0"),
        ({"timeout_s": -1}, "timeout_s must be above 0, got -1"),
        ({"failing": 0.6, "crashing": 0.5}, "failing and crashing must be 1 at most together"),
        ({"redelivery_s": ()}, "redelivery_s must be pauses of 0 or more"),
        ({"account_concurrency": math.nan}, "account_concurrency must be 1 or more, got nan"),
    ],
)
def test_a_flood_that_cannot_be_is_refused_by_name(wrong, words):
    with pytest.raises(ValueError, match=words):
        flood(**({"messages": 10, "concurrency": 2} | wrong))


def test_a_flood_that_never_ends_is_refused():
    with pytest.raises(ValueError, match="never ends"):
        course(1, 1, doing=operation(math.inf), timeout_s=math.inf)
