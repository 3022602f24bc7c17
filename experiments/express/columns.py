"""The columns of the storage classes' tables: axes, metrics, published figures and stand-ins."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.express import orders
from experiments.express.work import published, usual_slices
from stampede.axes import Axis, concurrency_axis, memory_axis
from stampede.experiment import CPU_S, PEAK_MEMORY_MB, REQUESTS, RETRIES, Metric, Published, StandIn
from stampede.variable_rules import RULES

KILOBYTE, MEGABYTE = 1000, 1_000_000
PUBLISHED_BYTES = (10 * KILOBYTE, 100 * MEGABYTE)
# The words of express.csv: the case, then its small and its large objects.
CASES = {
    orders.UPLOAD: ("upload", "77577 x 10 KB", "100 x 100 MB"),
    orders.DOWNLOAD: ("download", "77577 x 10 KB", "100 x 100 MB"),
    orders.COUNT: ("athena query over", "~700k x 10 KB", "100 x 100 MB"),
}
AXES = (
    Axis("operation", kind=str, allowed=RULES["operation"].choices),
    Axis("storage_class", label="class", kind=str, in_order=True, allowed=orders.CLASSES),
    Axis(
        "object_bytes",
        label="object",
        words="{} bytes",
        unit="bytes",
        in_order=True,
        allowed=range(100, 1_000_000_000 + 1),
    ),
    Axis("parallel_limit", words="{} at a time", in_order=True, allowed=range(1, 1000 + 1)),
    Axis(
        "object_count",
        label="objects",
        words="{} objects",
        default=orders.usual_count,
        in_order=True,
        allowed=range(1, 10_000_000 + 1),
    ),
    Axis(
        "slices",
        words="in {} slices",
        default=usual_slices,
        in_order=True,
        allowed=range(1, 1000 + 1),
    ),
    Axis(
        "placement", words="in {}", kind=str, default="any_zone", allowed=RULES["placement"].choices
    ),
    memory_axis(default=2048),
    concurrency_axis(default=1),
)
METRICS = (
    Metric("seconds", "elapsed_seconds", "seconds for one operation", "s", "spread", queried=True),
    Metric(
        "objects_per_s",
        label="throughput",
        unit="objects/s",
        better="higher",
        queried=True,
        digits=1,
    ),
    Metric("request_p50_ms", label="one request, p50", unit="ms", queried=True, digits=2),
    Metric(
        "request_p99_ms",
        label="one request, p99",
        unit="ms",
        queried=True,
        digits=1,
        reading=(
            "“one request” is the time from its start to the last byte; its percentiles are means "
            "over the messages, and with fewer than 100 requests in a message its p99 is the "
            "longest one. Athena reports none."
        ),
    ),
    RETRIES,
    Metric(
        "set_s",
        "set_seconds",
        "whole set",
        "s",
        digits=2,
        reading="“whole set” is the time for all objects of the set, one slice after the other.",
    ),
    Metric("request_p90_ms", label="one request, p90", unit="ms", digits=2),
    Metric("request_max_ms", label="longest request", unit="ms", how="max", digits=1),
    Metric("sessions", how="sum"),
    Metric(
        "session_ms",
        label="CreateSession",
        unit="ms",
        digits=1,
        reading=(
            "No other time includes “CreateSession”: a session is opened before the first request."
        ),
    ),
    Metric("queue_s", "queue_seconds", "Athena's queue", "s", digits=2),
    Metric("planning_s", "planning_seconds", "Athena's planning", "s", digits=2),
    Metric("engine_s", "engine_seconds", "Athena's engine", "s", digits=2),
    Metric("service_s", "service_seconds", "Athena's service", "s", digits=2),
    Metric("scanned_bytes", label="scanned", unit="bytes"),
    REQUESTS,
    PEAK_MEMORY_MB,
    replace(CPU_S, digits=3),
)


def _published_cell(row: Mapping[str, str]) -> dict[str, Any]:
    """The published query is unknown; its row stands next to the count."""
    for operation, (words, *sets) in CASES.items():
        for size, text in zip(PUBLISHED_BYTES, sets, strict=True):
            if row["case"] == f"{words} {text}":
                count = orders.usual_count(operation, orders.STANDARD, size)
                return {"operation": operation, "object_bytes": size, "object_count": count}
    return {}


def _published(storage_class: str) -> Published:
    return Published(
        "express",
        "AWS, published 2023",
        "boto3 in a single-threaded loop on one EC2 host in apne1-az1, 77,577 x 10 KB or 100 x "
        "100 MB, the mean of 10 runs; Athena over about 700,000 x 10 KB or 100 x 100 MB, with a "
        "query that isn’t published, shown next to count",
        columns={"avg_s": storage_class},
        fixed={"storage_class": storage_class, "parallel_limit": 1},
        cell=_published_cell,
        objects_axis="object_count",
        only={"unit": "s"},
        beside_any=("object_count", "slices", "placement", "memory_size_mb", "concurrency"),
        work=published,
    )


GENERAL_BUCKET = StandIn(
    "a general purpose bucket",
    "“a general purpose bucket”: the embedded AWS has no directory buckets, so these rows ran on "
    "a second general purpose bucket. They show that the rest of the path works, but say nothing "
    "about S3 Express One Zone.",
)
PUBLISHED = (_published(orders.STANDARD), _published(orders.ONE_ZONE))
