"""What one message does, in quantities: how an experiment describes its operation to the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """A part of the operation: everything below runs at once, so a step lasts as long as the
    slowest.

    `fixed_s` is added in any case. `requests` take `request_s` each (mean seconds from request to
    answer, without the bytes), `at_once` at a time; `rate` names the shared limit of requests a
    second that they count against (`s3_get`, `s3_put`, ...; empty: none). `tail_s` is how much
    longer the slowest request makes the step. `bytes` cross the worker's own network, at most
    `stream_bytes_per_s` on each of `at_once` connections; `mount_bytes` come from a file system, at
    most `mount_bytes_per_s` per worker. `cpu_s` are the client's CPU seconds, on at most `threads`
    processors (1: a GIL).
    """

    what: str
    fixed_s: float = 0.0
    requests: float = 0.0
    request_s: float = 0.0
    at_once: float = 1.0
    rate: str = ""
    tail_s: float = 0.0
    bytes: float = 0.0
    stream_bytes_per_s: float = math.inf
    mount_bytes: float = 0.0
    mount_bytes_per_s: float = math.inf
    cpu_s: float = 0.0
    threads: float = 1.0


@dataclass(frozen=True)
class Work:
    """One message: its steps, one after the other, where they run, and how much their seconds vary.

    `network`: `function`, `vpc` (a function in one of `subnets`), or `host` (no bucket of tokens).
    `spread` is the relative standard deviation of an operation's seconds from causes that aren't
    modelled. `calls_per_s_cap` is the worker's own cap (0: none), `attempts` how often it tries a
    throttled request. `repeat` is the work of later messages on the same worker (from a page cache,
    say), None if that is the same. A new environment takes `cold_s` before its first operation, on
    top of Lambda's own start; each message takes `before_s` before the seconds of its record begin.
    """

    steps: Sequence[Step]
    network: str = "function"
    subnets: int = 1
    spread: float = 0.0
    calls_per_s_cap: float = 0.0
    attempts: int = 1
    cold_s: float = 0.0
    before_s: float = 0.0
    repeat: Work | None = field(default=None)
