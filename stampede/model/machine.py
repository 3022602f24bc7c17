"""An operation on one machine: clients, the embedded S3 and what hands messages out share its processors.

The client's CPU seconds are the experiment's, those of the embedded S3 so much a request and a byte. One operation
alone is a closed network of two stations, the client's threads and the S3's one process, through which as many requests
go at once as the step says. Its seconds are the lower bound that operational analysis gives for such a network, the
greatest of: the work of the busier station, the waits for answers, and all work of both one after the other, divided by
how many requests go at once (Denning and Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing
Surveys 10(3), 1978). Memory size changes nothing, and there is no network but loopback.
"""

from __future__ import annotations

import numpy as np

from stampede.model.limits import Limit
from stampede.model.operation import Operation, scattered
from stampede.model.parameters import CALIBRATION, Parameters
from stampede.model.work import Step, Work

PROCESSORS = "this machine's processors"
# MiniStack answers every request, and hands every message out, in one Python process.
EMBEDDED = "the embedded AWS, one process"
UNITS = {PROCESSORS: "for all", EMBEDDED: "processor for all"}
GIB = 2**30


def operation(work: Work, parameters: Parameters) -> tuple[Operation, list[Limit]]:
    """The operation that `work` is on this machine, and the limits that all share.

    Limits are in processors, demands in CPU seconds a second. Seconds, demands and `bottleneck` are those of an
    operation that isn't the first of its environment. Raises ParameterError where one is missing.
    """
    first, later = _Seconds(work, parameters), _Seconds(work.repeat or work, parameters)
    # What it takes to hand a message out and to account for it, in each second of a worker's round.
    round_s = later.mean_s + parameters["hand_over_s"]
    handing_out = {EMBEDDED: parameters["message_cpu_s"] / round_s}
    handing_out[PROCESSORS] = handing_out[EMBEDDED] + parameters["message_elsewhere_cpu_s"] / round_s
    taken = {PROCESSORS: later.client_s_per_s + later.server_s_per_s, EMBEDDED: later.server_s_per_s}
    capacity = {PROCESSORS: parameters["processors"], EMBEDDED: 1.0}
    # A message is handed out to one worker while the others work, so it slows none that is alone.
    demands = {name: min(taken[name] + handing_out[name], max(taken[name], per_s)) for name, per_s in capacity.items()}
    is_calibrated = parameters.row("processors").source.startswith(CALIBRATION)
    units = UNITS | ({PROCESSORS: "free at the calibration"} if is_calibrated else {})
    limits = [Limit(name, (per_s,), unit=units[name]) for name, per_s in capacity.items()]
    requests = sum(step.requests for step in (work.repeat or work).steps)
    alone = Operation(
        lambda random, count, cold: (first if cold else later).draw(random, count),
        later.mean_s,
        demands,
        requests / later.mean_s,
        later.bottleneck,
    )
    return alone, limits


def cold_start(alone_s: float, together: int, parameters: Parameters) -> tuple[float, float]:
    """Seconds of a cold start, and their relative standard deviation, where so many begin at once: it is work of the
    processors from end to end (Python loads boto3), so they share those. `alone_s` is one by itself."""
    at_once = max(1.0, together / parameters["processors"])
    return alone_s * at_once, parameters["cold_spread"] if at_once > 1 else 0.0


class _Seconds:
    """The seconds of a work alone on the machine, and the CPU seconds that pass in each of them."""

    def __init__(self, work: Work, parameters: Parameters) -> None:
        self._spread = work.spread
        self.mean_s, self.bottleneck = 0.0, "nothing"
        longest_s, client_s, server_s = -1.0, 0.0, 0.0
        for step in work.steps:
            parts = _parts_s(step, work.calls_per_s_cap, parameters)
            slowest = max(parts, key=parts.__getitem__)
            self.mean_s += step.fixed_s + parts[slowest] + step.tail_s
            if parts[slowest] > longest_s:
                self.bottleneck, longest_s = slowest, parts[slowest]
            client_s += step.cpu_s * parameters["client_slowness"]
            server_s += _server_s(step, parameters)
        self.client_s_per_s, self.server_s_per_s = client_s / self.mean_s, server_s / self.mean_s

    def draw(self, random: np.random.Generator, count: int) -> np.ndarray:
        """So many seconds, scattered."""
        return scattered(np.full(count, self.mean_s), self._spread, random)


def _parts_s(step: Step, calls_per_s_cap: float, parameters: Parameters) -> dict[str, float]:
    """The seconds of what goes on at once in a step, each by itself, by what it is in words."""
    client_s = step.cpu_s * parameters["client_slowness"] / min(step.threads, parameters["processors"])
    server_s = _server_s(step, parameters)
    parts = {
        "the client's processing": client_s,
        EMBEDDED: server_s,
        "waiting for answers": step.requests * step.request_s / step.at_once,
        "client and embedded S3 in turn": (client_s + server_s) / _in_flight(step, parameters),
        "the connections": step.bytes / (step.at_once * step.stream_bytes_per_s),
        "the mount": step.mount_bytes / step.mount_bytes_per_s,
    }
    if calls_per_s_cap:
        parts[f"the cap of {calls_per_s_cap:g} calls/s"] = step.requests / calls_per_s_cap
    return parts


def _server_s(step: Step, parameters: Parameters) -> float:
    """CPU seconds of the embedded S3, for the requests that count against a rate and the bytes that it sends or takes.

    It is dearer to take bytes, and to send a body so large that the memory for it is new each time.
    """
    # The function's role has policies to evaluate; a calibration asks with the account's own key.
    request_s = parameters["embedded_request_cpu_s"] * parameters["embedded_role_slowness"] if step.rate else 0.0
    kind = "put" if step.rate.endswith("_put") else "get"
    if kind == "get" and step.bytes / max(1.0, step.requests) > parameters["large_body_bytes"]:
        kind = "large_get"
    return step.requests * request_s + step.bytes / GIB * parameters[f"embedded_{kind}_cpu_s_per_gib"]


def _in_flight(step: Step, parameters: Parameters) -> float:
    """At how much of the step's work both ends can be at once: at each request's, and within one at every piece of its
    body that the socket's buffers hold."""
    at_once = min(step.at_once, step.requests) if step.requests else step.at_once
    pieces = step.bytes / max(1.0, step.requests) / parameters["socket_buffer_bytes"]
    return max(1.0, at_once) * max(1.0, pieces)
