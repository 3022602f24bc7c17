"""What uploads, downloads and queries of the two storage classes use: seconds, requests, bytes.

S3 Standard bills requests and storage, S3 Express One Zone also every byte that is written or read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from experiments.express.orders import (
    ONE_ZONE,
    QUERIES,
    SEEDING_AT_ONCE,
    STANDARD,
    UPLOAD,
    ExpressValues,
    seeding_step,
    set_bytes,
    slice_objects,
)
from experiments.express.work import alone
from experiments.objects import BYTES_IN_A_GB, MEBIBYTE, mebibytes, pages, stored
from stampede.experiment import Tariff, Usage, Use

BYTES_IN_A_TB = 2**40
# Athena bills at least 10 MB a query (its pricing page). How often it asks S3 for a large object
# isn't published: guessed.
LEAST_SCANNED_BYTES, SPLIT_BYTES = 10 * MEBIBYTE, 64e6
# A function's network interfaces may hold their subnet for so long at `destroy` (Lambda guide).
SUBNET_S = 1200
# The embedded AWS on two cores: puts of small objects per second, and Athena's memory [tried].
LOCAL_CALLS_PER_S, LOCAL_QUERY_MB = 400, 200
# The Go program as measured for the copies, and the most that a request's buffers take.
PROCESS_MB, PROCESS_MB_PER_REQUEST = 20, 0.2


class Billing(NamedTuple):
    """The service of a storage class on the bill, and the names of its prices."""

    service: str
    put: str
    get: str
    upload_gb: str
    read_gb: str
    gb_month: str


BILLED = {
    STANDARD: Billing("S3", "s3_put", "s3_get", "s3_transfer_gb", "s3_transfer_gb", "s3_gb_month"),
    ONE_ZONE: Billing(
        "S3 Express",
        "express_put",
        "express_get",
        "express_upload_gb",
        "express_read_gb",
        "express_gb_month",
    ),
}


def usage(values: ExpressValues) -> Usage:
    """The needs of a cell. A message is a slice of a set of objects, or a query over the set."""
    if values["operation"] in QUERIES:
        return _query(values)
    largest, mean = slice_objects(values)
    moved_gb = mean * values["object_bytes"] / BYTES_IN_A_GB
    return _usage(
        values,
        _transfers(values, mean, moved_gb, is_upload=values["operation"] == UPLOAD),
        moved_mb=mebibytes(largest * values["object_bytes"]),
        faster_by="more slices or a larger parallel_limit",
        emulator_mb=mebibytes(set_bytes(values)),
        connections=values["parallel_limit"],
    )


def tariffs(prices: Mapping[str, float]) -> dict[str, Tariff] | None:
    """What each class bills; `prices` are US dollars by their name in prices.json. None if one of
    them isn't known."""
    try:
        return {
            name: Tariff(
                *(prices[price] for price in (each.put, each.get, each.upload_gb, each.read_gb))
            )
            for name, each in BILLED.items()
        }
    except KeyError:
        return None


def _query(values: ExpressValues) -> Usage:
    count, billing, size = values["object_count"], _billing(values), set_bytes(values)
    gets = count * math.ceil(values["object_bytes"] / SPLIT_BYTES)
    scanned_tb = max(LEAST_SCANNED_BYTES, size) / BYTES_IN_A_TB
    return _usage(
        values,
        (
            Use("Athena", "scanned", "athena_tb", each=scanned_tb),
            *_transfers(values, gets, size / BYTES_IN_A_GB, is_upload=False),
            Use(billing.service, "LIST", billing.put, each=pages(count)),
        ),
        moved_mb=mebibytes(size),
        within_s3=True,
        in_athena=True,
        faster_by="larger objects",
        emulator_mb=LOCAL_QUERY_MB + mebibytes(size),
    )


def _usage(values: ExpressValues, operation: tuple[Use, ...], **own: Any) -> Usage:
    """The needs of a cell whose messages use `operation`; `own` are those of a slice or a
    query."""
    seeding_s, network, is_in_subnet = {}, (), values["placement"] == "same_zone"
    if values["operation"] != UPLOAD:
        seeding_s = {
            "aws": _seeding_s(values),
            "local": values["object_count"] / LOCAL_CALLS_PER_S,
        }
    if is_in_subnet:
        words, price = "interface endpoint to SQS", "interface_endpoint_hour"
        network = (Use("VPC", words, price, per_cell_hour=1),)
    return Usage(
        uses=(*operation, *_kept(values), *network),
        data_mb=0,
        process_mb=math.ceil(PROCESS_MB + PROCESS_MB_PER_REQUEST * values["parallel_limit"]),
        tmp_mb=values["ephemeral_storage_mb"],
        sized_by="object_count",
        stack_s=SUBNET_S if is_in_subnet else 0,
        seeded=_set(values),
        seeding_s=seeding_s,
        **own,
    )


def _seeding_s(values: ExpressValues) -> float:
    """Seconds that the seeding function takes to put a set on AWS."""
    seeding = {"operation": UPLOAD, "parallel_limit": SEEDING_AT_ONCE, "slices": 1}
    return alone(values | seeding).mean_s


def _kept(values: ExpressValues) -> tuple[Use, ...]:
    """Storing a set of objects while the stack is up. The seeding function puts it unless the cell
    uploads it; each part of the seeding lists all keys to find what is missing. They are listed
    again when the set is removed. Deletions are free."""
    name, count, gb = _set(values), values["object_count"], set_bytes(values) / BYTES_IN_A_GB
    billing, parts = _billing(values), -(-count // seeding_step(values["object_bytes"]))
    is_seeded = values["operation"] != UPLOAD
    kept = (
        Use(
            billing.service,
            "LIST of the data sets",
            billing.put,
            per_cell=pages(count) * parts * is_seeded,
            once=pages(count),
            of=name,
        ),
        stored(billing.service, "storage of the data sets", billing.gb_month, gb, name),
    )
    if not is_seeded:
        return kept
    gb_s = _seeding_s(values) * values["memory_size"] / 1024
    price = f"lambda_gb_s_{values['architecture']}"
    return (
        *_transfers(values, count, gb, is_upload=True, of=name),
        *kept,
        Use("Lambda", "seeding the data sets", price, once=gb_s, of=name),
    )


def _transfers(
    values: ExpressValues, requests: float, gb: float, *, is_upload: bool, of: str = ""
) -> tuple[Use, ...]:
    """The lines of `requests` that transfer `gb` in all: for each operation, or once for the set
    `of`."""
    billing, when = _billing(values), "once" if of else "each"
    what = ("PUT" if is_upload else "GET") + (" of the data sets" if of else "")
    moved = f"bytes of {what}"
    if values["storage_class"] == STANDARD:
        moved = "transfer within the region"
    price, gb_price = billing.get, billing.read_gb
    if is_upload:
        price, gb_price = billing.put, billing.upload_gb
    return (
        Use(billing.service, what, price, of=of, **{when: requests}),
        Use(billing.service, moved, gb_price, of=of, **{when: gb}),
    )


def _billing(values: ExpressValues) -> Billing:
    return BILLED[values["storage_class"]]


def _set(values: ExpressValues) -> str:
    return (
        f"{values['storage_class']}, {values['object_count']:,} x {values['object_bytes']:,} bytes"
    )
