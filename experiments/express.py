"""The storage class experiment: the same objects in S3 Standard and in S3 Express One Zone, put, read, and asked by Athena."""

from collections.abc import Mapping
from typing import Any

from experiments import express_orders as orders
from experiments.experiment import (
    LAST_SECTIONS,
    Axis,
    Compare,
    Experiment,
    Matrix,
    Metric,
    Published,
    StandIn,
)
from experiments.express_usage import checks, tariffs, usage

STANDARD, EXPRESS = CLASSES = ("standard", "express")
KILOBYTE, MEGABYTE = 1000, 1_000_000
PUBLISHED_BYTES = (10 * KILOBYTE, 100 * MEGABYTE)
# The words of express.csv.
CASES = {
    "upload": ("upload", "77577 x 10 KB", "100 x 100 MB"),
    "download": ("download", "77577 x 10 KB", "100 x 100 MB"),
    "count": ("athena query over", "~700k x 10 KB", "100 x 100 MB"),
}


def _cell(row: Mapping[str, str]) -> dict[str, Any]:
    """The published query isn't told; it stands beside the count."""
    for operation, (words, small, large) in CASES.items():
        for size, text in zip(PUBLISHED_BYTES, (small, large), strict=True):
            if row["case"] == f"{words} {text}":
                return {"operation": operation, "object_bytes": size,
                        "object_count": orders.usual_count(operation, STANDARD, size)}  # fmt: skip
    return {}


def _published(storage_class: str) -> Published:
    return Published(
        "express",
        "AWS, published 2023",
        "one EC2 host in apne1-az1, boto3 in a single-threaded loop, 10 runs averaged; about 700,000 x 10 KB and 100 x 100 MB for Athena",
        columns={"avg_s": storage_class},
        fixed={"storage_class": storage_class, "parallel_limit": 1},
        cell=_cell,
        objects_axis="object_count",
        only={"unit": "s"},
        beside_any=("object_count", "slices"),
    )


EXPRESS_ONE_ZONE = StandIn(
    "a general bucket",
    "“a general bucket”: no emulator has directory buckets, so another general purpose bucket stood in for S3 Express "
    "One Zone: these rows show that the path works, and nothing of that storage class.",
)

EXPRESS_EXPERIMENT = Experiment(
    name="express",
    question="Is S3 Express One Zone worth it for objects of this size?",
    operation=("operation", "operations"),
    axes=(
        Axis("operation", "operation", "operation", "operation", kind=str, allowed=orders.OPERATIONS),
        Axis("storage_class", "storage_class", "storage_class", "class", kind=str, in_order=True, allowed=CLASSES),
        Axis("object_bytes", "object_bytes", "object_bytes", "object", "{:,} bytes", unit="bytes", in_order=True,
             allowed=range(100, 1_000_000_000 + 1)),
        Axis("parallel_limit", "parallel_limit", "parallel_limit", "at a time", "{} at a time", in_order=True,
             allowed=range(1, 1000 + 1)),
        Axis("object_count", "object_count", "object_count", "objects", "{:,} objects", default=orders.usual_count,
             in_order=True, allowed=range(1, 10_000_000 + 1)),
        Axis("slices", "slices", "slices", "slices", "in {} slices", default=orders.usual_slices, in_order=True,
             allowed=range(1, 1000 + 1)),
        Axis("placement", "placement", "placement", "placement", "in {}", kind=str, default="any_zone"),
        Axis("memory_size_mb", "memory_size", "memory_size", "memory", "{} MB", unit="MB", default=2048),
        Axis("concurrency", "concurrency_limit", "concurrency_value", "N", "N = {}", default=1),
    ),  # fmt: skip
    metrics=(
        Metric("seconds", "elapsed_seconds", "seconds for one operation", "s", "spread", queried=True),
        Metric("objects_per_s", "objects_per_s", "one function", "objects/s", "mean", "higher", queried=True, digits=1),
        Metric("set_s", "set_seconds", "the whole set", "s", "mean", queried=True, digits=2, short="set\ns",
               reading="“set” is what all objects would take, one slice after the other."),
        Metric("request_p50_ms", "request_p50_ms", "one request, p50", "ms", "mean", queried=True, digits=2, short="p50\nms"),
        Metric("request_p99_ms", "request_p99_ms", "one request, p99", "ms", "mean", queried=True, digits=2, short="p99\nms"),
        Metric("session_ms", "session_ms", "CreateSession", "ms", "mean", digits=1),
        Metric("sessions", "sessions", "sessions", "", "sum"),
        Metric("engine_s", "engine_seconds", "Athena's engine", "s", "mean", digits=2),
        Metric("queue_s", "queue_seconds", "Athena's queue", "s", "mean", digits=2),
        Metric("planning_s", "planning_seconds", "Athena's planning", "s", "mean", digits=2),
        Metric("scanned_bytes", "scanned_bytes", "scanned", "bytes", "mean"),
        Metric("retries", "retries", "retries", "", "sum", queried=True, short="re-\ntry"),
        Metric("requests", "requests", "requests", "", "sum"),
        Metric("peak_memory_mb", "peak_memory_mb", "most memory", "MB", "mean", digits=1),
        Metric("cpu_s", "client_cpu_seconds", "CPU", "s", "mean", digits=3),
    ),  # fmt: skip
    messages_per_concurrency=10,
    matrices={
        # As published, one request at a time; then object size as an axis, 64 at a time; then Athena.
        "aws": Matrix(
            swept={"operation": ("upload", "download"), "storage_class": CLASSES, "object_bytes": PUBLISHED_BYTES,
                   "parallel_limit": (1,), "concurrency_value": (10,)},
            fixed={"placement": "any_zone"},
            also=(
                {"object_bytes": tuple(10**power for power in range(3, 9)), "parallel_limit": (64,), "concurrency_value": (1,)},
                {"operation": ("count", "aggregate"), "concurrency_value": (1,)},
            ),
        ),
        "local": Matrix(
            swept={"operation": ("upload", "download"), "storage_class": CLASSES,
                   "object_bytes": (1000, 10_000, 100_000, 1_000_000), "parallel_limit": (1, 16)},
            fixed={"placement": "any_zone"},
            also=({"operation": ("count", "aggregate"), "object_bytes": (10_000,), "parallel_limit": (1,)},),
            rest={"object_count": orders.local_count, "slices": lambda values: 1},
        ),
    },  # fmt: skip
    query="objects",
    published=(_published(STANDARD), _published(EXPRESS)),
    compare=(
        Compare("between_classes", "choice", ("storage_class",), base=(STANDARD,)),
        Compare("between_limits", "scale", ("parallel_limit",)),
        Compare("between_placements", "choice", ("placement",), base=("any_zone",)),
    ),
    sections=("by_size", "choice", "calculator", "table", "spread", "overlap", *LAST_SECTIONS),
    usage=usage,
    checks=checks,
    objects=lambda outputs: (),
    order=orders.order,
    messages=orders.messages,
    of_message=orders.its_slice,
    placing=orders.placing,
    placed_by="placing_function_name",
    execution=orders.execution,
    by_size=("storage_class", "object_bytes"),
    tariffs=tariffs,
    moves=("operation", {"upload": "write", "download": "read"}),
    defaults={"architecture": "arm64", "ephemeral_storage_mb": 8192, "memory_size": 2048, "timeout_s": 900},
    stand_ins={"storage_class": {EXPRESS: EXPRESS_ONE_ZONE}},
    untried={"storage_class": (EXPRESS,)},
)
