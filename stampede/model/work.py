"""What one message does, in quantities: the words in which an experiment describes its operation to
the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """A part of the operation, in which everything below goes on at once: it lasts as long as the
    slowest of them.

    `fixed_s` comes on top, whatever else there is. `requests` of `request_s` each (mean seconds
    from sending to the answer, without the bytes), `at_once` at a time; `rate` names the limit of
    requests a second that they count against, which all workers share (`s3_get`, `s3_put`, ...;
    empty: none). `tail_s` is by how much the slowest of them makes the step longer. `bytes` go over
    the worker's own network, at most `stream_bytes_per_s` on each of `at_once` connections;
    `mount_bytes` come from a file system, at most `mount_bytes_per_s` for one worker. `cpu_s` are
    CPU seconds of the client's own, on `threads` processors at most (1: a GIL).
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
    `spread` is the relative standard deviation of one operation's seconds from causes that aren't
    modelled. `calls_per_s_cap` is a cap that the worker keeps itself (0: none), `attempts` how
    often it tries a request that was throttled. `repeat` is what the same worker does when it has
    done a first one (from a page cache, say), None where that is the same. `cold_s` is what a new
    environment takes before its first operation, beside the Lambda's own start, and `before_s` what
    each message takes before the seconds of its record begin.
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
