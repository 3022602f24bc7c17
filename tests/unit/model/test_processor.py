"""Processors by memory, and what a client can use of them."""

import pytest

from stampede.model import processor

LAMBDA = {"vcpu_at_mb": 1769, "most_vcpus": 6}


@pytest.mark.parametrize(("memory_mb", "vcpus"), [(512, 0.2894), (1769, 1), (10240, 5.7886), (10800, 6)])
def test_vcpus_grow_with_memory_up_to_six(memory_mb, vcpus):
    assert processor.vcpus(memory_mb, LAMBDA) == pytest.approx(vcpus, rel=1e-3)


@pytest.mark.parametrize(
    ("processors", "threads", "seconds"),
    [(0.25, 1.2, 24), (2, 1.2, 5), (2, float("inf"), 3), (float("inf"), 3, 2)],
)
def test_a_client_is_as_fast_as_the_processors_that_it_has_and_can_use(processors, threads, seconds):
    assert processor.seconds(6, processors, threads) == seconds
