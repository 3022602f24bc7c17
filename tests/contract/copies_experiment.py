"""An experiment for tests that has little in common with the download: two axes of text without a default, one of them
chosen from; N and threads with one, which only depart from it where they are swept; a time, metrics and operations with
words of their own; two published tables that know a mean alone."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments import Axis, Matrix
from stampede.experiment import RETRIES, Compare, Metric, Published, Usage
from tests.unit.loader.reads_experiment import DOWNLOAD, ORDER_AXES, READS

DATASET, THREADS = ORDER_AXES
MEMORY, CONCURRENCY = DOWNLOAD.axes[:2]
MOVED_MB = {"large": 1024, "small": 53}


def usual_threads(storage: str, dataset: str, *_: object) -> int:
    """As published: 30 for many objects of S3, one for a single file and for a mount."""
    return 30 if (storage, dataset) == ("s3", "small") else 1


def usage(values: Mapping[str, Any]) -> Usage:
    return replace(DOWNLOAD.usage(values), moved_mb=MOVED_MB[values["dataset"]])


def published(dataset: str, object_bytes: int) -> Published:
    columns = {"storage": "source", "avg_s": "seconds"}
    label, setting = "published", f"arm64, the {dataset} one"
    return Published(f"filesystem_{dataset}", label, setting, object_bytes, columns, {"data_set": dataset}, "data set")


MATRIX = Matrix(
    swept={"store": ("s3", "efs"), "dataset": ("large", "small"), "memory_size": (512, 1024)},
    fixed={"threads": 1, "object_size_mb": 1, "ephemeral_storage_mb": 512},
)
COPIES = READS.with_(
    name="copies",
    question="Which storage should I choose for my file sizes and memory?",
    operation=("copy", "copies"),
    axes=(
        Axis("storage", variable="store", kind=str, in_order=True),
        DATASET,
        MEMORY,
        replace(THREADS, words="threads = {}", default=usual_threads),
        replace(CONCURRENCY, default=1),
    ),
    metrics=(
        Metric("seconds", "elapsed_seconds", "seconds for one copy", "s", "spread", queried=True),
        Metric("list_s", "list_seconds", "listing", "s", queried=True, digits=3),
        RETRIES,
    ),
    matrices={"aws": MATRIX, "local": MATRIX},
    query="copies",
    published=(published("large", 2**30), published("small", 55_000_000)),
    compare=(
        Compare("between_storages", "choice", ("storage",), base=("s3",)),
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_memories", "scale", ("memory_size_mb",)),
        Compare("between_threads", "scale", ("threads",)),
    ),
    usage=usage,
)
