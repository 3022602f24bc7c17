"""A function's processors: a share of vCPUs by memory, which a client may not use fully."""

from __future__ import annotations

from collections.abc import Mapping


def vcpus(memory_mb: float, parameters: Mapping[str, float]) -> float:
    """In proportion to memory: one at 1,769 MB, at most six (Lambda guide,
    configuration-memory)."""
    return min(parameters["most_vcpus"], memory_mb / parameters["vcpu_at_mb"])


def seconds(cpu_s: float, processors: float, threads: float) -> float:
    """The seconds that `cpu_s` CPU seconds take on at most `threads` of the `processors`."""
    return cpu_s / min(processors, threads)
