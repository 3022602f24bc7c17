"""What server-side copies use: requests, KMS calls and hours of hosts.

`usage` is for cells that run in functions, `host_usage` for cells that run on EC2 hosts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from experiments.copy.key_plan import CopyValues, HostValues, slices_of
from experiments.copy.work import call_s, emptying_s
from experiments.objects import BYTES_IN_A_GB, mebibytes, pages, put_requests, stored
from experiments.parameters import known_parameters
from stampede.experiment import HOURS_IN_A_MONTH, Usage, Use
from stampede.model.request_rate import KMS_CALLS_PER_COPY

# Parallel copies of `stampede dataset`.
COPIES_AT_ONCE = 32
ROW_BYTES = 90  # of a manifest
# One at the source and one at the destination (S3 User Guide, "Logging requests with server access
# logging", copy operations).
COPY_LOG_LINES = 2
# A copy shares its source's bytes in the embedded AWS: 21,500 copies of 20 MB took 31 MB of it
# [tried].
LOCAL_BYTES_PER_COPY = 1536
# The Go program: 21 MB at up to 100 calls at once, 43 MB at 1,000 [tried].
PROCESS_MB, PROCESS_MB_PER_CALL = 20, 0.03
# S3 User Guide, "Reducing the cost of SSE-KMS with Amazon S3 Bucket Keys": up to 99 % fewer calls
# of KMS; in the example that AWS published (aws-samples/s3-bucketkey-poc) 97.3 %.
KMS_CALLS_WITH_BUCKET_KEY = KMS_CALLS_PER_COPY * 0.027
# infra/copy_host.tf: endpoints for sqs, logs, ssm and ssmmessages in one subnet, and a host's disk.
# The times to create the endpoints and to start an instance are guesses.
INTERFACE_ENDPOINTS, DISK_GB = 4, 8
HOST_STACK_S, HOST_START_S = 420, 90


def usage(values: CopyValues) -> Usage:
    """The needs of a cell of functions: one copies a listing, or N copy a manifest slice by
    slice."""
    count = values["object_count"]
    if values["from_manifest"]:
        slices, largest = slices_of(values), min(count, values["slice_rows"])
        return _usage(values, largest, messages=slices, slices=slices, sized_by="slice_rows")
    call_seconds = call_s(values, known_parameters("copy"))
    return _usage(
        values, count, sized_by="object_count", stack_s=count * call_seconds / COPIES_AT_ONCE
    )


def host_usage(values: HostValues) -> Usage:
    """The needs of a cell of N hosts, each of which copies its share of all slices."""
    count, slices, hosts = values["object_count"], slices_of(values), values["concurrency_value"]
    hosts = max(1, hosts)
    kms = KMS_CALLS_WITH_BUCKET_KEY if values["bucket_key"] else KMS_CALLS_PER_COPY
    instance, disks = values["instance_type"], hosts * DISK_GB / HOURS_IN_A_MONTH
    endpoints = Use(
        "VPC", "interface endpoints", "interface_endpoint_hour", per_hour=INTERFACE_ENDPOINTS
    )
    of_hosts = (
        Use("KMS", "GenerateDataKey and Decrypt", "kms_request", each=count / hosts * kms),
        Use("KMS", "key", "kms_key_month", per_hour=1 / HOURS_IN_A_MONTH),
        Use("EC2", f"hosts, {instance}", f"ec2_hour:{instance}", per_cell_hour=hosts),
        Use("EC2", "disks, gp3", "gp3_gb_month", per_cell_hour=disks),
        endpoints,
    )
    return _usage(
        values,
        min(count, -(-slices // hosts) * values["slice_rows"]),
        messages=hosts,
        slices=slices,
        of_hosts=of_hosts,
        instance_type=instance,
        sized_by="object_count",
        stack_s=HOST_STACK_S,
        apply_s=HOST_START_S,
    )


def _usage(
    values: CopyValues,
    largest: int,
    *,
    messages: int = 1,
    slices: int = 0,
    of_hosts: Sequence[Use] = (),
    **own: Any,
) -> Usage:
    """The needs of a cell whose largest message copies `largest` objects. All messages share a
    manifest of `slices`, or list the source if there are none. `own` are needs of one kind of
    worker."""
    count, object_bytes = values["object_count"], values["object_bytes"]
    # The destination is listed while it is emptied, and once more when it is empty.
    emptying = pages(count) + 1
    if slices:
        listing = Use("S3", "LIST", "s3_put", per_cell=emptying)
        own["preparation_s"] = {"aws": emptying_s(count, known_parameters("copy"))}
        uploaded, copied = values["masters"], 0
    else:  # the source is one uploaded object and copies of it
        listing = Use("S3", "LIST", "s3_put", each=pages(count) + emptying)
        uploaded, copied = 1, count - 1
    puts = uploaded * put_requests(object_bytes) + copied + slices
    stored_gb = (uploaded + copied + count) * object_bytes / BYTES_IN_A_GB
    put = Use("S3", "PUT and COPY of the data set", "s3_put", once=puts, log_lines=COPY_LOG_LINES)
    return Usage(
        moved_mb=mebibytes(largest * object_bytes),
        data_mb=mebibytes(values["masters"] * object_bytes + (ROW_BYTES * count if slices else 0)),
        process_mb=math.ceil(PROCESS_MB + PROCESS_MB_PER_CALL * values["parallel_limit"]),
        tmp_mb=512,
        uses=(
            Use("S3", "COPY", "s3_put", each=count / messages, log_lines=COPY_LOG_LINES),
            Use("S3", "GET of slices", "s3_get", each=slices / messages),
            listing,
            put,
            Use("S3", "HEAD of the data set", "s3_get", once=uploaded + copied),
            stored("S3", "storage of sources and copies", "s3_gb_month", stored_gb),
            *of_hosts,
        ),
        within_s3=True,
        emulator_mb=mebibytes(2 * LOCAL_BYTES_PER_COPY * count),  # a source, at worst, and a copy
        connections=values["parallel_limit"],
        faster_by="a larger parallel_limit",
        **own,
    )
