"""The copy experiment: one Lambda has S3 copy objects, many at once, as published in December 2020; or N of them share
a manifest."""

from experiments.copy import orders
from experiments.copy.checks import advice, checks
from experiments.copy.usage import usage
from experiments.copy.work import published, work
from stampede.experiment.declaration import LAST_SECTIONS, Axis, Compare, Experiment, Matrix, Metric, Published

# What a work order may say of them is the Go program's rule (functions/transfer).
LIMIT = Axis("parallel_limit", "parallel_limit", "parallel_limit", "parallel limit", "a limit of {}", in_order=True,
             allowed=range(1, 10_000 + 1))  # fmt: skip
PACE = Axis("pace", "pace", "pace", "pace", "{} pace", kind=str, default="fixed", in_order=True,
            allowed=("fixed", "adaptive"))  # fmt: skip
CAP = Axis("calls_per_s_cap", "calls_per_s_cap", "calls_per_s", "cap", "capped at {} calls/s", "calls/s", default=0,
           in_order=True, allowed=range(100_000 + 1))  # fmt: skip
CONCURRENCY = Axis("concurrency", "concurrency_limit", "concurrency_value", "N", "N = {}", default=1)


def retry_axes(mode: str, attempts: int) -> tuple[Axis, Axis]:
    """How calls are retried, by what is usual."""
    return (
        Axis("retry_attempts", "retry_attempts", "retry_attempts", "attempts", "{} attempts", default=attempts,
             in_order=True, allowed=range(1, 50 + 1)),
        Axis("retry_mode", "retry_mode", "retry_mode", "retry mode", "{} retries", kind=str, default=mode,
             in_order=True, allowed=("standard", "legacy")),
    )  # fmt: skip


def objects_axis(usual: int) -> Axis:
    """How many objects the cell's list has."""
    return Axis("object_count", "object_count", "object_count", "objects", "{} objects", default=usual)


METRICS = (
    Metric("seconds", "elapsed_seconds", "seconds for one copy run", "s", "spread", queried=True),
    Metric(
        "calls_per_s",
        "calls_per_s",
        "throughput",
        "calls/s",
        "mean",
        "higher",
        queried=True,
        digits=1,
        reading="“throughput” is the number of objects copied, divided by the time from the first call to the last "
        "answer: a call that was throttled and retried counts once.",
    ),
    Metric("copied", "copied", "copied", "", "sum", "higher", queried=True),
    Metric("failed", "failed", "failed", "", "sum", queried=True),
    Metric(
        "slowdowns",
        "slowdowns",
        "SlowDowns",
        "",
        "sum",
        queried=True,
        short="slow\ndown",
        reading="“SlowDowns” is the number of calls that S3 answered with 503 SlowDown.",
    ),
    Metric("retries", "retries", "retries", "", "sum", queried=True, short="re-\ntry"),
    Metric("call_p50_ms", "call_p50_ms", "one call, p50", "ms", "mean", digits=1),
    Metric("call_p99_ms", "call_p99_ms", "one call, p99", "ms", "mean", queried=True, digits=1, short="p99\nms"),
    Metric("calls", "calls", "calls sent", "", "sum"),
    Metric("planned", "planned", "planned", "", "sum"),
    Metric("already_there", "already_there", "already there", "", "sum"),
    Metric("peak_memory_mb", "peak_memory_mb", "peak memory", "MB", "mean", digits=1),
    Metric("cpu_s", "client_cpu_seconds", "CPU", "s", "mean", digits=2),
)
KNEE = ("parallel_limit", "parallel calls")
SECTIONS = ("knee", "rate", "objects", "choice", "table", "spread", "overlap", *LAST_SECTIONS)

COPY = Experiment(
    name="copy",
    question="How many parallel CopyObject calls are worth making from one Lambda function?",
    operation=("copy run", "copy runs"),
    axes=(
        LIMIT,
        Axis("memory_size_mb", "memory_size", "memory_size", "memory", "{} MB", unit="MB", default=512),
        PACE,
        *retry_axes("standard", 4),
        CAP,
        objects_axis(1000),
        CONCURRENCY,
    ),
    metrics=METRICS,
    messages_per_concurrency=5,
    matrices={
        # As published: five runs at each limit.
        "aws": Matrix(
            swept={"parallel_limit": (1, 10, 20, 50, 100, 200, 500, 1000)},
            fixed={"retry_mode": "standard", "retry_attempts": 4, "pace": "fixed", "calls_per_s": 0},
        ),
        "local": Matrix(
            swept={"parallel_limit": (1, 10, 50, 100)},
            fixed={
                "object_bytes": 10_000,
                "retry_mode": "standard",
                "retry_attempts": 4,
                "pace": "fixed",
                "calls_per_s": 0,
            },
        ),
    },
    query="copies",
    published=(
        Published(
            "copy_lambda",
            "AWS, published 2020",
            "1,000 objects of 20 MB between two buckets, Go in one Lambda of 512 MB, ap-northeast-1",
            objects=1000,
            runs_ms=("run1_ms", "run2_ms", "run3_ms", "run4_ms", "run5_ms"),
            beside_any=("object_count",),
            work=published,
        ),
    ),
    compare=(
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_paces", "choice", ("pace",), base=("fixed",)),
        Compare("between_retry_modes", "choice", ("retry_mode",), base=("standard",)),
    ),
    sections=SECTIONS,
    usage=usage,
    checks=checks,
    objects=orders.listed_objects,
    emptied_before_destroy=("destination_bucket_name", "bucket_name"),
    order=orders.listing_or_slices,
    work=work,
    defaults={
        "architecture": "x86_64",
        "ephemeral_storage_mb": 512,
        "memory_size": 512,
        "timeout_s": 900,
        "object_count": 1000,
        "object_bytes": 20_000_000,
        "slice_rows": 1000,
    },
    knee=KNEE,
    messages=orders.a_slice_each,
    of_message=orders.its_slice,
    preparation=orders.emptying,
    key_plan=orders.plan_of_manifest,
    objects_account=True,
    advice=advice,
)
