"""What a download takes: seconds, requests, memory; and the object that all functions download."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.objects import MEBIBYTE, DataObject, put_requests
from experiments.usage import GET_PART_MB, HOURS_IN_A_MONTH, Usage, Use

# The slowest mean of the published table: 1 GiB by boto3's download_file, at every memory size from
# 1024 MB and every concurrency up to 500 (means from 12.67 to 13.24 s). Rather too much than too little.
PUBLISHED_S_PER_GIB = 13.24
FULL_SPEED_MEMORY_MB = 1024
# The published comparison of S3 and EFS: 19.03 s at 512 MB against 12.76 s at 1024 MB.
SLOWDOWN_AT_512_MB = 19.03 / 12.76
# One HEAD and one GET of nothing, in round trips and boto3's own time.
LEAST_S = 0.25
GIB_IN_MIB = 1024

# The embedded AWS on a machine of two cores [tried]: 64 MiB objects, up to 10 functions at once; and what a message
# takes of it however small the object is, 2,500 downloads of 1 MiB by 500 functions at once in 63 s.
LOCAL_MIB_PER_S = 400
LOCAL_S_PER_MESSAGE = 0.025
LOCAL_LEAST_S = 0.15
# What a function of the embedded AWS takes besides the object: the proportional set size (/proc/*/smaps_rollup) of the
# largest of 20 processes at work on an object of 1 MiB, rounded up [tried, x86_64]. With more of them each has less,
# because they share pages: 500 of go_stream had 2.9 MB at most, and the emulator beside them 316 MB.
PROCESS_MB = {"download_file": 44, "crt": 29, "stream": 24, "ranges": 24, "go_stream": 4, "go_ranges": 4}


def usage(values: Mapping[str, Any]) -> Usage:
    """The needs of a cell of these variables."""
    object_mb = values["object_size_mb"]
    return Usage(
        seconds={"aws": _aws_s(object_mb, values["memory_size"]), "local": _local_s(object_mb, values)},
        moved_mb=object_mb,
        data_mb=object_mb,
        process_mb=PROCESS_MB.get(values["method"], max(PROCESS_MB.values())),
        tmp_mb=values["ephemeral_storage_mb"],
        sized_by="object_size_mb",
        uses=(
            Use("S3", "GET and HEAD", "s3_get", each=requests(object_mb, values)),
            Use("S3", "PUT of the object's parts", "s3_put", once=put_requests(object_mb * MEBIBYTE)),
            Use("S3", "storage of the object", "s3_gb_month", per_hour=object_mb / GIB_IN_MIB / HOURS_IN_A_MONTH),
            Use("S3", "transfer to Lambda, same region", "s3_transfer_gb", each=object_mb / GIB_IN_MIB),
        ),
    )


def objects(outputs: Mapping[str, Any]) -> Sequence[DataObject]:
    """The one object, from the stack's outputs."""
    return [DataObject(outputs["object_key"], outputs["object_size_mb"] * MEBIBYTE)]


def order(_: Mapping[str, Any], there: Sequence[DataObject]) -> dict[str, Any]:
    """A work order announces the object's size in bytes, so that a download that got another one fails."""
    return {"object_bytes": there[0].size_bytes}


def slowdown(memory_mb: int) -> float:
    """How many times slower a download is for want of memory, which is CPU.

    1 from 1024 MB; down to 512 MB the power of memory that meets both published points, (1024 / MB) ^ 0.577; below that
    proportional to 1 / MB, which nobody measured.
    """
    if memory_mb >= FULL_SPEED_MEMORY_MB:
        return 1.0
    if memory_mb >= 512:
        return (FULL_SPEED_MEMORY_MB / memory_mb) ** math.log2(SLOWDOWN_AT_512_MB)
    return SLOWDOWN_AT_512_MB * 512 / max(1, memory_mb)


def _aws_s(object_mb: int, memory_mb: int) -> float:
    return max(LEAST_S, PUBLISHED_S_PER_GIB * object_mb / GIB_IN_MIB * slowdown(memory_mb))


def _local_s(object_mb: int, values: Mapping[str, Any]) -> float:
    one_alone_s = max(LOCAL_S_PER_MESSAGE, object_mb / LOCAL_MIB_PER_S)
    return max(LOCAL_LEAST_S, values["concurrency_value"] * one_alone_s)


def requests(object_mb: int, values: Mapping[str, Any]) -> int:
    """What one download asks S3 for: `download_file` one HEAD and a GET a part, the others no HEAD."""
    if values["method"] == "download_file":
        return 1 + -(-object_mb // GET_PART_MB)
    if values["method"].endswith("stream"):
        return 1
    return -(-object_mb // max(1, values["range_part_mb"]))
