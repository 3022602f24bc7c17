"""The processors of a function: a share of vCPUs by its memory, of which a client may not be able
to use all."""

from __future__ import annotations

from collections.abc import Mapping


def vcpus(memory_mb: float, parameters: Mapping[str, float]) -> float:
    """The vCPUs of a function: proportional to its memory, one at 1,769 MB, six at most (Lambda
    guide, configuration-memory)."""
    return min(parameters["most_vcpus"], memory_mb / parameters["vcpu_at_mb"])


def seconds(cpu_s: float, processors: float, threads: float) -> float:
    """The seconds in which `cpu_s` CPU seconds pass on so many `processors`, of which it uses
    `threads` at most."""
    return cpu_s / min(processors, threads)
