"""What S3 takes of requests a second, and what becomes of the rest: by hand arithmetic and the published retries."""

from dataclasses import replace

import pytest

from stampede.model.request_rate import Calls, limit, refusals
from stampede.model.retries import rules_of
from tests.unit.model.scenarios import AWS

# As published: 800 processes of boto3 with 1 MB copies, by retries beside the first try.
PUBLISHED = Calls(800, 0.147, "legacy", 5)


def test_a_prefix_takes_what_is_documented_and_splits():
    reads = limit("s3_get", AWS)
    assert reads.per_s[:3] == (5500, 11_000, 22_000) and reads.at_s[:3] == (0, 1800, 3600)
    writes = limit("s3_put", AWS)
    assert writes.per_s[:2] == (3500, 7000) and writes.at_s[1] == 60 * AWS["write_split_minutes"]
    directory = {"express_put": 100_000, "express_get": 200_000}
    assert {name: limit(name, AWS).per_s for name in directory} == {name: (per_s,) for name, per_s in directory.items()}
    assert limit("s3_put_adaptive", AWS).per_s[0] == pytest.approx(0.985 * 3500)
    assert limit("kms_copy", AWS).per_s == (AWS["kms_per_s"] / 2,)  # a copy asks KMS twice


def test_retries_leave_as_many_failed_as_published():
    below = refusals(replace(PUBLISHED, at_once=400), 3500, AWS)
    assert below.per_s == pytest.approx(400 / 0.147) and (below.slowdowns, below.failed) == (0, 0)
    four, ten = (refusals(replace(PUBLISHED, attempts=attempts), 3500, AWS) for attempts in (5, 11))
    assert 0.0005 < four.failed < 0.0013  # 1,039 to 2,781 of 2,191,200
    assert ten.failed * 2_191_200 < 3 and four.per_s == ten.per_s == 3500


def test_time_is_accounted_for_where_calls_are_turned_down():
    """Of each worker's second: calls taken, calls turned down, and pauses of half a second."""
    outcome = refusals(Calls(700, 0.1, "legacy", 2), 3500, AWS)
    turned_down_per_s = outcome.slowdowns / (1 - outcome.slowdowns) * 3500
    pauses = 3500 / (1 - outcome.failed) * outcome.refused * 0.5
    assert 3500 * 0.1 + turned_down_per_s * AWS["slowdown_s"] + pauses == pytest.approx(700, rel=1e-6)


def test_standard_retries_turn_slowdowns_into_failures_when_more_tokens_are_lost_than_come():
    legacy, standard = (refusals(Calls(2000, 0.147, mode, 5), 3500, AWS) for mode in ("legacy", "standard"))
    assert legacy.failed < 0.03 < 0.5 < standard.failed
    # Where nearly all retries succeed, the tokens come back.
    assert refusals(replace(PUBLISHED, retry_mode="standard"), 3500, AWS).failed < 0.002
    # SlowDown meets the same rules before 2026 and since; dearer retries would fail more.
    calls = Calls(1200, 0.147, "standard", 5)
    both = (replace(calls, rules=rules_of(f"botocore {version}")) for version in ("1.43.106", "1.44.5"))
    old, new = (refusals(calls, 3500, AWS) for calls in both)
    dearer = refusals(replace(calls, rules=replace(calls.rules, throttle_cost=14)), 3500, AWS)
    assert old == new and 0.004 < old.failed < dearer.failed


# `transfer copy` before the front of bench/ at 500/s, 140 ms for every answer, which refuses by a token bucket: copies,
# failures, refusals of 10,000 objects (22 November 2026, one run each).
@pytest.mark.parametrize(("at_once", "slowdowns", "failed"), [(115, 1200, 0), (143, 1930, 0), (286, 4792, 20)])
def test_refusals_without_bunches_are_those_that_our_own_front_gave(at_once, slowdowns, failed):
    front = {"slowdown_clustering": 1, "slowdown_s": 0.14}
    known = AWS.with_rows(replace(AWS.row(name), value=value) for name, value in front.items())
    modelled = refusals(Calls(at_once, 0.14, "legacy", 5), 500, known)
    assert modelled.slowdowns == pytest.approx(slowdowns / (10_000 - failed + slowdowns), abs=0.01)
    assert modelled.failed == pytest.approx(failed / 10_000, abs=0.002)


@pytest.mark.parametrize("mode", ["legacy", "standard"])
def test_more_attempts_never_leave_more_failed(mode):
    failed = [refusals(Calls(1500, 0.147, mode, attempts), 3500, AWS).failed for attempts in (1, 2, 4, 8, 16)]
    assert failed == sorted(failed, reverse=True) and failed[0] > failed[-1]
