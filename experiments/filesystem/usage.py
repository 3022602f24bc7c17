"""The data set, a large file and many small ones, and what a copy uses: requests, bytes of EFS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from experiments.checking import fits, same
from experiments.objects import MEBIBYTE, mebibytes, pages, put_requests, stored
from experiments.reading import HEADS, parts
from stampede.experiment import (
    DataObject,
    Usage,
    Use,
    Values,
    look,
)
from stampede.finding import PROBLEM, Finding, Wrong

# The published sizes: 10 to 100 KB in steps of 10 KB, in turn.
SMALL_BYTES = [1000 * kilobytes for kilobytes in range(10, 101, 10)]
# Mount targets take 3 to 4 minutes, and Lambda's network interfaces may hold their subnets for tens
# of minutes at `destroy` (Lambda guide, "Giving Lambda functions access to resources in a VPC").
# Not tried on AWS.
STACK_S = 240 + 1200
# A function's process, as measured for the download experiment's download_file.
PROCESS_MB = 44
# As published: 30 threads share the SDK's ten connections.
THREADS, CONNECTIONS = 30, 10
# The function's rule for both (functions/filesystem/copy_order.py).
THREADS_ALLOWED = range(1, 256 + 1)
DATASETS = ("large", "small")


class FilesystemValues(Values):
    """The variables and keys of the work order that the experiment reads."""

    storage: str
    throughput_mode: str
    subnet_count: int
    cache: str
    read_method: str
    large_file_mb: int
    small_files: int
    with_s3files: bool
    direct_s3_read: str
    dataset: str  # of the work order, as all below
    threads: int
    connections: int


def objects(outputs: Mapping[str, Any]) -> Sequence[DataObject]:
    """Both data sets, from the stack's outputs."""
    return [
        DataObject("large/file.bin", outputs["large_file_mb"] * MEBIBYTE),
        *small_files(outputs["small_files"]),
    ]


def what_arrives(values: FilesystemValues) -> dict[str, int]:
    """The files and bytes of the data set of `values`."""
    if values["dataset"] != "small":
        return {"files": 1, "bytes": values["large_file_mb"] * MEBIBYTE}
    files = small_files(values["small_files"])
    return {"files": len(files), "bytes": sum(file.size_bytes for file in files)}


def usage(values: FilesystemValues) -> Usage:
    """The needs of a cell of these variables."""
    small, mounted = values["dataset"] == "small", is_mounted(values)
    files, (large_mb, small_mb) = values["small_files"], sizes_mb(values)
    moved_mb = small_mb if small else large_mb
    data_gb = (large_mb + small_mb) / 1024
    gets = (2 * files if small else HEADS + parts(large_mb)) if not mounted else 0
    puts = put_requests(large_mb * MEBIBYTE) + files
    listed = pages(files) if small and not mounted else 0
    read_gb = moved_mb / 1024 if values["storage"] == "efs" else 0
    what = "storage of the data set"
    return Usage(
        moved_mb=moved_mb,
        data_mb=large_mb + small_mb,
        process_mb=PROCESS_MB,
        tmp_mb=values["ephemeral_storage_mb"],
        sized_by="small_files" if small else "large_file_mb",
        stack_s=STACK_S,
        uses=(
            Use("S3", "GET and HEAD", "s3_get", each=gets),
            Use("S3", "LIST, and PUT of the data set", "s3_put", once=puts, each=listed),
            stored("S3", what, "s3_gb_month", data_gb),
            stored("EFS", what, "efs_gb_month", data_gb),
            Use("EFS", "elastic reads", "efs_read_gb", each=read_gb),
            Use("EFS", "elastic writes of the data set", "efs_write_gb", once=data_gb),
            Use("VPC", "interface endpoint to SQS", "interface_endpoint_hour", per_hour=1),
        ),
    )


def checks(cells: Sequence[FilesystemValues]) -> list[Finding]:
    """What is copied is deployed and fits into /tmp, and EFS keeps its throughput mode (EFS guide,
    "Restrictions on switching throughput")."""
    why = "EFS changes it once in 24 hours"
    return [
        *look({"storage": _storage, "data set and /tmp": _tmp}, cells),
        same("throughput mode", cells, ("throughput_mode",), why),
    ]


def _storage(cell: FilesystemValues) -> Wrong:
    if cell["storage"] == "s3files" and not cell["with_s3files"]:
        return PROBLEM, "s3files isn't deployed", "use --set with_s3files=true"
    return None


def _tmp(cell: FilesystemValues) -> Wrong:
    """As infra/filesystem.tf: a stack has both data sets."""
    smaller = "a smaller large_file_mb or fewer small_files"
    return fits(cell, "ephemeral_storage_mb", max(sizes_mb(cell)), smaller)


def sizes_mb(values: FilesystemValues) -> tuple[int, int]:
    """The MiB of the large file, and of all small ones."""
    small_bytes = sum(file.size_bytes for file in small_files(values["small_files"]))
    return values["large_file_mb"], mebibytes(small_bytes)


@cache
def small_files(files: int) -> Sequence[DataObject]:
    """The small files as S3 objects; the model asks for them with every set of parameters."""
    return tuple(
        DataObject(f"small/{index:05}.bin", SMALL_BYTES[index % len(SMALL_BYTES)])
        for index in range(files)
    )


def is_mounted(values: FilesystemValues) -> bool:
    """Whether the storage is mounted, and not read by requests."""
    return values["storage"] in ("efs", "s3files")
