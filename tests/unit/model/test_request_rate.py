"""The requests a second that S3 accepts, and the fate of the others, against arithmetic by hand and
published retries."""

from dataclasses import replace

import pytest

from stampede.model.request_rate import Calls, limit, refusals
from stampede.model.retries import rules_of
from tests.unit.model.scenarios import AWS


def outcome(at_once=800, per_s=3500, known=AWS, call_s=0.147, mode="legacy", attempts=5, **changes):
    """The outcome of the published 800 processes of boto3 with 1 MB copies, with changes."""
    return refusals(Calls(at_once, call_s, mode, attempts, **changes), per_s, known)


@pytest.mark.parametrize(
    ("rate", "per_s", "at_s"),
    [
        ("s3_get", (5500, 11_000, 22_000), (0, 1800, 3600)),
        ("express_put", (100_000,), (0,)),
        ("s3_put_adaptive", (0.985 * 3500,), (0,)),
        ("kms_copy", (AWS["kms_per_s"] / 2,), (0,)),  # a copy asks KMS twice
    ],
)
def test_a_prefix_accepts_the_documented_rates_and_splits(rate, per_s, at_s):
    of_rate = limit(rate, AWS)
    assert of_rate.per_s[: len(per_s)] == pytest.approx(per_s) and of_rate.at_s[: len(at_s)] == at_s
    assert len(of_rate.per_s) == (7 if rate.startswith("s3_") else 1)


def test_retries_leave_as_many_failed_as_published():
    below, four, ten = outcome(at_once=400), outcome(), outcome(attempts=11)
    assert below.per_s == pytest.approx(400 / 0.147) and (below.slowdowns, below.failed) == (0, 0)
    assert 0.0005 < four.failed < 0.0013  # 1,039 to 2,781 of 2,191,200
    assert ten.failed * 2_191_200 < 3 and four.per_s == ten.per_s == 3500


def test_standard_retries_fail_when_slowdowns_cost_more_tokens_than_are_refilled():
    legacy, standard = (outcome(2000, mode=mode).failed for mode in ("legacy", "standard"))
    assert legacy < 0.03 < 0.5 < standard
    # nearly all retries succeed and return their tokens
    assert outcome(mode="standard").failed < 0.002
    # SlowDown meets the same rules before 2026 and since; dearer retries would fail more.
    old, new = (rules_of(f"botocore {version}") for version in ("1.43.106", "1.44.5"))
    failed = [
        outcome(1200, mode="standard", rules=rules).failed
        for rules in (old, new, replace(new, throttle_cost=14))
    ]
    assert failed[0] == failed[1] and 0.004 < failed[1] < failed[2]


# `transfer copy` of 10,000 objects against the front of bench/, a token bucket of 500/s with
# answers after 140 ms: copies, failures, refusals (22 November 2026, one run each).
@pytest.mark.parametrize(("at_once", "slowdowns", "failed"), [(115, 1200, 0), (286, 4792, 20)])
def test_refusals_without_bursts_are_those_of_the_front(at_once, slowdowns, failed):
    front = {"slowdown_clustering": 1, "slowdown_s": 0.14}
    known = AWS.with_rows(replace(AWS.row(name), value=value) for name, value in front.items())
    modelled = outcome(at_once, 500, known, call_s=0.14)
    assert modelled.slowdowns == pytest.approx(slowdowns / (10_000 - failed + slowdowns), abs=0.01)
    assert modelled.failed == pytest.approx(failed / 10_000, abs=0.002)
