"""The seconds of one operation in a function or on a host of AWS, and what it takes of limits."""

from __future__ import annotations

import numpy as np

from stampede.model import file_system, network, processor, request_rate
from stampede.model.limits import Limit
from stampede.model.operation import Operation, scattered
from stampede.model.parameters import Parameters
from stampede.model.work import Step, Work

VPC = "the VPC's network"
MEGABYTE, MEBIBYTE = 1e6, 2**20


def operation(
    work: Work, memory_mb: int, parameters: Parameters, bandwidth_quota: bool = False
) -> tuple[Operation, list[Limit]]:
    """The operation for `work` in a function of `memory_mb`, and the limits that all operations
    share.

    A step lasts `fixed_s`, plus the longest of waiting for answers, its connections, the function's
    network, its processors and the mount, plus `tail_s`; steps run one after the other. `mean_s`,
    `demands` and `bottleneck` describe an operation that isn't the first in its environment. Raises
    ParameterError for a missing parameter.
    """
    worker = _Worker(work, memory_mb, parameters, bandwidth_quota)
    first = _Seconds(work, worker, network.cold_tokens(parameters))
    later_work = work.repeat or work
    transferred = sum(step.bytes + step.mount_bytes for step in later_work.steps)
    later = _Seconds(later_work, worker, network.warm_tokens(transferred, parameters))
    taken, limits = _shared(later_work, parameters)
    alone = Operation(
        lambda random, count, cold: (first if cold else later).draw(random, count),
        later.mean_s,
        {name: amount / later.mean_s for name, amount in taken.items()},
        sum(step.requests for step in later_work.steps if step.rate) / later.mean_s,
        later.bottleneck,
        first.bottleneck,
    )
    return alone, limits


class _Worker:
    """What a step has at its disposal: the seconds of each of its parts alone, by the part's name
    in words."""

    def __init__(self, work: Work, memory_mb: int, parameters: Parameters, quota: bool) -> None:
        self._work = work
        self._is_host = work.network == "host"
        self._vcpus = float("inf") if self._is_host else processor.vcpus(memory_mb, parameters)
        self._burst_bytes_per_s = parameters["network_burst_bytes_per_s"]
        self._sustained = network.sustained_bytes_per_s(
            memory_mb, parameters, quota and work.network == "function"
        )
        self._memory_mb = memory_mb

    def parts_s(self, step: Step, tokens: np.ndarray) -> dict[str, np.ndarray]:
        transferred = step.bytes + step.mount_bytes
        parts = {}
        if step.requests:
            answer_ms = 1000 * step.request_s
            each = f"{answer_ms:,.0f}" if answer_ms >= 100 else f"{answer_ms:.3g}"
            waiting = f"waiting for answers, {each} ms each, {step.at_once:g} at a time"
            parts[waiting] = step.requests * step.request_s / step.at_once
        if step.requests and self._work.calls_per_s_cap:
            cap_per_s = self._work.calls_per_s_cap
            parts[f"the cap of {cap_per_s:g} calls/s"] = step.requests / cap_per_s
        if step.bytes:
            speed = f"{step.stream_bytes_per_s / MEGABYTE:.0f} MB/s"
            connections = (
                f"{step.at_once:g} connections of {speed} each"
                if step.at_once > 1
                else f"one connection, {speed}"
            )
            parts[connections] = step.bytes / (step.at_once * step.stream_bytes_per_s)
        if transferred and not self._is_host:
            flow = f"the function's network, {self._sustained / MEBIBYTE:.0f} MiB/s after the burst"
            parts[flow] = network.seconds(
                transferred, tokens, self._burst_bytes_per_s, self._sustained
            )
        if step.mount_bytes:
            mount = f"the mount, {step.mount_bytes_per_s / MEGABYTE:.0f} MB/s for one function"
            parts[mount] = step.mount_bytes / step.mount_bytes_per_s
        if step.cpu_s:
            vcpus = f"{self._vcpus:.2f} vCPU at {self._memory_mb} MB"
            processors = f"the function's processors, {vcpus}"
            if step.threads < self._vcpus:
                most = "1 processor" if step.threads == 1 else f"{step.threads:g} processors"
                processors = f"the client's processing, {most} at most"
            parts[processors] = processor.seconds(step.cpu_s, self._vcpus, step.threads)
        return {what: np.broadcast_to(part_s, tokens.shape) for what, part_s in parts.items()}


class _Seconds:
    """The seconds of a work, for each fill level of the network's bucket."""

    def __init__(self, work: Work, worker: _Worker, states: tuple[np.ndarray, np.ndarray]) -> None:
        tokens, self._shares = states
        self._spread = work.spread
        self._seconds = np.zeros(tokens.shape)
        self.bottleneck = "nothing"
        longest_s = -1.0
        for step in work.steps:
            parts = worker.parts_s(step, tokens)
            slowest = np.maximum.reduce([np.zeros(tokens.shape), *parts.values()])
            self._seconds = self._seconds + step.fixed_s + slowest + step.tail_s
            for what, part_s in parts.items():
                mean_s = float(part_s @ self._shares)
                if mean_s > longest_s:
                    self.bottleneck, longest_s = what, mean_s
            tokens = np.maximum(0.0, tokens - step.bytes - step.mount_bytes)
        self.mean_s = float(self._seconds @ self._shares)

    def draw(self, random: np.random.Generator, count: int) -> np.ndarray:
        """`count` random seconds: a fill level each, scattered."""
        if len(self._shares) == 1:
            return scattered(np.full(count, self._seconds[0]), self._spread, random)
        at = random.choice(len(self._shares), size=count, p=self._shares)
        return scattered(self._seconds[at], self._spread, random)


def _shared(work: Work, parameters: Parameters) -> tuple[dict[str, float], list[Limit]]:
    """What an operation takes of each shared limit in total, and those limits."""
    taken: dict[str, float] = {}
    limits = []
    transferred = sum(step.bytes + step.mount_bytes for step in work.steps)
    if work.network == "vpc" and transferred:
        limits.append(Limit(VPC, (parameters["vpc_bytes_per_s"] * work.subnets,)))
        taken[VPC] = transferred
    if mounted := sum(step.mount_bytes for step in work.steps):
        limits.append(file_system.limit(parameters))
        taken[file_system.ALL_CLIENTS] = mounted
    for step in work.steps:
        if step.rate and step.requests:
            limit = request_rate.limit(step.rate, parameters)
            if limit.name not in taken:
                limits.append(limit)
            taken[limit.name] = taken.get(limit.name, 0.0) + step.requests
    return taken, limits
