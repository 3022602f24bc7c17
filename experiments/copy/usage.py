"""What server-side copies take: requests, KMS calls, and the hours of the hosts that ask for them.

`usage` is of a cell whose workers are functions, `host_usage` of one whose workers are EC2 hosts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments.copy.key_plan import slices_of
from experiments.copy.work import KEYS_A_REQUEST, call_s, emptying_s
from stampede.experiment.objects import MEBIBYTE, put_requests
from stampede.experiment.parameters import known_parameters
from stampede.experiment.usage import HOURS_IN_A_MONTH, Usage, Use
from stampede.model.request_rate import KMS_CALLS_PER_COPY

# `stampede dataset` makes so many copies at once.
COPIES_AT_ONCE = 32
ROW_BYTES = 90  # of a manifest
# One at the source and one at the destination (S3 User Guide, "Logging requests with server access logging", copy
# operations).
COPY_LOG_LINES = 2
# A copy shares its source's bytes in the embedded AWS: 21,500 copies of 20 MB took 31 MB of it [tried].
LOCAL_BYTES_PER_COPY = 1536
# The Go program: 21 MB at up to 100 calls at once, 43 MB at 1,000 [tried].
PROCESS_MB, PROCESS_MB_PER_CALL = 20, 0.03
BYTES_IN_A_GB = 2**30
# S3 User Guide, "Reducing the cost of SSE-KMS with Amazon S3 Bucket Keys": up to 99 % fewer calls of KMS; in the
# example that AWS published (aws-samples/s3-bucketkey-poc) 97.3 %.
KMS_CALLS_WITH_BUCKET_KEY = KMS_CALLS_PER_COPY * 0.027
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
        stack_s=sources * call_s(values, known_parameters("copy")) / COPIES_AT_ONCE,
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
    kms = KMS_CALLS_WITH_BUCKET_KEY if values["bucket_key"] else KMS_CALLS_PER_COPY
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
    return {place: emptying_s(count, known_parameters("copy", place)) for place in ("aws", "local")}


def _requests(work: _Work, object_bytes: int) -> tuple[Use, ...]:
    moved_gb = work.mean_objects * object_bytes / BYTES_IN_A_GB
    return (
        Use("S3", "COPY", "s3_put", each=work.mean_objects, log_lines=COPY_LOG_LINES),
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
        Use("S3", "PUT and COPY of the data set", "s3_put", once=puts, log_lines=COPY_LOG_LINES),
        Use("S3", "HEAD of the data set", "s3_get", once=put + copied),
        Use("S3", "storage of sources and copies", "s3_gb_month", per_hour=stored / HOURS_IN_A_MONTH),
    )


def _pages(count: int) -> int:
    return max(1, -(-count // KEYS_A_REQUEST))


def _mb(size_bytes: float) -> int:
    return math.ceil(size_bytes / MEBIBYTE)
