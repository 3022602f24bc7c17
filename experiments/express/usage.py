"""What puts, reads and queries of the two storage classes take: seconds, requests, bytes, what is
kept.

Prices are by class: Standard asks for requests and storage, Express One Zone for every byte up and
down too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.express.orders import (
    DOWNLOAD,
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
from experiments.objects import BYTES_IN_A_GB, MEBIBYTE, mebibytes, pages
from experiments.parameters import known_parameters
from stampede.experiment import HOURS_IN_A_MONTH, Tariff, Usage, Use

BYTES_IN_A_TB = 2**40
# Athena's pricing page: 10 MB a query at least. How often it asks S3 for a large object isn't
# published: guessed.
LEAST_SCANNED_BYTES, SPLIT_BYTES = 10 * MEBIBYTE, 64e6
DELETED_PAGE_S = 0.25  # a guess, rather too much
# A function's network interfaces may hold their subnet for so long at `destroy` (Lambda guide);
# any_zone has none.
SUBNET_S = 1200
# The embedded AWS on a machine of two cores: puts of small objects, and what its Athena takes
# [tried].
LOCAL_CALLS_PER_S, LOCAL_QUERY_MB = 400, 200
# The Go program as the copies measured it, and what a request's buffers take at most.
PROCESS_MB, PROCESS_MB_PER_REQUEST = 20, 0.2


@dataclass(frozen=True)
class Billing:
    """The service of a storage class on the bill, and the names of its prices."""

    service: str
    put: str
    get: str
    upload_gb: str
    read_gb: str
    gb_month: str

    @property
    def prices(self) -> tuple[str, ...]:
        """Those of moving an object, in the order of a Tariff."""
        return self.put, self.get, self.upload_gb, self.read_gb


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
    """The needs of a cell: of one message, a slice of a set of objects, or a query over all of
    it."""
    if values["operation"] in QUERIES:
        return _query(values)
    uploads = values["operation"] == UPLOAD
    objects, mean = slice_objects(values)
    moved_gb = mean * values["object_bytes"] / BYTES_IN_A_GB
    return Usage(
        moved_mb=mebibytes(objects * values["object_bytes"]),
        uses=(
            *_transfers(values, mean, moved_gb, "each"),
            *_kept(values, seeded=not uploads),
            *_network(values),
        ),
        faster_by="more slices or a larger parallel_limit",
        emulator_mb=mebibytes(set_bytes(values)),
        connections=values["parallel_limit"],
        **_common(values),
    )


def tariffs(prices: Mapping[str, float]) -> dict[str, Tariff] | None:
    """What each class asks; `prices` are US dollars by their name in prices.json. None where one
    isn't known."""
    if any(price not in prices for billing in BILLED.values() for price in billing.prices):
        return None
    return {
        name: Tariff(*(prices[price] for price in billing.prices))
        for name, billing in BILLED.items()
    }


def _query(values: ExpressValues) -> Usage:
    count, billing = values["object_count"], BILLED[values["storage_class"]]
    gets = count * math.ceil(values["object_bytes"] / SPLIT_BYTES)
    scanned_bytes = max(LEAST_SCANNED_BYTES, set_bytes(values))
    read = _transfers(
        values | {"operation": DOWNLOAD}, gets, set_bytes(values) / BYTES_IN_A_GB, "each"
    )
    return Usage(
        moved_mb=mebibytes(set_bytes(values)),
        within_s3=True,
        in_athena=True,
        uses=(
            Use("Athena", "scanned", "athena_tb", each=scanned_bytes / BYTES_IN_A_TB),
            *read,
            Use(billing.service, "LIST", billing.put, each=pages(count)),
            *_kept(values, seeded=True),
            *_network(values),
        ),
        faster_by="larger objects",
        emulator_mb=LOCAL_QUERY_MB + mebibytes(set_bytes(values)),
        **_common(values),
    )


def _network(values: ExpressValues) -> tuple[Use, ...]:
    """What is billed of the network of a function in the directory bucket's zone."""
    if values["placement"] != "same_zone":
        return ()
    return (Use("VPC", "interface endpoint to SQS", "interface_endpoint_hour", per_cell_hour=1),)


def _common(values: ExpressValues) -> dict[str, Any]:
    count, seeded = values["object_count"], values["operation"] != UPLOAD
    listed_s = _listed(values) * known_parameters("express")["list_page_s"]
    put_s = (
        {"aws": _seeding_s(values), "local": count / LOCAL_CALLS_PER_S}
        if seeded
        else {"aws": 0, "local": 0}
    )
    return {
        "data_mb": 0,
        "process_mb": math.ceil(PROCESS_MB + PROCESS_MB_PER_REQUEST * values["parallel_limit"]),
        "tmp_mb": values["ephemeral_storage_mb"],
        "sized_by": "object_count",
        "stack_s": SUBNET_S if values["placement"] == "same_zone" else 0,
        "seeded": _set(values),
        "seeding_s": {
            "aws": put_s["aws"] + listed_s + pages(count) * DELETED_PAGE_S,
            "local": put_s["local"],
        },
    }


def _seeding_s(values: ExpressValues) -> float:
    """Seconds in which the seeding function puts a set on AWS."""
    return alone(
        values | {"operation": UPLOAD, "parallel_limit": SEEDING_AT_ONCE, "slices": 1}
    ).mean_s


def _kept(values: ExpressValues, *, seeded: bool) -> tuple[Use, ...]:
    """A set of objects is stored by the seeding function where no cell does, and kept while a stack
    is up, by the hour; its keys are listed before each cell that needs it, and again when it is
    removed. Deletions are free."""
    name, count, gb = _set(values), values["object_count"], set_bytes(values) / BYTES_IN_A_GB
    billing, what = BILLED[values["storage_class"]], "of the data sets"
    stored = Use(
        billing.service,
        f"storage {what}",
        billing.gb_month,
        per_hour=gb / HOURS_IN_A_MONTH,
        of=name,
    )
    listed = Use(
        billing.service,
        f"LIST {what}",
        billing.put,
        per_cell=_listed(values),
        once=pages(count),
        of=name,
    )
    if not seeded:
        return listed, stored
    gb_s = _seeding_s(values) * values["memory_size"] / 1024
    lambda_price = f"lambda_gb_s_{values['architecture']}"
    puts = _transfers(values | {"operation": UPLOAD}, count, gb, "once", f" {what}", name)
    return (
        *puts,
        listed,
        stored,
        Use("Lambda", "seeding the data sets", lambda_price, once=gb_s, of=name),
    )


def _transfers(
    values: ExpressValues, requests: float, gb: float, when: str, words: str = "", of: str = ""
) -> tuple[Use, ...]:
    """The lines of `requests` uploads or downloads of `gb` in all, for each operation or `once` for
    the set `of`."""
    billing, uploads = BILLED[values["storage_class"]], values["operation"] == UPLOAD
    what = ("PUT" if uploads else "GET") + words
    bytes_words = (
        "transfer within the region" if values["storage_class"] == STANDARD else f"bytes of {what}"
    )
    price, gb_price = (
        (billing.put, billing.upload_gb) if uploads else (billing.get, billing.read_gb)
    )
    return (
        Use(billing.service, what, price, of=of, **{when: requests}),
        Use(billing.service, bytes_words, gb_price, of=of, **{when: gb}),
    )


def _set(values: ExpressValues) -> str:
    return (
        f"{values['storage_class']}, {values['object_count']:,} x {values['object_bytes']:,} bytes"
    )


def _listed(values: ExpressValues) -> int:
    """Pages that are listed to find what of a set is missing before a cell reads it: all of them
    for each part."""
    if values["operation"] == UPLOAD:
        return 0
    return pages(values["object_count"]) * -(
        -values["object_count"] // seeding_step(values["object_bytes"])
    )
