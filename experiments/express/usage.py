"""What puts, reads and queries of the two storage classes take: seconds, requests, bytes, what is kept.

Prices are by class: Standard asks for requests and storage, Express One Zone for every byte up and down too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from experiments.express.orders import QUERIES, SEEDING_AT_ONCE, UPLOAD, seeding_step, set_bytes, slice_objects
from experiments.express.work import alone
from stampede.experiment.by_size import Tariff
from stampede.experiment.objects import BYTES_IN_A_GB, MEBIBYTE, mebibytes, pages
from stampede.experiment.parameters import known_parameters
from stampede.experiment.usage import HOURS_IN_A_MONTH, Usage, Use

BYTES_IN_A_TB = 2**40
# Athena's pricing page: 10 MB a query at least. How often it asks S3 for a large object isn't published: guessed.
LEAST_SCANNED_BYTES, SPLIT_BYTES = 10 * MEBIBYTE, 64e6
DELETED_PAGE_S = 0.25  # a guess, rather too much
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
    uploads = values["operation"] == UPLOAD
    objects, mean = slice_objects(values)
    moved_gb = mean * values["object_bytes"] / BYTES_IN_A_GB
    return Usage(
        moved_mb=mebibytes(objects * values["object_bytes"]),
        uses=(*_transfers(values, mean, moved_gb, "each"), *_kept(values, seeded=not uploads), *_network(values)),
        faster_by="more slices or a larger parallel_limit",
        emulator_mb=mebibytes(set_bytes(values)),
        connections=values["parallel_limit"],
        **_common(values),
    )


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
            Use(*_line(values, "LIST", "put"), each=pages(count)),
            *_kept(values, seeded=True),
            *_network(values),
        ),
        faster_by="larger objects",
        emulator_mb=LOCAL_QUERY_MB + mebibytes(set_bytes(values)),
        **_common(values),
    )


def _network(values: Mapping[str, Any]) -> tuple[Use, ...]:
    """What is billed of the network of a function in the directory bucket's zone."""
    if values["placement"] != "same_zone":
        return ()
    return (Use("VPC", "interface endpoint to SQS", "interface_endpoint_hour", per_cell_hour=1),)


def _common(values: Mapping[str, Any]) -> dict[str, Any]:
    count, seeded = values["object_count"], values["operation"] != UPLOAD
    listed_s = _listed(values) * known_parameters("express")["list_page_s"]
    put_s = {"aws": _seeding_s(values), "local": count / LOCAL_CALLS_PER_S} if seeded else {"aws": 0, "local": 0}
    return {
        "data_mb": 0,
        "process_mb": math.ceil(PROCESS_MB + PROCESS_MB_PER_REQUEST * values["parallel_limit"]),
        "tmp_mb": values["ephemeral_storage_mb"],
        "sized_by": "object_count",
        "stack_s": SUBNET_S if values["placement"] == "same_zone" else 0,
        "seeded": _set(values),
        "seeding_s": {"aws": put_s["aws"] + listed_s + pages(count) * DELETED_PAGE_S, "local": put_s["local"]},
    }


def _seeding_s(values: Mapping[str, Any]) -> float:
    """Seconds in which the seeding function puts a set on AWS."""
    return alone(values | {"operation": UPLOAD, "parallel_limit": SEEDING_AT_ONCE, "slices": 1}).mean_s


def _kept(values: Mapping[str, Any], *, seeded: bool) -> tuple[Use, ...]:
    """A set of objects is put by the seeding function where no cell does, and kept while a stack is up, by the hour;
    its keys are listed before each cell that needs it, and again when it is removed. Deletions are free."""
    name, count, gb = _set(values), values["object_count"], set_bytes(values) / BYTES_IN_A_GB
    month = "s3_gb_month" if values["storage_class"] == "standard" else "express_gb_month"
    kept = Use(_service(values), "storage of the data sets", month, per_hour=gb / HOURS_IN_A_MONTH, of=name)
    listed = Use(*_line(values, "LIST of the data sets", "put"), per_cell=_listed(values), once=pages(count), of=name)
    if not seeded:
        return listed, kept
    gb_s = _seeding_s(values) * values["memory_size"] / 1024
    lambda_price = f"lambda_gb_s_{values['architecture']}"
    put = _transfers(values | {"operation": UPLOAD}, count, gb, "once", " of the data sets", name)
    return *put, listed, kept, Use("Lambda", "seeding the data sets", lambda_price, once=gb_s, of=name)


def _transfers(
    values: Mapping[str, Any], requests: float, gb: float, when: str, words: str = "", of: str = ""
) -> tuple[Use, ...]:
    """The lines of `requests` uploads or downloads that move `gb`, for each operation or `once` for the set `of`."""
    kind, what, moved = ("put", "PUT", "upload") if values["operation"] == UPLOAD else ("get", "GET", "read")
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


def _listed(values: Mapping[str, Any]) -> int:
    """Pages that are listed to find what of a set is missing before a cell reads it: all of them for each part."""
    if values["operation"] == UPLOAD:
        return 0
    return pages(values["object_count"]) * -(-values["object_count"] // seeding_step(values["object_bytes"]))
