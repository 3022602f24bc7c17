"""One operation: the slowest of what goes on at once, what comes on top, and what it takes of what all share."""

import numpy as np
import pytest

from stampede.model.function import operation as of
from stampede.model.limits import Limit
from stampede.model.parameters import AWS, ParameterError, Parameters, read
from stampede.model.work import Step, Work

GIB, MIB = 2**30, 2**20
PARAMETERS = Parameters(read(AWS))


def seconds(step, memory_mb=1769, cold=False, **work):
    """Of one operation of one step."""
    operation, _ = of(Work([step], **work), memory_mb, PARAMETERS)
    return operation.draw(np.random.default_rng(1), 1, cold)[0]


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
    operation, _ = of(Work([Step("it", **parts)]), 1769, PARAMETERS)
    assert operation.mean_s == pytest.approx(expected_s, rel=0.001)
    assert operation.bottleneck == binds


def test_a_step_lasts_as_long_as_its_slowest_part_and_what_comes_on_top():
    step = Step("it", fixed_s=0.5, requests=10, request_s=0.1, cpu_s=2.0, tail_s=0.25)
    assert seconds(step) == pytest.approx(0.5 + 2.0 + 0.25)


def test_steps_come_one_after_the_other_on_one_bucket():
    whole, half = Step("whole", bytes=GIB), Step("half", bytes=GIB / 2)
    undivided, divided = (of(Work(steps), 1769, PARAMETERS)[0] for steps in ([whole], [half, half]))
    assert divided.draw(np.random.default_rng(1), 1, True) == pytest.approx(
        undivided.draw(np.random.default_rng(1), 1, True)
    )


def test_a_gibibyte_takes_less_cold_than_warm_and_most_when_nothing_is_refilled():
    operation, _ = of(Work([Step("it", bytes=GIB)]), 1769, PARAMETERS)
    drawn = operation.draw(np.random.default_rng(1), 1000, False)
    assert operation.draw(np.random.default_rng(1), 3, True) == pytest.approx([9.9] * 3, abs=0.01)
    assert np.unique(drawn.round(2)).tolist() == [11.78, 13.65]
    assert np.mean(drawn < 12) == pytest.approx(PARAMETERS["network_refilled"], abs=0.05)


def test_the_quota_counts_outside_of_a_vpc_only():
    step = Step("it", bytes=GIB)
    outside, inside = (of(Work([step], network=where), 10240, PARAMETERS, True)[0] for where in ("function", "vpc"))
    refilled = PARAMETERS["network_refilled"]
    assert outside.mean_s == pytest.approx((GIB - refilled * 150 * MIB) / 375e6 + refilled * 0.122, rel=0.001)
    assert inside.mean_s == of(Work([step]), 10240, PARAMETERS)[0].mean_s


def test_a_host_has_neither_a_bucket_nor_a_share_of_processors():
    assert seconds(Step("it", bytes=GIB, stream_bytes_per_s=GIB, cpu_s=4, threads=2), network="host") == 2.0


def test_what_a_worker_does_again_may_take_less():
    first, again = Step("first", cpu_s=3.0), Step("again", cpu_s=1.0)
    operation, _ = of(Work([first], repeat=Work([again])), 1769, PARAMETERS)
    random = np.random.default_rng(1)
    assert [operation.draw(random, 1, cold)[0] for cold in (True, False)] == [3.0, 1.0]
    assert operation.mean_s == 1.0


def test_the_spread_is_a_relative_standard_deviation_around_the_same_mean():
    operation, _ = of(Work([Step("it", cpu_s=10.0)], spread=0.1), 1769, PARAMETERS)
    drawn = operation.draw(np.random.default_rng(1), 200_000, False)
    assert (drawn.mean(), drawn.std()) == (pytest.approx(10, rel=0.002), pytest.approx(1, rel=0.01))


def test_the_same_generator_draws_the_same():
    operation, _ = of(Work([Step("it", bytes=GIB)], spread=0.1), 1769, PARAMETERS)
    first, second = (operation.draw(np.random.default_rng(7), 5, False).tolist() for _ in range(2))
    assert first == second


def test_a_cap_that_the_worker_keeps_is_a_part_like_the_others():
    step = Step("it", requests=1000, request_s=0.01, at_once=100)
    operation, _ = of(Work([step], calls_per_s_cap=50), 1769, PARAMETERS)
    assert (operation.mean_s, operation.bottleneck) == (20, "the cap of 50 calls/s")


def test_functions_of_a_vpc_share_its_network_by_subnet():
    operation, limits = of(Work([Step("it", bytes=1e9, cpu_s=20)], network="vpc", subnets=2), 1769, PARAMETERS)
    assert limits == [Limit("the VPC's network", (2 * PARAMETERS["vpc_bytes_per_s"],))]
    assert operation.demands == pytest.approx({"the VPC's network": 1e9 / 20})


def test_128_functions_in_one_subnet_get_42_to_45_mb_a_second_each():
    operation, limits = of(Work([Step("it", bytes=GIB)], network="vpc"), 7000, PARAMETERS)
    progress = limits[0].per_s[0] / (128 * operation.demands[limits[0].name])
    assert 42 < GIB / operation.mean_s * progress / 1e6 < 45


def test_all_who_read_a_file_system_share_what_it_gives():
    operation, limits = of(Work([Step("it", mount_bytes=1e9, mount_bytes_per_s=50e6)]), 1769, PARAMETERS)
    assert limits == [Limit("the file system's throughput", (PARAMETERS["efs_bytes_per_s"],))]
    assert operation.demands == pytest.approx({"the file system's throughput": 50e6})


def test_requests_that_no_limit_names_are_not_counted():
    steps = [Step("on a mount", requests=100, request_s=0.01), Step("of S3", requests=10, request_s=0.1, rate="s3_get")]
    operation, _ = of(Work(steps), 1769, PARAMETERS)
    assert operation.requests_per_s == 10 / 2


def test_a_parameter_that_is_missing_is_named():
    with pytest.raises(ParameterError, match="most_vcpus: the model has no such parameter"):
        of(Work([Step("it", bytes=GIB)]), 1769, Parameters([]))


def test_nothing_to_do_takes_no_time_but_what_is_fixed():
    assert seconds(Step("it", fixed_s=0.2)) == 0.2
