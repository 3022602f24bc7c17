"""What the model says of a cell, with how sure it is, and what binds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from model.parameters import Parameters
from model.work import Work

# The figures of a prediction that have a range.
RANGED = ("avg_s", "time_to_n_s", "share_at_n", "most_at_once", "span_s", "drain_s")


@dataclass(frozen=True)
class Scenario:
    """One cell as the model is asked about it.

    `work(parameters)` is what a message does. `trigger`: `standard` or `provisioned` (with `pollers`, minimum and
    maximum), or empty where workers ask the queue themselves or the messages go one after the other. What is None of
    `maximum_concurrency` and `account_concurrency` doesn't limit. `bandwidth_quota`: the function has the quota
    "Network bandwidth per execution environment".
    """

    work: Callable[[Parameters], Work]
    messages: int
    concurrency: int
    memory_mb: int
    timeout_s: float
    visibility_timeout_s: float
    trigger: str = "standard"
    pollers: tuple[int, int] | None = None
    maximum_concurrency: int | None = None
    account_concurrency: int | None = None
    bandwidth_quota: bool = False
    barrier_s: float = 0.0
    failing: float = 0.0


@dataclass(frozen=True)
class Prediction:
    """One cell, as `stampede simulate` prints it and run.json keeps it.

    `count` are messages; `min_s` to `max_s` the seconds of one operation, as the table has them. `span_s` is from the
    first start to the last end, `drain_s` from the first message sent to the last record. `peak_requests_per_s` stands
    against `requests_limit_per_s` (None where no request is counted). `binds` is the limit that binds, by name, and
    `advice` what to change, or "". `ranges` are low and high of RANGED, as far as the parameters are known; a measured
    figure outside is a miss. `ramp` are points (seconds, running at once), a few hundred at most, for the picture.
    """

    count: int
    min_s: float
    p25_s: float
    avg_s: float
    p75_s: float
    max_s: float
    time_to_n_s: float | None
    share_at_n: float
    most_at_once: int
    span_s: float
    drain_s: float
    peak_requests_per_s: float
    requests_limit_per_s: float | None
    failed: int
    dead_lettered: int
    throttled: int
    binds: str
    advice: str
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ramp: tuple[tuple[float, int], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As it stands in run.json, under `prediction.cells.<cell>`."""
        return asdict(self)
