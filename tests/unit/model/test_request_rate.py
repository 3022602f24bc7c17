"""What S3 takes of requests a second, and what becomes of the rest: by hand arithmetic and the published retries."""

from dataclasses import replace

import pytest

from stampede.model import parameters as known
from stampede.model.parameters import Parameters
from stampede.model.request_rate import Calls, limit, refusals
from stampede.model.retries import rules_of

P = Parameters(known.read(known.AWS))
# As published: 800 processes of boto3 with 1 MB copies, by retries beside the first try.
PUBLISHED = {"at_once": 800, "call_s": 0.147, "retry_mode": "legacy"}


def least_s(requests, limit):
    """The least seconds in which `limit` lets so many requests through."""
    ends = (*limit.at_s[1:], float("inf"))
    for per_s, begin, end in zip(limit.per_s, limit.at_s, ends, strict=True):
        if requests <= per_s * (end - begin):
            return begin + requests / per_s
        requests -= per_s * (end - begin)
    raise AssertionError("the last capacity has no end")


@pytest.mark.parametrize(("copies", "at_least_s"), [(219_120, 62.6), (2_191_200, 626.06)])
def test_copies_to_one_prefix_take_no_less_than_3500_a_second_allow(copies, at_least_s):
    assert least_s(copies, limit("s3_put", P)) == pytest.approx(at_least_s, abs=0.01)


def test_a_hundred_million_copies_take_28571_s_unless_the_prefix_splits_after_two_hours():
    assert least_s(100e6, limit("s3_put", P)) == pytest.approx(28_571, abs=1)
    early = P.with_rows([known.Parameter(**{**vars(P.row("write_split_minutes")), "value": 120})])
    # Two hours at 3,500/s are 25.2 million, two at 7,000 another 50.4; the rest goes at 14,000.
    assert least_s(100e6, limit("s3_put", early)) == pytest.approx(14_400 + 24.4e6 / 14_000)


def test_a_prefix_that_is_read_takes_twice_as_much_after_each_half_hour():
    reads = limit("s3_get", P)
    assert reads.per_s[:3] == (5500, 11_000, 22_000) and reads.at_s[:3] == (0, 1800, 3600)


def test_directory_buckets_take_100000_writes_and_200000_reads_a_second_and_do_not_split():
    assert limit("express_put", P).per_s == (100_000,) and limit("express_get", P).per_s == (200_000,)


def test_the_adaptive_pace_stays_just_below_the_limit_and_a_copy_asks_kms_twice():
    assert limit("s3_put_adaptive", P).per_s[0] == pytest.approx(0.985 * 3500)
    assert limit("kms_copy", P).per_s == (P["kms_per_s"] / 2,)


def test_a_rate_that_is_not_there_is_an_error():
    with pytest.raises(KeyError):
        limit("s3_head", P)


def test_calls_below_the_limit_are_all_taken():
    below = refusals(Calls(400, 0.147, "legacy", 5), 3500, P)
    assert below.per_s == pytest.approx(400 / 0.147) and (below.slowdowns, below.failed) == (0, 0)


def test_four_retries_leave_as_many_failed_as_published_and_ten_none():
    four, ten = (refusals(Calls(attempts=attempts, **PUBLISHED), 3500, P) for attempts in (5, 11))
    assert 0.0005 < four.failed < 0.0013  # 1,039 to 2,781 of 2,191,200
    assert ten.failed * 2_191_200 < 3
    assert four.per_s == ten.per_s == 3500


def test_time_is_accounted_for_where_calls_are_turned_down():
    """Of each worker's second: calls taken, calls turned down, and pauses of half a second."""
    outcome = refusals(Calls(700, 0.1, "legacy", 2), 3500, P)
    objects_per_s = 3500 / (1 - outcome.failed)
    turned_down_per_s = outcome.slowdowns / (1 - outcome.slowdowns) * 3500
    busy = 3500 * 0.1 + turned_down_per_s * P["slowdown_s"] + objects_per_s * outcome.refused * 0.5
    assert busy == pytest.approx(700, rel=1e-6)


def test_standard_retries_turn_slowdowns_into_failures_when_more_tokens_are_lost_than_come():
    legacy, standard = (refusals(Calls(2000, 0.147, mode, 5), 3500, P) for mode in ("legacy", "standard"))
    assert legacy.failed < 0.03 < 0.5 < standard.failed
    # Where nearly all retries succeed, the tokens come back.
    assert refusals(Calls(800, 0.147, "standard", 5), 3500, P).failed < 0.002


def test_slowdowns_meet_the_same_rules_before_2026_and_since_and_dearer_retries_would_fail_more():
    calls = Calls(1200, 0.147, "standard", 5)
    both = (replace(calls, rules=rules_of(f"botocore {version}")) for version in ("1.43.106", "1.44.5"))
    old, new = (refusals(calls, 3500, P) for calls in both)
    dearer = refusals(replace(calls, rules=replace(calls.rules, throttle_cost=14)), 3500, P)
    assert old == new == refusals(calls, 3500, P) and 0.004 < old.failed < dearer.failed


# `transfer copy` before the front of bench/ at 500/s, 140 ms for every answer, which refuses by a token bucket: copies,
# failures, refusals of 10,000 objects (22 November 2026, one run each).
@pytest.mark.parametrize(("at_once", "slowdowns", "failed"), [(115, 1200, 0), (143, 1930, 0), (286, 4792, 20)])
def test_refusals_without_bunches_are_those_that_our_own_front_gave(at_once, slowdowns, failed):
    front = P.with_rows(
        known.Parameter(**{**vars(P.row(name)), "value": value, "low": value, "high": value})
        for name, value in (("slowdown_clustering", 1), ("slowdown_s", 0.14))
    )
    modelled = refusals(Calls(at_once, 0.14, "legacy", 5), 500, front)
    assert modelled.slowdowns == pytest.approx(slowdowns / (10_000 - failed + slowdowns), abs=0.01)
    assert modelled.failed == pytest.approx(failed / 10_000, abs=0.002)


@pytest.mark.parametrize("mode", ["legacy", "standard"])
def test_more_attempts_never_leave_more_failed(mode):
    failed = [refusals(Calls(1500, 0.147, mode, attempts), 3500, P).failed for attempts in (1, 2, 4, 8, 16)]
    assert failed == sorted(failed, reverse=True) and failed[0] > failed[-1]
