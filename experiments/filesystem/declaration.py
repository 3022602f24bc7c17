"""The file system experiment: one large file and a thousand small ones, copied to /tmp from S3 and from a mount."""

from collections.abc import Mapping
from typing import Any

from experiments.filesystem.usage import (
    CONNECTIONS,
    THREADS,
    THREADS_ALLOWED,
    a_month,
    checks,
    is_mounted,
    objects,
    order,
    usage,
)
from experiments.filesystem.work import work
from stampede.experiment.declaration import (
    LAST_SECTIONS,
    Axis,
    Compare,
    Experiment,
    Matrix,
    Metric,
    PassingRefusal,
    Published,
    Seeding,
    StandIn,
)

LARGE, SMALL = "large", "small"
LABEL = "AWS, published"
SETTING = "arm64, python3.12, /tmp of 1,228 MB, N = 1"


def usual_method(storage: str, *_: object) -> str:
    """How a storage is read when nothing is said: as published."""
    return "download_file" if storage.startswith("s3") and storage != "s3files" else "copy"


def later_read(values: Mapping[str, Any]) -> str:
    """What records say of reads after a sandbox's first (functions/filesystem/timed_copy.py)."""
    return "dropped" if values["cache"] == "drop" and is_mounted(values) else "repeat"


def _large_cell(row: Mapping[str, str]) -> dict[str, Any]:
    """EFS at 3008 MB was mostly the page cache; the published mean without it is the one of first reads."""
    if row["source"] == "efs_uncached":
        return {"storage": "efs", "read": "first"}
    from_cache = row["source"] == "efs" and row["memory_size_mb"] == "3008"
    return {"storage": row["source"], "read": "repeat" if from_cache else "first"}


def _small_cell(row: Mapping[str, str]) -> dict[str, Any]:
    """How much of it came from the page cache nobody has published."""
    return {"storage": row["source"]}


def _published(dataset: str, moved_bytes: int, moved: str) -> Published:
    return Published(
        f"filesystem_{dataset}",
        LABEL,
        SETTING,
        moved_bytes,
        columns={"avg_s": "seconds"},
        fixed={"dataset": dataset},
        moved=moved,
        cell=_large_cell if dataset == LARGE else _small_cell,
    )


FOLDER = StandIn(
    "a folder",
    "“a folder”: the embedded AWS can’t mount a file system, so these rows ran on a folder of this machine. They show "
    "that the whole path works, but say nothing about that storage.",
)
LOOPBACK = StandIn(
    "the loopback interface",
    "“the loopback interface”: the embedded AWS has no network of its own, so these rows read S3 as those of s3 do. "
    "They show that the whole path works, but say nothing about a VPC.",
)

FILESYSTEM = Experiment(
    name="filesystem",
    question="Which is faster for large files, and for many small ones: S3 or EFS?",
    operation=("copy", "copies"),
    axes=(
        Axis("storage", "storage", "storage", "storage", kind=str),
        Axis("dataset", "dataset", "dataset", "data set", kind=str, in_order=True),
        Axis("memory_size_mb", "memory_size", "memory_size", "memory", "{} MB", unit="MB"),
        # Of the record alone: whether its sandbox had read these files before, and they may come from its page cache.
        Axis("read", "read", "", "read", "{} read", kind=str, default="first", later=later_read),
        Axis("method", "method", "read_method", "method", "by {}", kind=str, default=usual_method),
        Axis(
            "threads",
            "threads",
            "threads",
            "threads",
            "{} threads",
            default=THREADS,
            in_order=True,
            allowed=THREADS_ALLOWED,
        ),
        Axis(
            "connections",
            "connections",
            "connections",
            "connections",
            "{} connections",
            default=CONNECTIONS,
            in_order=True,
            allowed=THREADS_ALLOWED,
        ),
        Axis("concurrency", "concurrency_limit", "concurrency_value", "N", "N = {}", default=1),
    ),
    metrics=(
        Metric("seconds", "elapsed_seconds", "seconds for one copy", "s", "spread", queried=True),
        Metric("mbit_per_s", "bytes", "per function", "Mbit/s", "rate", "higher", queried=True),
        Metric("cpu_s_per_gib", "client_cpu_seconds", "CPU", "s/GiB", "per_gib", queried=True, digits=2),
        Metric(
            "listing_s",
            "listing_seconds",
            "listing",
            "s",
            "mean",
            queried=True,
            digits=3,
            reading="“listing” is the time to list the keys of the small files; it is part of the copy.",
        ),
        Metric("retries", "retries", "retries", "", "sum", queried=True, short="re-\ntry"),
        Metric("requests", "requests", "requests", "", "sum"),
        Metric("files", "files", "files", "", "mean"),
    ),
    messages_per_concurrency=11,  # a first read, and as many repeats as a comparison needs
    matrices={
        "aws": Matrix(
            swept={"storage": ("s3", "s3_in_vpc", "efs"), "memory_size": (512, 1024, 3008), "dataset": (LARGE, SMALL)},
            fixed={"threads": THREADS, "connections": CONNECTIONS},
        ),
        # Memory and subnets change nothing on one machine, and a folder stands in for the mount.
        "local": Matrix(
            swept={"storage": ("s3", "efs"), "dataset": (LARGE, SMALL)},
            fixed={
                "memory_size": 1024,
                "large_file_mb": 64,
                "subnet_count": 1,
                "threads": THREADS,
                "connections": CONNECTIONS,
            },
        ),
    },
    query="copies",
    published=(
        _published(LARGE, 2**30, "file"),
        _published(SMALL, 55_000_000, "set of 1,000 files"),
    ),
    compare=(
        Compare("between_storages", "choice", ("storage", "method"), base=("s3", "download_file")),
        Compare("between_reads", "choice", ("read",), base=("first",), section="reads"),
        Compare("between_methods", "choice", ("method",), base=("download_file",)),
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_memories", "scale", ("memory_size_mb",)),
        Compare("between_threads", "scale", ("threads",)),
    ),
    sections=(
        "choice",
        "crossover",
        "reads",
        "monthly",
        "table",
        "throughput",
        "spread",
        "overlap",
        *LAST_SECTIONS,
    ),
    usage=usage,
    checks=checks,
    objects=objects,
    order=order,
    work=work,
    defaults={"architecture": "arm64", "ephemeral_storage_mb": 1228, "memory_size": 2048, "timeout_s": 60},
    told_by_records=("cache",),
    items=("dataset", "files"),
    a_month=a_month,
    seeding=Seeding("placing_function_name", lambda values: ({},)),
    proof=lambda values: {"proof": 1},
    # In the provider's words for a stack of CloudFormation's, as S3 Files' own for this aren't published.
    passing_refusal=PassingRefusal(
        r"CloudFormation Stack \(\S+-s3files/\S+\) delete",
        "S3 Files deletes a file system only once its changes are exported to the bucket",
        wait_s=300,
    ),
    stand_ins={"storage": dict.fromkeys(("efs", "s3files"), FOLDER) | {"s3_in_vpc": LOOPBACK}},
    untried={"storage": ("s3files",)},
    not_logged={"storage": ("efs", "s3files")},  # what a mount asks for, it asks by itself, and of another bucket
)
