"""The storage class experiment: the same objects in S3 Standard and in S3 Express One Zone, put, read, and asked by
Athena, as published in December 2023."""

from collections.abc import Mapping
from typing import Any

from experiments.express import orders
from experiments.express.checks import advice, checks
from experiments.express.usage import tariffs, usage
from experiments.express.work import published, usual_slices, work
from stampede.experiment.by_size import BySize
from stampede.experiment.declaration import (
    LAST_SECTIONS,
    Axis,
    Compare,
    Experiment,
    Matrix,
    Metric,
    Published,
    Seeding,
    StandIn,
)
from stampede.experiment.go_program import of_this_machine

KILOBYTE, MEGABYTE = 1000, 1_000_000
PUBLISHED_BYTES = (10 * KILOBYTE, 100 * MEGABYTE)
# The words of express.csv: the case, and its small and its large objects.
CASES = {
    orders.UPLOAD: ("upload", "77577 x 10 KB", "100 x 100 MB"),
    orders.DOWNLOAD: ("download", "77577 x 10 KB", "100 x 100 MB"),
    orders.COUNT: ("athena query over", "~700k x 10 KB", "100 x 100 MB"),
}
# A query has no calls at once that anybody could choose, and Athena queues it itself.
ASKED = {"operation": orders.QUERIES, "parallel_limit": 1, "concurrency_value": 1}


def _cell(row: Mapping[str, str]) -> dict[str, Any]:
    """Which query it was isn't published; it stands beside the count."""
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
        "boto3 in a single-threaded loop on one EC2 host in apne1-az1, 77,577 x 10 KB or 100 x 100 MB, the mean of 10 "
        "runs; Athena over about 700,000 x 10 KB or 100 x 100 MB",
        columns={"avg_s": storage_class},
        fixed={"storage_class": storage_class, "parallel_limit": 1},
        cell=_cell,
        objects_axis="object_count",
        only={"unit": "s"},
        beside_any=("object_count", "slices", "placement", "memory_size_mb", "concurrency"),
        work=published,
    )


GENERAL_BUCKET = StandIn(
    "a general purpose bucket",
    "“a general purpose bucket”: no emulator has directory buckets, so these rows ran on a second general purpose "
    "bucket. They show that the whole path works, but say nothing about S3 Express One Zone.",
)

AXES = (
    Axis("operation", "operation", "operation", "operation", kind=str, allowed=orders.OPERATIONS),
    Axis("storage_class", "storage_class", "storage_class", "class", kind=str, in_order=True,
         allowed=orders.CLASSES),
    Axis("object_bytes", "object_bytes", "object_bytes", "object", "{} bytes", unit="bytes", in_order=True,
         allowed=range(100, 1_000_000_000 + 1)),
    Axis("parallel_limit", "parallel_limit", "parallel_limit", "parallel limit", "{} at a time", in_order=True,
         allowed=range(1, 1000 + 1)),
    Axis("object_count", "object_count", "object_count", "objects", "{} objects", default=orders.usual_count,
         in_order=True, allowed=range(1, 10_000_000 + 1)),
    Axis("slices", "slices", "slices", "slices", "in {} slices", default=usual_slices, in_order=True,
         allowed=range(1, 1000 + 1)),
    Axis("placement", "placement", "placement", "placement", "in {}", kind=str, default="any_zone",
         allowed=("any_zone", "same_zone")),
    Axis("memory_size_mb", "memory_size", "memory_size", "memory", "{} MB", unit="MB", default=2048),
    Axis("concurrency", "concurrency_limit", "concurrency_value", "N", "N = {}", default=1),
)  # fmt: skip

METRICS = (
    Metric("seconds", "elapsed_seconds", "seconds for one operation", "s", "spread", queried=True),
    Metric("objects_per_s", "objects_per_s", "throughput", "objects/s", "mean", "higher", queried=True, digits=1),
    Metric("request_p50_ms", "request_p50_ms", "one request, p50", "ms", "mean", queried=True, digits=2,
           short="p50\nms"),
    Metric("request_p99_ms", "request_p99_ms", "one request, p99", "ms", "mean", queried=True, digits=1,
           short="p99\nms", reading="“one request” is the time from its start to the last byte; p50 and p99 are means "
           "over the messages. Athena reports neither."),
    Metric("retries", "retries", "retries", "", "sum", queried=True, short="re-\ntry"),
    Metric("set_s", "set_seconds", "whole set", "s", "mean", digits=2,
           reading="“whole set” is the time for all objects of the set, one slice after the other."),
    Metric("request_p90_ms", "request_p90_ms", "one request, p90", "ms", "mean", digits=2),
    Metric("request_max_ms", "request_max_ms", "longest request", "ms", "mean", digits=1),
    Metric("sessions", "sessions", "sessions", "", "sum"),
    Metric("session_ms", "session_ms", "CreateSession", "ms", "mean", digits=1,
           reading="No other time includes “CreateSession”: a session is opened before the first request."),
    Metric("queue_s", "queue_seconds", "Athena's queue", "s", "mean", digits=2),
    Metric("planning_s", "planning_seconds", "Athena's planning", "s", "mean", digits=2),
    Metric("engine_s", "engine_seconds", "Athena's engine", "s", "mean", digits=2),
    Metric("service_s", "service_seconds", "Athena's service", "s", "mean", digits=2),
    Metric("scanned_bytes", "scanned_bytes", "scanned", "bytes", "mean"),
    Metric("requests", "requests", "requests", "", "sum"),
    Metric("peak_memory_mb", "peak_memory_mb", "peak memory", "MB", "mean", digits=1),
    Metric("cpu_s", "client_cpu_seconds", "CPU", "s", "mean", digits=3),
)  # fmt: skip

MATRICES = {
    # As published, one request at a time, ten repeats at once; then object size as an axis; then Athena.
    "aws": Matrix(
        swept={"operation": (orders.UPLOAD, orders.DOWNLOAD), "storage_class": orders.CLASSES,
               "object_bytes": PUBLISHED_BYTES, "parallel_limit": (1,), "concurrency_value": (10,)},
        fixed={"placement": "any_zone"},
        also=(
            {"object_bytes": tuple(10**power for power in range(3, 9)), "parallel_limit": (64,),
             "concurrency_value": (1,)},
            ASKED,
        ),
    ),
    "local": Matrix(
        swept={"operation": (orders.UPLOAD, orders.DOWNLOAD), "storage_class": orders.CLASSES,
               "object_bytes": (1000, 10_000, 100_000, 1_000_000, 100_000_000), "parallel_limit": (1,),
               "concurrency_value": (1,)},
        fixed={"placement": "any_zone", "architecture": of_this_machine()},
        also=(
            {"object_bytes": (10_000,), "parallel_limit": (16,)},
            {**ASKED, "object_bytes": (10_000,)},
        ),
        rest={"object_count": orders.local_count},
    ),
}  # fmt: skip

EXPRESS = Experiment(
    name="express",
    question="Is S3 Express One Zone worth it for your object size?",
    operation=("operation", "operations"),
    axes=AXES,
    metrics=METRICS,
    messages_per_concurrency=10,
    matrices=MATRICES,
    query="objects",
    published=(_published(orders.STANDARD), _published(orders.ONE_ZONE)),
    compare=(
        Compare("between_classes", "choice", ("storage_class",), base=(orders.STANDARD,), section="by_size"),
        Compare("between_limits", "scale", ("parallel_limit",)),
        Compare("between_placements", "choice", ("placement",), base=("any_zone",)),
    ),
    sections=("by_size", "choice", "calculator", "athena", "table", "spread", "overlap", *LAST_SECTIONS),
    usage=usage,
    checks=checks,
    objects=lambda outputs: (),
    order=orders.order,
    work=work,
    messages=orders.messages,
    of_message=orders.its_slice,
    proof=lambda values: {"first_object": 0, "objects": 1},
    seeding=Seeding("placing_function_name", orders.seeding),
    emptied_before_destroy=("express_bucket_name", "bucket_name"),
    has_directory_bucket=True,
    execution=orders.execution,
    by_size=BySize(
        "storage_class",
        "object_bytes",
        moves=("operation", {orders.UPLOAD: "write", orders.DOWNLOAD: "read"}),
        tariffs=tariffs,
    ),
    advice=advice,
    defaults={"architecture": "arm64", "ephemeral_storage_mb": 8192, "memory_size": 2048, "timeout_s": 900},
    stand_ins={"storage_class": {orders.ONE_ZONE: GENERAL_BUCKET}},
    untried={"storage_class": (orders.ONE_ZONE,)},
    not_logged={"storage_class": (orders.ONE_ZONE,)},  # a directory bucket has no server access logs
)
