"""One run of server-side copies in the words of the model, by our Go program and by the published
program.

S3 takes the same time for a copy in both; they differ in the CPU time for a call and a connection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from experiments.copy.key_plan import CopyValues, slices_of
from experiments.objects import pages
from stampede.model.parameters import Parameters
from stampede.model.processor import vcpus
from stampede.model.request_rate import Calls, Refusals, limit, refusals
from stampede.model.work import Step, Work

MEGABYTE = 1e6
# Prefixes of the parameters of our Go program, and of the published one (AWS SDK for Go of 2020).
OURS, PUBLISHED = "transfer", "go_sdk"
# The Go program uses one processor (functions/transfer/internal/process).
THREADS = 1
# DeleteObjects in parallel (functions/transfer/internal/copy/bucket.go).
DELETIONS_AT_ONCE = 4


def work(values: CopyValues, parameters: Parameters) -> Work:
    """One message by our Go program: the whole listing, or a slice of the manifest. Later messages
    of a function reuse its connections."""
    objects = values["object_count"] / (slices_of(values) if values["from_manifest"] else 1)
    copying = copies(values, parameters, objects, call_cpu_s=parameters[f"{OURS}_call_cpu_s"])
    # Without a manifest the destination is emptied and the source listed before the time of the
    # record begins.
    count, before_s = values["object_count"], 0.0
    if not values["from_manifest"]:
        before_s = emptying_s(count, parameters) + pages(count) * parameters["list_page_s"]
    later = Work(
        [copying],
        spread=run_spread(values, parameters, [copying]),
        calls_per_s_cap=values["calls_per_s"],
        attempts=values["retry_attempts"],
        cold_s=parameters["go_start_s"],
        before_s=before_s,
    )
    connecting = connections(copying.at_once, parameters[f"{OURS}_connection_cpu_s"])
    return replace(later, steps=[connecting, copying], repeat=later)


def published(values: CopyValues, parameters: Parameters) -> Work:
    """One run of the published program: a function of its own, all of whose connections are new."""
    copying = copies(values, parameters, values["object_count"], call_cpu_s=0.0)
    steps = [connections(copying.at_once, parameters[f"{PUBLISHED}_connection_cpu_s"]), copying]
    return Work(steps, spread=run_spread(values, parameters, steps))


def throttled(values: CopyValues, parameters: Parameters) -> Refusals:
    """How S3 throttles the calls of all workers, and what fails in the end; at the adaptive pace
    nothing does."""
    per_s, wanted = limit(rate(values), parameters).per_s[0], wanted_per_s(values, parameters)
    if values["pace"] == "adaptive":
        return Refusals(min(wanted, per_s))
    one_s = call_s(values, parameters)
    calls = Calls(wanted * one_s, one_s, values["retry_mode"], values["retry_attempts"])
    return refusals(calls, per_s, parameters)


def rate(values: CopyValues) -> str:
    """The rate limit that applies to a copy."""
    return "s3_put_adaptive" if values["pace"] == "adaptive" else "s3_put"


def wanted_per_s(values: CopyValues, parameters: Parameters) -> float:
    """Calls per second of all workers if S3 took them all. The checks, which come later, refuse
    values out of range."""
    at_once_per_s = max(1, values["parallel_limit"]) / call_s(values, parameters)
    return max(1, values["concurrency_value"]) * min(
        at_once_per_s, values["calls_per_s"] or math.inf
    )


def emptying_s(count: int, parameters: Parameters) -> float:
    """Seconds to empty a destination. It is listed while it is deleted, 1,000 keys per request and
    each key a write to S3, and then listed once more."""
    deleting_s = max(
        pages(count) * parameters["s3_put_s"] / DELETIONS_AT_ONCE,
        count / parameters["s3_put_per_s"],
    )
    return max(pages(count) * parameters["list_page_s"], deleting_s) + parameters["list_page_s"]


def copies(
    values: CopyValues, parameters: Parameters, objects: float, *, call_cpu_s: float
) -> Step:
    """CopyObject of `objects`, up to `parallel_limit` at a time, each with `call_cpu_s` besides the
    wait for S3."""
    at_once, one_s = max(1.0, min(values["parallel_limit"], objects)), call_s(values, parameters)
    return Step(
        "copying",
        requests=objects,
        request_s=one_s,
        at_once=at_once,
        rate=rate(values),
        tail_s=scattered_s(at_once, one_s, parameters) + stalled_s(values, parameters, objects),
        cpu_s=objects * call_cpu_s,
        threads=THREADS,
    )


def connections(at_once: float, cpu_s: float) -> Step:
    """Opening a connection for each parallel call: TLS takes CPU, which is slow on a small share of
    a processor."""
    return Step("opening connections", cpu_s=at_once * cpu_s, threads=THREADS)


def call_s(values: CopyValues, parameters: Parameters) -> float:
    """Mean seconds of one CopyObject, without the client's own time."""
    return (
        parameters["s3_copy_s"] + parameters["s3_copy_s_per_mb"] * values["object_bytes"] / MEGABYTE
    )


def scattered_s(at_once: float, mean_s: float, parameters: Parameters) -> float:
    """How much longer the slowest of the last parallel calls takes than a mean call: the quantile
    1 - 1/n of n log-normal times."""
    sigma, slowest = parameters["s3_write_scatter"], 1 - 1 / (at_once + 1)
    return max(0.0, mean_s * (math.exp(sigma * NormalDist().inv_cdf(slowest) - sigma**2 / 2) - 1))


def stalled_s(values: CopyValues, parameters: Parameters, objects: float) -> float:
    """Mean seconds by which stalled calls delay the end of a run. Stalls are rare and long, and
    their number grows with the bytes. A stall that begins less than `copy_stall_s` before the end
    delays it by its rest.

    If stalls of s seconds come at random, r a second in a run of T seconds, the mean delay for
    s <= T is s - (1 - exp(-r s)) / r. In a shorter run it is that of T seconds, and s - T more if
    any call stalls.
    """
    alone_s = (
        objects * call_s(values, parameters) / max(1.0, min(values["parallel_limit"], objects))
    )
    run_s = max(alone_s, objects * max(1, values["concurrency_value"]) / parameters["s3_put_per_s"])
    within_s = min(parameters["copy_stall_s"], run_s)
    a_second = _stalls(values, parameters, objects) / run_s
    any_of_them = -math.expm1(-a_second * within_s)
    return (parameters["copy_stall_s"] - within_s) * any_of_them + max(
        0.0, within_s - any_of_them / a_second
    )


def run_spread(values: CopyValues, parameters: Parameters, steps: Sequence[Step]) -> float:
    """The relative standard deviation of a run in a function of `memory_size`: the difference
    between the calls of two runs, and the stalls, which a run may have or not."""
    objects, processors = steps[-1].requests, vcpus(values["memory_size"], parameters)
    run_s = 0.0
    for step in steps:
        waiting_s = step.requests * step.request_s / step.at_once
        busy_s = step.cpu_s / min(processors, step.threads)
        run_s += max(waiting_s, busy_s) + step.tail_s
    meets_one = -math.expm1(-_stalls(values, parameters, objects))
    stalled = stalled_s(values, parameters, objects) * math.sqrt(1 / meets_one - 1)
    return math.hypot(call_spread(values, parameters), stalled / run_s)


def call_spread(values: CopyValues, parameters: Parameters) -> float:
    """How much the calls of two runs differ, so far as they decide the duration; at S3's limit all
    runs wait for that."""
    return parameters["copy_spread"] * min(
        1.0, parameters["s3_put_per_s"] / wanted_per_s(values, parameters)
    )


def _stalls(values: CopyValues, parameters: Parameters, objects: float) -> float:
    return parameters["copy_stalls_per_mb"] * objects * values["object_bytes"] / MEGABYTE
