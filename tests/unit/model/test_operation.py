"""One operation: the slowest of what goes on at once, what comes on top, and what it takes of what all share."""

import numpy as np
import pytest

from stampede.model import network
from stampede.model.function import operation as of
from stampede.model.parameters import ParameterError, Parameters
from stampede.model.work import Step, Work
from tests.unit.model.scenarios import AWS

GIB, MIB = 2**30, 2**20
SKYRISE = {"network_burst_bytes": 300 * MIB, "network_refill_share": 0.5, "network_refilled": 0.4}
SKYRISE |= {"network_bytes_per_s": 75 * MIB, "quota_2_gb_bytes_per_s": 75e6, "quota_10_gb_bytes_per_s": 375e6}


def drawn(*steps, count=1, cold=False, memory_mb=1769, quota=False, **work):
    """The operation of these steps, and the seconds of some."""
    operation, _ = of(Work(steps, **work), memory_mb, AWS, quota)
    return operation, operation.draw(np.random.default_rng(1), count, cold)


@pytest.mark.parametrize(
    ("parts", "expected_s", "binds"),
    [
        ({"requests": 1000, "request_s": 0.03, "at_once": 10}, 3.0, "waiting for answers, 30 ms each, 10 at a time"),
        ({"bytes": 180e6, "stream_bytes_per_s": 45e6}, 4.0, "one connection, 45 MB/s"),
        ({"bytes": 3600e6, "stream_bytes_per_s": 9e6, "at_once": 8}, 50.0, "8 connections of 9 MB/s each"),
        ({"mount_bytes": 300e6, "mount_bytes_per_s": 60e6}, 5.0, "the mount, 60 MB/s for one function"),
        ({"cpu_s": 4.0, "threads": 8}, 4.0, "the function's processors, 1.00 vCPU at 1769 MB"),
        ({"cpu_s": 4.0, "threads": 0.5}, 8.0, "the client's processing, 0.5 processors at most"),
    ],
)
def test_each_part_alone_has_its_own_time(parts, expected_s, binds):
    operation, _ = drawn(Step("it", **parts))
    assert (operation.mean_s, operation.bottleneck) == (pytest.approx(expected_s, rel=0.001), binds)


def test_a_step_lasts_as_long_as_its_slowest_part_and_what_comes_on_top():
    step = Step("it", fixed_s=0.5, requests=10, request_s=0.1, cpu_s=2.0, tail_s=0.25)
    assert drawn(step)[1] == pytest.approx([0.5 + 2.0 + 0.25])
    assert drawn(Step("it", cpu_s=20.0), memory_mb=10_800)[1] == [20]  # one thread of six vCPUs
    threads = {"cpu_s": 6.0, "threads": 9}
    assert [drawn(Step("it", **threads), memory_mb=mb)[1][0] for mb in (512, 10_800)] == pytest.approx([20.73, 1], 1e-3)
    capped, _ = drawn(Step("it", requests=1000, request_s=0.01, at_once=100), calls_per_s_cap=50)
    assert (capped.mean_s, capped.bottleneck) == (20, "the cap of 50 calls/s")
    # A host has neither a bucket nor a share of processors.
    [on_host] = drawn(Step("it", bytes=GIB, stream_bytes_per_s=GIB, cpu_s=4, threads=2), network="host")[1]
    assert on_host == 2.0


def test_a_gibibyte_flows_at_the_bursts_rate_for_as_long_as_there_are_tokens():
    tokens = np.array([300.0, 150, 0]) * MIB  # a new environment, half of the bucket refilled, none left
    expected_s = [0.25 + (1024 - 300) / 75, 0.125 + (1024 - 150) / 75, 1024 / 75]
    assert network.seconds(GIB, tokens, 1200 * MIB, 75 * MIB) == pytest.approx(expected_s)
    assert drawn(Step("it", bytes=GIB), count=3, cold=True)[1] == pytest.approx([9.9] * 3, abs=0.01)
    half = Step("half", bytes=GIB / 2)  # steps come one after the other on one bucket
    assert drawn(half, half, cold=True)[1] == pytest.approx([9.9], abs=0.01)
    _, warm_s = drawn(Step("it", bytes=GIB), count=1000)
    assert np.unique(warm_s.round(2)).tolist() == [11.78, 13.65]
    assert np.mean(warm_s < 12) == pytest.approx(AWS["network_refilled"], abs=0.05)


def test_the_quota_grows_with_memory_from_2_to_10_gb_and_counts_outside_of_a_vpc_only():
    by_memory = {10240: 375e6, 6144: 225e6, 3072: 112.5e6, 2048: 75 * MIB, 1024: 75 * MIB}
    for memory_mb, per_s in by_memory.items():
        assert network.sustained_bytes_per_s(memory_mb, SKYRISE, quota=True) == per_s
    assert network.sustained_bytes_per_s(10240, SKYRISE, quota=False) == 75 * MIB
    places = {"function": 375e6, "vpc": AWS["network_bytes_per_s"]}
    for place, per_s in places.items():
        operation, _ = drawn(Step("it", bytes=GIB), memory_mb=10240, quota=True, network=place)
        refilled = AWS["network_refilled"]
        assert operation.mean_s == pytest.approx((GIB - refilled * 150 * MIB) / per_s + refilled * 0.122, rel=0.001)


def test_what_a_worker_does_again_may_take_less_and_the_spread_is_around_the_same_mean():
    again = Work([Step("again", cpu_s=10.0)], spread=0.1)
    operation, first = drawn(Step("first", cpu_s=30.0), cold=True, repeat=again)
    later = operation.draw(np.random.default_rng(1), 200_000, False)
    assert (first[0], operation.mean_s) == (30, 10)
    assert (later.mean(), later.std()) == (pytest.approx(10, rel=0.002), pytest.approx(1, rel=0.01))
    assert later[:5].tolist() == operation.draw(np.random.default_rng(1), 200_000, False)[:5].tolist()


def test_what_all_share_is_taken_of_by_the_second():
    vpc, [limit] = of(Work([Step("it", bytes=1e9, cpu_s=20)], network="vpc", subnets=2), 1769, AWS)
    assert (limit.name, limit.per_s) == ("the VPC's network", (2 * AWS["vpc_bytes_per_s"],))
    assert vpc.demands == pytest.approx({limit.name: 1e9 / 20})
    # 128 functions in one subnet were measured at 42 to 45 MB/s each.
    many, [limit] = of(Work([Step("it", bytes=GIB)], network="vpc"), 7000, AWS)
    progress = limit.per_s[0] / (128 * many.demands[limit.name])
    assert 42 < GIB / many.mean_s * progress / 1e6 < 45
    mounted, [limit] = of(Work([Step("it", mount_bytes=1e9, mount_bytes_per_s=50e6)]), 1769, AWS)
    assert (limit.per_s, mounted.demands) == ((AWS["efs_bytes_per_s"],), pytest.approx({limit.name: 50e6}))
    steps = [Step("on a mount", requests=100, request_s=0.01), Step("of S3", requests=10, request_s=0.1, rate="s3_get")]
    assert drawn(*steps)[0].requests_per_s == 10 / 2


def test_a_parameter_that_is_missing_is_named():
    with pytest.raises(ParameterError, match="most_vcpus: the model has no such parameter"):
        of(Work([Step("it", bytes=GIB)]), 1769, Parameters([]))
