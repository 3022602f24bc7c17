"""The network of a function: its bucket for a burst, what flows after it, and the quota."""

import numpy as np
import pytest

from stampede.model import network

GIB, MIB = 2**30, 2**20
SKYRISE = {
    "network_burst_bytes": 300 * MIB,
    "network_burst_bytes_per_s": 1200 * MIB,
    "network_bytes_per_s": 75 * MIB,
    "network_refill_share": 0.5,
    "network_refilled": 0.4,
    "quota_2_gb_bytes_per_s": 75e6,
    "quota_10_gb_bytes_per_s": 375e6,
}


@pytest.mark.parametrize(
    ("tokens_mib", "seconds"),
    [
        (300, 0.25 + (1024 - 300) / 75),  # a new environment: 9.9 s
        (150, 0.125 + (1024 - 150) / 75),  # half of the bucket refilled: 11.8 s
        (0, 1024 / 75),  # none left: 13.7 s
    ],
)
def test_a_gibibyte_flows_at_the_burst_s_rate_for_as_long_as_there_are_tokens(tokens_mib, seconds):
    transfer_s = network.seconds(GIB, np.array([tokens_mib * MIB]), 1200 * MIB, 75 * MIB)
    assert transfer_s == pytest.approx([seconds])


def test_what_is_smaller_than_the_bucket_never_meets_the_rate_after_it():
    assert network.seconds(120 * MIB, np.array([300.0 * MIB]), 1200 * MIB, 75 * MIB) == pytest.approx([0.1])


def test_a_new_environment_has_all_of_its_burst():
    tokens, shares = network.cold_tokens(SKYRISE)
    assert (tokens.tolist(), shares.tolist()) == ([300 * MIB], [1.0])


def test_large_operations_find_half_of_the_bucket_or_nothing():
    tokens, shares = network.warm_tokens(GIB, SKYRISE)
    assert tokens.tolist() == [0, 150 * MIB]
    assert shares == pytest.approx([0.6, 0.4])


def test_small_operations_live_on_what_a_refill_some_operations_ago_left():
    tokens, shares = network.warm_tokens(50 * MIB, SKYRISE)
    assert (tokens / MIB).tolist() == [0, 50, 100, 150]
    assert shares == pytest.approx([0.6**3, 0.6**2 * 0.4, 0.6 * 0.4, 0.4])


def test_a_bucket_that_always_refills_has_one_state():
    tokens, shares = network.warm_tokens(GIB, SKYRISE | {"network_refilled": 1.0})
    assert (tokens.tolist(), shares.tolist()) == ([150 * MIB], [1.0])


@pytest.mark.parametrize(("memory_mb", "mb_per_s"), [(10240, 375), (6144, 225), (3072, 112.5)])
def test_the_quota_grows_with_memory_from_2_to_10_gb(memory_mb, mb_per_s):
    assert network.sustained_bytes_per_s(memory_mb, SKYRISE, quota=True) == mb_per_s * 1e6


@pytest.mark.parametrize(("memory_mb", "quota"), [(10240, False), (1024, True), (2048, True)])
def test_without_the_quota_or_below_2_gb_flows_what_flows_at_every_memory_size(memory_mb, quota):
    assert network.sustained_bytes_per_s(memory_mb, SKYRISE, quota) == 75 * MIB
