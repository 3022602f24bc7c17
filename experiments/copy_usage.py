"""What server-side copies take: requests, KMS calls, and the hours of the hosts that ask for them.

`usage` is of a cell whose workers are functions, `host_usage` of one whose workers are EC2 hosts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments.objects import put_requests
from experiments.usage import HOURS_IN_A_MONTH, Usage, Use

# One call takes CALL_S + CALL_S_PER_MB x MB (decimal), by two published points: 1,000 calls for 20 MB one after the
# other in 489.58 s, and 100 processes with 654 to 696 calls/s for 1 MB, on average 673.9. No run of ours on AWS yet.
CALL_S, CALL_S_PER_MB = 0.1304, 0.01796
# S3 User Guide, "Best practices design patterns": PUT, COPY, POST and DELETE a second and partitioned prefix. A new
# bucket has one, and a batched deletion counts key by key.
CALLS_PER_S = 3500
PAGE = 1000  # keys in an answer of ListObjectsV2, and in a DeleteObjects
# One page is listed while four are deleted, and a last listing looks whether all is gone; guessed, rather too much.
PAGE_S, LEAST_EMPTYING_S = 0.25, 0.5
# The embedded AWS on a busy machine of two cores, asked by the Go program [tried]: 12,000 keys listed and deleted in
# 1.7 s, 6,000 in 1.2.
LOCAL_DELETIONS_PER_S, LOCAL_LEAST_S = 5000, 0.1
# `stampede dataset` makes so many copies at once.
COPIES_AT_ONCE = 32
ROW_BYTES = 90  # of a manifest
# A copy shares its source's bytes in the embedded AWS: 21,500 copies of 20 MB took 31 MB of it [tried].
LOCAL_BYTES_PER_COPY = 1536
# The Go program: 21 MB at up to 100 calls at once, 43 MB at 1,000 [tried].
PROCESS_MB, PROCESS_MB_PER_CALL = 20, 0.03
BYTES_IN_A_GB = 2**30
MEBIBYTE = 2**20
# S3 User Guide, "Reducing the cost of SSE-KMS with Amazon S3 Bucket Keys": without one, S3 calls KMS at every request
# on an object. A copy reads one (Decrypt) and writes one (GenerateDataKey). With one "up to 99 percent" less; in the
# example that AWS published (aws-samples/s3-bucketkey-poc) 97.3 %.
KMS_CALLS, KMS_CALLS_WITH_BUCKET_KEY = 2, 2 * 0.027
# infra/copy_host.tf: sqs, logs, ssm and ssmmessages, in one subnet beside the free gateway to S3; and a host's disk.
# Nobody has put this up on AWS yet: the time of endpoints and of an instance's start are guesses.
INTERFACE_ENDPOINTS, DISK_GB = 4, 8
HOST_STACK_S, HOST_START_S = 420, 90


def usage(values: Mapping[str, Any]) -> Usage:
    """The needs of a cell of functions: N = 1 copies a listing, or N of them a manifest slice by slice."""
    work = _work_of_functions(values)
    count, sources = values["object_count"], 0 if values["from_manifest"] else values["object_count"]
    emptying = _pages(count) + 1
    return replace(
        _usage(values, work),
        stack_s=sources * call_s(values["object_bytes"]) / COPIES_AT_ONCE,
        preparation_s=_emptying_s(count) if values["from_manifest"] else {},
        sized_by="slice_rows" if values["from_manifest"] else "object_count",
        uses=(
            *_requests(work, values["object_bytes"]),
            Use("S3", "LIST", "s3_put", per_cell=emptying)
            if values["from_manifest"]
            else Use("S3", "LIST", "s3_put", each=_pages(count) + emptying),
            *_data(values, sources=sources, slices=slices_of(values) if values["from_manifest"] else 0),
        ),
    )


def host_usage(values: Mapping[str, Any]) -> Usage:
    """The needs of a cell of N hosts, each of which copies its share of all slices."""
    count, slices, hosts = values["object_count"], slices_of(values), max(1, values["concurrency_value"])
    share = -(-slices // hosts)
    work = _Work(min(count, share * values["slice_rows"]), share, count / hosts, slices / hosts)
    kms = KMS_CALLS_WITH_BUCKET_KEY if values["bucket_key"] else KMS_CALLS
    instance = values["instance_type"]
    return replace(
        _usage(values, work),
        instance_type=instance,
        stack_s=HOST_STACK_S,
        apply_s=HOST_START_S,
        preparation_s=_emptying_s(count),
        sized_by="object_count",
        uses=(
            *_requests(work, values["object_bytes"]),
            Use("S3", "LIST", "s3_put", per_cell=_pages(count) + 1),
            *_data(values, sources=0, slices=slices),
            Use("KMS", "GenerateDataKey and Decrypt", "kms_request", each=work.mean_objects * kms),
            Use("KMS", "key", "kms_key_month", per_hour=1 / HOURS_IN_A_MONTH),
            Use("EC2", f"hosts, {instance}", f"ec2_hour:{instance}", per_cell_hour=hosts),
            Use("EC2", "disks, gp3", "gp3_gb_month", per_cell_hour=hosts * DISK_GB / HOURS_IN_A_MONTH),
            Use("VPC", "interface endpoints", "interface_endpoint_hour", per_hour=INTERFACE_ENDPOINTS),
        ),
    )


def call_s(object_bytes: int) -> float:
    """Seconds of one CopyObject on AWS."""
    return CALL_S + CALL_S_PER_MB * object_bytes / 1e6


def calls_per_s(values: Mapping[str, Any], most_per_s: float = CALLS_PER_S) -> float:
    """Calls a second of one worker on AWS: its parallel calls, what S3 takes (`most_per_s`), and its own cap. What is
    out of range the checks refuse, and they come after this."""
    at_once_per_s = max(1, values["parallel_limit"]) / call_s(values["object_bytes"])
    return min(at_once_per_s, most_per_s, values["calls_per_s"] or math.inf)


@dataclass(frozen=True)
class _Work:
    """What the largest message asks for, and what is a message's on average."""

    objects: int
    slices: int
    mean_objects: float
    mean_slices: float


def _work_of_functions(values: Mapping[str, Any]) -> _Work:
    count = values["object_count"]
    if not values["from_manifest"]:
        return _Work(count, 0, count, 0)
    slices = slices_of(values)
    return _Work(min(count, values["slice_rows"]), 1, count / slices, 1)


def _usage(values: Mapping[str, Any], work: _Work) -> Usage:
    """What both have in common; the lines of the bill are each's own."""
    object_bytes, at_once = values["object_bytes"], values["parallel_limit"]
    return Usage(
        moved_mb=_mb(work.objects * object_bytes),
        data_mb=_mb(values["masters"] * object_bytes + (ROW_BYTES * values["object_count"] if work.slices else 0)),
        process_mb=math.ceil(PROCESS_MB + PROCESS_MB_PER_CALL * at_once),
        tmp_mb=512,
        sized_by="",
        uses=(),
        within_s3=True,
        emulator_mb=_mb(2 * LOCAL_BYTES_PER_COPY * values["object_count"]),  # a source, at worst, and a copy
        connections=at_once,
        faster_by="a larger parallel_limit",
    )


def _emptying_s(count: int) -> dict[str, float]:
    return {
        "aws": max(LEAST_EMPTYING_S, PAGE_S * _pages(count), count / CALLS_PER_S),
        "local": LOCAL_LEAST_S + count / LOCAL_DELETIONS_PER_S,
    }


def _requests(work: _Work, object_bytes: int) -> tuple[Use, ...]:
    moved_gb = work.mean_objects * object_bytes / BYTES_IN_A_GB
    return (
        Use("S3", "COPY", "s3_put", each=work.mean_objects),
        Use("S3", "GET of slices", "s3_get", each=work.mean_slices),
        Use("S3", "transfer within the region", "s3_transfer_gb", each=moved_gb),
    )


def _data(values: Mapping[str, Any], *, sources: int, slices: int) -> tuple[Use, ...]:
    """What is put before the first flood, and what is stored while the stack is up."""
    object_bytes = values["object_bytes"]
    # A manifest and its masters; or a source of which one object is put, and the others are copies of it.
    put, copied, manifest = (values["masters"], 0, slices + 1) if slices else (1, sources - 1, 0)
    stored = (put + copied + values["object_count"]) * object_bytes / BYTES_IN_A_GB
    puts = put * put_requests(object_bytes) + copied + manifest
    return (
        Use("S3", "PUT and COPY of the data set", "s3_put", once=puts),
        Use("S3", "HEAD of the data set", "s3_get", once=put + copied),
        Use("S3", "storage of sources and copies", "s3_gb_month", per_hour=stored / HOURS_IN_A_MONTH),
    )


def slices_of(values: Mapping[str, Any]) -> int:
    """Of how many slices a manifest has."""
    return max(1, -(-values["object_count"] // max(1, values["slice_rows"])))


def _pages(count: int) -> int:
    return max(1, -(-count // PAGE))


def _mb(size_bytes: float) -> int:
    return math.ceil(size_bytes / MEBIBYTE)
