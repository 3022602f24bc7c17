"""The file system experiment: one large file and a thousand small ones, copied to /tmp from S3 and from a mount."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.filesystem.usage import (
    CONNECTIONS,
    DATASETS,
    THREADS,
    THREADS_ALLOWED,
    FilesystemValues,
    checks,
    is_mounted,
    objects,
    usage,
    what_arrives,
)
from experiments.filesystem.work import work
from stampede.axes import Axis, concurrency_axis, memory_axis
from stampede.experiment import (
    CPU_S_PER_GIB,
    FILE_SYSTEM,
    IGNORED_LOCALLY,
    MBIT_PER_S,
    REQUESTS,
    RETRIES,
    Compare,
    DataObject,
    Experiment,
    Matrix,
    Metric,
    PassingRefusal,
    Published,
    Seeding,
    StandIn,
)
from stampede.variable_rules import DEFAULTS

LARGE, SMALL = DATASETS
LABEL = "AWS, published"
SETTING = "arm64, python3.12, /tmp of 1,228 MB, N = 1"
UNKNOWN_READS = "beside the first reads, although it isn’t published which reads were first ones"


def usual_method(storage: str, *_: object) -> str:
    """How a storage is read when nothing is said: as published."""
    return "download_file" if storage.startswith("s3") and storage != "s3files" else "copy"


def later_read(values: FilesystemValues) -> str:
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
        SETTING if dataset == LARGE else f"{SETTING}, {UNKNOWN_READS}",
        moved_bytes,
        columns={"avg_s": "seconds"},
        fixed={"dataset": dataset},
        moved=moved,
        cell=_large_cell if dataset == LARGE else _small_cell,
    )


FOLDER = StandIn(
    "a folder",
    "“a folder”: the embedded AWS can’t mount a file system, so these rows ran on a folder of this machine. They show "
    "that the rest of the path works, but say nothing about that storage.",
)
LOOPBACK = StandIn(
    "the loopback interface",
    "“the loopback interface”: the embedded AWS has no network of its own, so these rows read S3 as those of s3 do. "
    "They show that the rest of the path works, but say nothing about a VPC.",
)


class Filesystem(Experiment):
    name = "filesystem"
    question = "Which is faster for large files, and for many small ones: S3 or EFS?"
    operation = ("copy", "copies")
    axes = (
        Axis("storage", kind=str),
        Axis("dataset", label="data set", kind=str, in_order=True, allowed=DATASETS),
        memory_axis(),
        # Of the record alone: whether its sandbox had read these files before, and they may come from its page cache.
        Axis("read", variable="", words="{} read", kind=str, default="first", later=later_read),
        Axis("method", variable="read_method", words="by {}", kind=str, default=usual_method),
        Axis("threads", words="{} threads", default=THREADS, in_order=True, allowed=THREADS_ALLOWED),
        Axis("connections", words="{} connections", default=CONNECTIONS, in_order=True, allowed=THREADS_ALLOWED),
        concurrency_axis(default=1),
    )
    metrics = (
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
            reading="“listing” is the time to list the keys of the small files; it is part of the copy.",
        ),
        RETRIES,
        REQUESTS,
        Metric("files"),
    )
    query = "copies"
    matrices = {
        "aws": Matrix(
            swept={"storage": ("s3", "s3_in_vpc", "efs"), "memory_size": (512, 1024, 3008), "dataset": DATASETS},
            fixed={"threads": THREADS, "connections": CONNECTIONS},
        ),
        # Memory and subnets change nothing on one machine, and a folder stands in for the mount.
        "local": Matrix(
            swept={"storage": ("s3", "efs"), "dataset": DATASETS},
            fixed={
                "memory_size": 1024,
                "large_file_mb": 64,
                "subnet_count": 1,
                "threads": THREADS,
                "connections": CONNECTIONS,
            },
        ),
    }
    defaults = DEFAULTS["filesystem"]
    messages_per_concurrency = 11  # a first read, and as many repeats as a comparison needs
    recorded_variables = ("cache",)
    ignored_locally = IGNORED_LOCALLY | {
        "subnet_count": "the number of subnets",
        "throughput_mode": "throughput mode",
        "direct_s3_read": "direct reads from S3",
    }
    published = (_published(LARGE, 2**30, "file"), _published(SMALL, 55_000_000, "set of 1,000 files"))
    compare = (
        Compare("between_storages", "choice", ("storage", "method"), base=("s3", "download_file")),
        Compare("between_reads", "choice", ("read",), base=("first",)),
        Compare("between_methods", "choice", ("method",), base=("download_file",)),
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_memories", "scale", ("memory_size_mb",)),
        Compare("between_threads", "scale", ("threads",)),
    )
    stand_ins = {"storage": {"efs": FOLDER, "s3files": FOLDER, "s3_in_vpc": LOOPBACK}}
    untried = {"storage": ("s3files",)}
    not_logged = {"storage": ("efs", "s3files")}  # what a mount asks for, it asks by itself, and of another bucket
    needs = (FILE_SYSTEM,)
    # In the provider's words for a stack of CloudFormation's, as S3 Files' own for this aren't published.
    passing_refusal = PassingRefusal(
        r"CloudFormation Stack \(\S+-s3files/\S+\) delete",
        "S3 Files deletes a file system only once its changes are exported to the bucket",
        wait_s=300,
    )
    seeding = Seeding("placing_function_name", lambda values: ({},))
    usage = staticmethod(usage)
    checks = staticmethod(checks)
    work = staticmethod(work)
    objects = staticmethod(objects)

    def order(self, values: FilesystemValues, objects: Sequence[DataObject]) -> dict[str, Any]:
        """The axes, and what has to arrive."""
        return super().order(values, objects) | what_arrives(values)

    def proof(self, values: FilesystemValues) -> dict[str, Any]:
        return {"proof": 1}


FILESYSTEM = Filesystem()
