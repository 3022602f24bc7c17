"""The columns of the file systems' tables: axes, metrics, published figures and stand-ins."""

from collections.abc import Mapping
from typing import Any

from experiments.filesystem.usage import (
    CONNECTIONS,
    DATASETS,
    THREADS,
    THREADS_ALLOWED,
    FilesystemValues,
    is_mounted,
)
from stampede.axes import Axis, concurrency_axis, memory_axis
from stampede.experiment import (
    CPU_S_PER_GIB,
    MBIT_PER_S,
    REQUESTS,
    RETRIES,
    Metric,
    Published,
    StandIn,
)

LARGE, SMALL = DATASETS
LABEL = "AWS, published"
SETTING = "arm64, python3.12, /tmp of 1,228 MB, N = 1"
UNKNOWN_READS = "shown next to first reads, although the source doesn’t say which were first"


def usual_method(storage: str, *_: object) -> str:
    """How a storage is read by default: as published."""
    return "download_file" if storage.startswith("s3") and storage != "s3files" else "copy"


def later_read(values: FilesystemValues) -> str:
    """A record's word for reads after a sandbox's first (functions/filesystem/timed_copy.py)."""
    return "dropped" if values["cache"] == "drop" and is_mounted(values) else "repeat"


def _large_cell(row: Mapping[str, str]) -> dict[str, Any]:
    """EFS at 3008 MB was mostly the page cache; the mean without it counts as first reads."""
    if row["source"] == "efs_uncached":
        return {"storage": "efs", "read": "first"}
    from_cache = row["source"] == "efs" and row["memory_size_mb"] == "3008"
    return {"storage": row["source"], "read": "repeat" if from_cache else "first"}


def _small_cell(row: Mapping[str, str]) -> dict[str, Any]:
    """The share of the page cache isn't published."""
    return {"storage": row["source"]}


def _published(dataset: str, moved_bytes: int, moved: str) -> Published:
    return Published(
        f"filesystem_{dataset}",
        LABEL,
        f"{dataset}, {SETTING}" + ("" if dataset == LARGE else f", {UNKNOWN_READS}"),
        moved_bytes,
        columns={"avg_s": "seconds"},
        fixed={"dataset": dataset},
        moved=moved,
        cell=_large_cell if dataset == LARGE else _small_cell,
    )


FOLDER = StandIn(
    "a folder",
    "“a folder”: the embedded AWS can’t mount a file system, so these rows ran on a folder of "
    "this machine. They show that the rest of the path works, but say nothing about that storage.",
)
LOOPBACK = StandIn(
    "the loopback interface",
    "“the loopback interface”: the embedded AWS has no network of its own, so these rows read S3 "
    "as those of s3 do. They show that the rest of the path works, but say nothing about a VPC.",
)
PUBLISHED = (_published(LARGE, 2**30, "file"), _published(SMALL, 55_000_000, "set of 1,000 files"))
AXES = (
    Axis("storage", kind=str),
    Axis("dataset", label="data set", kind=str, in_order=True, allowed=DATASETS),
    memory_axis(),
    # Only in records: whether the sandbox had read these files before, perhaps into its page cache.
    Axis("read", variable="", words="{} read", kind=str, default="first", later=later_read),
    Axis("method", variable="read_method", words="by {}", kind=str, default=usual_method),
    Axis("threads", words="{} threads", default=THREADS, in_order=True, allowed=THREADS_ALLOWED),
    Axis(
        "connections",
        words="{} connections",
        default=CONNECTIONS,
        in_order=True,
        allowed=THREADS_ALLOWED,
    ),
    concurrency_axis(default=1),
)
METRICS = (
    Metric("seconds", "elapsed_seconds", "seconds for one copy", "s", "spread", queried=True),
    MBIT_PER_S,
    CPU_S_PER_GIB,
    Metric(
        "listing_s",
        "listing_seconds",
        "listing",
        "s",
        queried=True,
        digits=3,
        reading="“listing” is the time to list the keys of the small files; it is part of the "
        "copy.",
    ),
    RETRIES,
    REQUESTS,
    Metric("files"),
)
