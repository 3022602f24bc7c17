"""The columns of the copies' tables: the axes that functions and hosts share, and the metrics."""

from stampede.axes import Axis
from stampede.experiment import CPU_S, PEAK_MEMORY_MB, RETRIES, Metric

# The allowed values are those that the Go program takes (functions/transfer).
LIMIT = Axis("parallel_limit", words="a limit of {}", in_order=True, allowed=range(1, 10_000 + 1))
PACE = Axis(
    "pace", words="{} pace", kind=str, default="fixed", in_order=True, allowed=("fixed", "adaptive")
)
CAP = Axis(
    "calls_per_s_cap",
    variable="calls_per_s",
    label="cap",
    words="capped at {} calls/s",
    unit="calls/s",
    default=0,
    in_order=True,
    allowed=range(100_000 + 1),
)
METRICS = (
    Metric("seconds", "elapsed_seconds", "seconds for one copy run", "s", "spread", queried=True),
    Metric(
        "calls_per_s",
        label="throughput",
        unit="calls/s",
        better="higher",
        queried=True,
        digits=1,
        reading=(
            "“throughput” is the number of objects copied, divided by the time from the first "
            "call to the last answer: a call that was throttled and retried counts once."
        ),
    ),
    Metric("copied", how="sum", better="higher", queried=True),
    Metric("failed", how="sum", queried=True),
    Metric(
        "slowdowns",
        label="SlowDowns",
        how="sum",
        queried=True,
        reading="“SlowDowns” is the number of calls that S3 answered with 503 SlowDown.",
    ),
    RETRIES,
    Metric("call_p50_ms", label="one call, p50", unit="ms", digits=1),
    Metric("call_p99_ms", label="one call, p99", unit="ms", queried=True, digits=1),
    Metric("calls", label="calls sent", how="sum"),
    Metric("planned", how="sum"),
    Metric("already_there", how="sum"),
    PEAK_MEMORY_MB,
    CPU_S,
)


def retry_axes(mode: str, attempts: int) -> tuple[Axis, Axis]:
    """How calls are retried, with the usual mode and number of attempts."""
    return (
        Axis(
            "retry_attempts",
            label="attempts",
            words="{} attempts",
            default=attempts,
            in_order=True,
            allowed=range(1, 50 + 1),
        ),
        Axis(
            "retry_mode",
            words="{} retries",
            kind=str,
            default=mode,
            in_order=True,
            allowed=("standard", "legacy"),
        ),
    )


def objects_axis(usual: int) -> Axis:
    """The number of objects in the cell's list."""
    return Axis("object_count", label="objects", words="{} objects", default=usual)
