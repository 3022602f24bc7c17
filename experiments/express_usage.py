"""What puts, reads and queries of the two storage classes take: seconds, requests, bytes, what is kept.

Prices are by class: Standard asks for requests and storage, Express One Zone for every byte up and down too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from experiments.by_size import Tariff
from experiments.express_orders import (
    CONNECTION_BYTES_PER_S,
    FUNCTION_BYTES_PER_S,
    LATENCY_MS,
    PLACING_AT_ONCE,
    QUERIES,
    placing_step,
)
from experiments.usage import HOURS_IN_A_MONTH, Usage, Use

MEBIBYTE, BYTES_IN_A_GB, BYTES_IN_A_TB = 2**20, 2**30, 2**40
# Lambda has one vCPU at 1,769 MB. What one request takes of it is a guess: TLS, and a few system calls.
MB_A_VCPU, CPU_S_PER_REQUEST = 1769, 0.0004
# S3 User Guide, a partitioned prefix of a general purpose bucket; a directory bucket takes 100,000 and 200,000.
STANDARD_PER_S = {"upload": 3500, "download": 5500}
# The published queries: 100 objects of 100 MB, and about 700,000 of 10 KB.
LARGE_QUERY_S, LARGE_BYTES = {"standard": 2.59, "express": 2.24}, 100 * 100e6
SMALL_QUERY_S, SMALL_OBJECTS = {"standard": 75.91, "express": 52.30}, 700_000
# Athena's pricing page: 10 MB a query at least. How often it asks S3 for a large object isn't told: guessed.
LEAST_SCANNED_BYTES, SPLIT_BYTES = 10 * MEBIBYTE, 64e6
PAGE = 1000  # keys in an answer of ListObjectsV2, and in a DeleteObjects
LISTED_PAGE_S, DELETED_PAGE_S = 0.1, 0.25  # guesses, rather too much
# A function's network interfaces may hold their subnet for so long at `destroy` (Lambda guide); any_zone has none.
SUBNET_S = 1200
# The embedded AWS on a machine of two cores: puts of small objects, and what its Athena takes [tried].
LOCAL_CALLS_PER_S, LOCAL_QUERY_MB = 400, 200
# The Go program as the copies measured it, and what a request's buffers take at most.
PROCESS_MB, PROCESS_MB_PER_REQUEST = 20, 0.2


def usage(values: Mapping[str, Any]) -> Usage:
    """The needs of a cell: of one message, a slice of a set of objects, or a query over all of it."""
    if values["operation"] in QUERIES:
        return _query(values)
    uploads = values["operation"] == "upload"
    objects, mean = slice_objects(values)
    moved_gb = mean * values["object_bytes"] / BYTES_IN_A_GB
    return Usage(
        moved_mb=mebibytes(objects * values["object_bytes"]),
        uses=(*_transfers(values, mean, moved_gb, "each"), *_kept(values, placed=not uploads)),
        faster_by="more slices or a larger parallel_limit",
        emulator_mb=mebibytes(set_bytes(values)),
        connections=values["parallel_limit"],
        **_common(values),
    )


def per_s(values: Mapping[str, Any]) -> float:
    """Objects a second of one function on AWS by latency, bandwidth and CPU, whatever a bucket takes."""
    return min(
        max(1, values["parallel_limit"]) / _one_s(values),
        FUNCTION_BYTES_PER_S / max(1, values["object_bytes"]),
        values["memory_size"] / MB_A_VCPU / CPU_S_PER_REQUEST,
    )


def query_s(values: Mapping[str, Any]) -> float:
    """Seconds of one of Athena's queries on AWS, in proportion to the published ones: by bytes and by objects."""
    large_s = LARGE_QUERY_S[values["storage_class"]]
    one_object_s = (SMALL_QUERY_S[values["storage_class"]] - large_s) / SMALL_OBJECTS
    return large_s * max(1.0, set_bytes(values) / LARGE_BYTES) + values["object_count"] * one_object_s


def tariffs(prices: Mapping[str, float]) -> dict[str, Tariff] | None:
    """What each class asks; `prices` are US dollars by their name in prices.json. None where one isn't known."""
    names = {
        "standard": ("s3_put", "s3_get", "s3_transfer_gb", "s3_transfer_gb", "s3_gb_month"),
        "express": ("express_put", "express_get", "express_upload_gb", "express_read_gb", "express_gb_month"),
    }
    if not {name for those in names.values() for name in those} <= prices.keys():
        return None
    return {kind: Tariff(*(prices[name] for name in those)) for kind, those in names.items()}


def _query(values: Mapping[str, Any]) -> Usage:
    count, gets = values["object_count"], values["object_count"] * math.ceil(values["object_bytes"] / SPLIT_BYTES)
    scanned_bytes = max(LEAST_SCANNED_BYTES, set_bytes(values))
    read = _transfers(values | {"operation": "download"}, gets, set_bytes(values) / BYTES_IN_A_GB, "each")
    return Usage(
        moved_mb=mebibytes(set_bytes(values)),
        within_s3=True,
        in_athena=True,
        uses=(
            Use("Athena", "scanned", "athena_tb", each=scanned_bytes / BYTES_IN_A_TB),
            *read,
            Use(*_line(values, "LIST", "put"), each=_pages(count)),
            *_kept(values, placed=True),
        ),
        faster_by="larger objects",
        emulator_mb=LOCAL_QUERY_MB + mebibytes(set_bytes(values)),
        **_common(values),
    )


def _common(values: Mapping[str, Any]) -> dict[str, Any]:
    count, placed = values["object_count"], values["operation"] != "upload"
    placing = values | {"operation": "upload", "parallel_limit": PLACING_AT_ONCE}
    put_s = {"aws": count / per_s(placing), "local": count / LOCAL_CALLS_PER_S} if placed else {"aws": 0, "local": 0}
    return {
        "data_mb": 0,
        "process_mb": math.ceil(PROCESS_MB + PROCESS_MB_PER_REQUEST * values["parallel_limit"]),
        "tmp_mb": values["ephemeral_storage_mb"],
        "sized_by": "object_count",
        "stack_s": SUBNET_S if values["placement"] == "same_zone" else 0,
        "placed": _set(values),
        "placing_s": {"aws": put_s["aws"] + _listed(values) * LISTED_PAGE_S + _pages(count) * DELETED_PAGE_S,
                      "local": put_s["local"]},
    }  # fmt: skip


def _kept(values: Mapping[str, Any], *, placed: bool) -> tuple[Use, ...]:
    """A set of objects is put by the placing function where no cell does, and kept while a stack is up, by the hour;
    its keys are listed before each cell that needs it, and again when it is removed. Deletions are free."""
    name, count, gb = _set(values), values["object_count"], set_bytes(values) / BYTES_IN_A_GB
    month = "s3_gb_month" if values["storage_class"] == "standard" else "express_gb_month"
    kept = Use(_service(values), "storage of the sets", month, per_hour=gb / HOURS_IN_A_MONTH, of=name)
    listed = Use(*_line(values, "LIST of the sets", "put"), per_cell=_listed(values), once=_pages(count), of=name)
    if not placed:
        return listed, kept
    upload = values | {"operation": "upload", "parallel_limit": PLACING_AT_ONCE}
    gb_s = count / per_s(upload) * values["memory_size"] / 1024
    lambda_price = f"lambda_gb_s_{values['architecture']}"
    put = _transfers(upload, count, gb, "once", " of the sets", name)
    return *put, listed, kept, Use("Lambda", "placing the sets", lambda_price, once=gb_s, of=name)


def _transfers(
    values: Mapping[str, Any], requests: float, gb: float, when: str, words: str = "", of: str = ""
) -> tuple[Use, ...]:
    """The lines of `requests` uploads or downloads that move `gb`, for each operation or `once` for the set `of`."""
    kind, what, moved = ("put", "PUT", "upload") if values["operation"] == "upload" else ("get", "GET", "read")
    lines = [(_line(values, what + words, kind), requests)]
    if values["storage_class"] == "express":
        lines.append(((_service(values), f"bytes of {what}{words}", f"express_{moved}_gb"), gb))
    else:
        lines.append((("S3", "transfer within the region", "s3_transfer_gb"), gb))
    return tuple(Use(*line, of=of, **{when: quantity}) for line, quantity in lines)


def _line(values: Mapping[str, Any], what: str, kind: str) -> tuple[str, str, str]:
    """Service, words and price of a kind of request: put (LIST among them) or get."""
    return _service(values), what, f"{'s3' if values['storage_class'] == 'standard' else 'express'}_{kind}"


def _service(values: Mapping[str, Any]) -> str:
    return "S3" if values["storage_class"] == "standard" else "S3 Express"


def _set(values: Mapping[str, Any]) -> str:
    return f"{values['storage_class']}, {values['object_count']:,} x {values['object_bytes']:,} bytes"


def set_bytes(values: Mapping[str, Any]) -> int:
    """Bytes of all objects of a set."""
    return values["object_count"] * values["object_bytes"]


def slice_objects(values: Mapping[str, Any]) -> tuple[int, float]:
    """Objects of the largest slice, and of one on average."""
    slices = max(1, values["slices"])
    return -(-values["object_count"] // slices), values["object_count"] / slices


def _one_s(values: Mapping[str, Any]) -> float:
    """Seconds of one request on AWS, to its last byte."""
    # What there isn't the checks refuse, and they come after this.
    latency_ms = LATENCY_MS.get((values["operation"], values["storage_class"]), max(LATENCY_MS.values()))
    return latency_ms / 1000 + values["object_bytes"] / CONNECTION_BYTES_PER_S


def _listed(values: Mapping[str, Any]) -> int:
    """Pages that are listed to find what of a set is missing before a cell reads it: all of them for each part."""
    if values["operation"] == "upload":
        return 0
    return _pages(values["object_count"]) * -(-values["object_count"] // placing_step(values["object_bytes"]))


def _pages(count: int) -> int:
    return max(1, -(-count // PAGE))


def mebibytes(size_bytes: float) -> int:
    """Bytes as whole MiB, rounded up."""
    return math.ceil(size_bytes / MEBIBYTE)
