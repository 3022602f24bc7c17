"""One operation: its slowest part, its additional time, and its share of common limits."""

import numpy as np
import pytest

from stampede.model import network
from stampede.model.function import operation as of
from stampede.model.parameters import ParameterError, Parameters
from stampede.model.work import Step, Work
from tests.unit.model.scenarios import AWS

GIB, MIB = 2**30, 2**20


def drawn(*steps, count=1, cold=False, memory_mb=1769, quota=False, **work):
    """The operation of these steps, and samples of its seconds."""
    operation, _ = of(Work(steps, **work), memory_mb, AWS, quota)
    return operation, operation.draw(np.random.default_rng(1), count, cold)


ANSWERS = {"requests": 1000, "request_s": 0.03, "at_once": 10}
THREADS = {"cpu_s": 6.0, "threads": 9}


@pytest.mark.parametrize(
    ("parts", "where", "expected_s", "binds"),
    [
        (ANSWERS, {}, 3.0, "waiting for answers, 30 ms each, 10 at a time"),
        (ANSWERS, {"calls_per_s_cap": 50}, 20, "the cap of 50"),
        (
            {"bytes": 3600e6, "stream_bytes_per_s": 9e6, "at_once": 8},
            {},
            50.0,
            "8 connections of 9 MB/s each",
        ),
        ({"mount_bytes": 300e6, "mount_bytes_per_s": 60e6}, {}, 5.0, "the mount, 60 MB/s"),
        ({"cpu_s": 4.0, "threads": 0.5}, {}, 8.0, "the client's processing, 0.5"),
        ({"cpu_s": 20.0}, {"memory_mb": 10_800}, 20, "the client's"),  # one thread of six vCPUs
        (THREADS, {"memory_mb": 512}, 20.73, "the function's"),
        # The slowest of all parts, and what comes on top.
        (
            ANSWERS | {"cpu_s": 4.0, "fixed_s": 0.5, "tail_s": 0.25},
            {},
            0.5 + 4 + 0.25,
            "the function's",
        ),
        # A host has neither a bucket nor a share of processors.
        (
            {"bytes": GIB, "stream_bytes_per_s": GIB, "cpu_s": 4, "threads": 2},
            {"network": "host"},
            2.0,
            "the client's",
        ),
    ],
)
def test_a_step_lasts_as_long_as_its_slowest_part_and_its_additional_time(
    parts, where, expected_s, binds
):
    operation, [own_s] = drawn(Step("it", **parts), **where)
    assert [operation.mean_s, own_s] == pytest.approx([expected_s] * 2, rel=0.001)
    assert operation.bottleneck.startswith(binds)


def test_bytes_flow_at_the_burst_rate_while_there_are_tokens():
    # a new environment, half of the bucket refilled, none left
    tokens = np.array([300.0, 150, 0]) * MIB
    expected_s = [0.25 + (1024 - 300) / 75, 0.125 + (1024 - 150) / 75, 1024 / 75]
    assert network.seconds(GIB, tokens, 1200 * MIB, 75 * MIB) == pytest.approx(expected_s)
    half = Step("half", bytes=GIB / 2)  # steps come one after the other on one bucket
    for steps in ([Step("it", bytes=GIB)], [half, half]):
        assert drawn(*steps, cold=True)[1] == pytest.approx([9.9], abs=0.01)
    _, warm_s = drawn(Step("it", bytes=GIB), count=1000)
    assert np.unique(warm_s.round(2)).tolist() == [11.78, 13.65]
    refilled = AWS["network_refilled"]
    assert np.mean(warm_s < 12) == pytest.approx(refilled, abs=0.05)


def test_the_quota_grows_with_memory_from_2_to_10_gb_and_applies_only_outside_of_a_vpc():
    known = {
        "network_bytes_per_s": 75e6,
        "quota_2_gb_bytes_per_s": 70e6,
        "quota_10_gb_bytes_per_s": 370e6,
    }
    by_memory = {10240: 370e6, 6144: 220e6, 3072: 107.5e6, 2048: 75e6, 1024: 75e6}
    assert {
        mb: network.sustained_bytes_per_s(mb, known, quota=True) for mb in by_memory
    } == by_memory
    step, options = Step("it", bytes=GIB), {"memory_mb": 10240, "quota": True}
    function = drawn(step, network="function", **options)[0].mean_s
    vpc = drawn(step, network="vpc", **options)[0].mean_s
    assert vpc > 4 * function


def test_repeated_work_may_take_less_and_the_spread_keeps_the_mean():
    again = Work([Step("again", cpu_s=10.0)], spread=0.1)
    operation, first = drawn(Step("first", cpu_s=30.0), cold=True, repeat=again)
    later, same = (operation.draw(np.random.default_rng(1), 200_000, False) for _ in range(2))
    assert (first[0], operation.mean_s) == (30, 10) and (later == same).all()
    assert (later.mean(), later.std()) == (pytest.approx(10, rel=0.002), pytest.approx(1, rel=0.01))


def test_shared_limits_are_used_by_the_second():
    _, [limit] = of(Work([Step("it", bytes=1e9)], network="vpc", subnets=2), 1769, AWS)
    assert limit.per_s == (2 * AWS["vpc_bytes_per_s"],)
    # 128 functions in one subnet were measured at 42 to 45 MB/s each.
    many, [limit] = of(Work([Step("it", bytes=GIB)], network="vpc"), 7000, AWS)
    progress = limit.per_s[0] / (128 * many.demands[limit.name])
    assert 42 < GIB / many.mean_s * progress / 1e6 < 45
    mounted, [limit] = of(Work([Step("it", mount_bytes=1e9, mount_bytes_per_s=50e6)]), 1769, AWS)
    assert limit.per_s == (AWS["efs_bytes_per_s"],)
    assert mounted.demands == pytest.approx({limit.name: 50e6})
    steps = [
        Step("on a mount", requests=100, request_s=0.01),
        Step("of S3", requests=10, request_s=0.1, rate="s3_get"),
    ]
    assert drawn(*steps)[0].requests_per_s == 10 / 2


def test_a_missing_parameter_is_named():
    with pytest.raises(ParameterError, match="most_vcpus: the model has no such parameter"):
        of(Work([Step("it", bytes=GIB)]), 1769, Parameters([]))
