"""Checks of how a plan moves and queries objects of the two storage classes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from experiments import go_program
from experiments.express.orders import (
    DOWNLOAD,
    QUERIES,
    STANDARD,
    UPLOAD,
    ExpressValues,
    set_bytes,
    slice_objects,
)
from experiments.express.work import alone
from experiments.objects import mebibytes
from experiments.parameters import known_parameters
from experiments.temporary_storage import unfitting
from stampede.checkout import INFRA
from stampede.experiment import look
from stampede.finding import PROBLEM, WARNING, Finding, Wrong
from stampede.phrases import counted

Cells = Sequence[ExpressValues]

# infra's list: a region's zones with S3 Express One Zone, of which the first is taken.
ZONES = INFRA / "express_zones.json"


def checks(cells: Cells) -> list[Finding]:
    """A slice has objects and fits into /tmp, and what S3 and Athena refuse."""
    each = {
        "zone": _zone,
        "bucket": _bucket,
        "slices": _slices,
        "/tmp": _tmp,
        "rate": _rate,
        "scan limit": _scans,
        "query limit": _query_times,
    }
    return [*look(each, cells), go_program.check({cell["architecture"] for cell in cells})]


def _zone(cells: Cells) -> Wrong:
    """The region has S3 Express One Zone, the zone is one of its zones, and a bucket is named as
    one of that zone."""
    by_region = json.loads(ZONES.read_text())["zones"]
    for cell in cells:
        region, zone, bucket = (cell[name] for name in ("region", "zone_id", "express_bucket_name"))
        if not (zones := by_region.get(region)):
            way_out = f"use --set region=... with one of {', '.join(by_region)}"
            return PROBLEM, f"S3 Express One Zone isn't available in {region}", way_out
        if zone is not None and zone not in zones:
            found = (
                f"zone_id {zone!r}: in {region}, S3 Express One Zone is available in "
                f"{', '.join(zones)}"
            )
            return PROBLEM, found, "use --set zone_id=... with one of these IDs, or leave it out"
        suffix = f"--{zone or zones[0]}--x-s3"
        if bucket is not None and not bucket.endswith(suffix):
            found = f"express_bucket_name {bucket!r}: must end in {suffix}, the suffix of its zone"
            return PROBLEM, found, "change it, or leave it out"
    return None


def _bucket(cells: Cells) -> Wrong:
    """A sweep has one: the next cell's apply would delete a bucket full of objects, which the
    provider may fail to empty."""
    for name in ("zone_id", "express_bucket_name"):
        if len(values := {cell[name] for cell in cells}) > 1:
            found = f"{len(values)} values of {name}: a sweep keeps one directory bucket"
            return PROBLEM, found, "run a sweep for each value"
    return None


def _slices(cells: Cells) -> Wrong:
    """Each slice of a set has an object at least."""
    for cell in cells:
        slices, count = cell["slices"], cell["object_count"]
        if slices > count:
            found = f"{slices:,} slices for {counted(count, 'object')}: some slices would be empty"
            return PROBLEM, found, f"use --set slices={count} or less"
    return None


def _tmp(cells: Cells) -> Wrong:
    """All objects that a download holds at once fit into /tmp, a file for each request."""

    def held_mb(cell: ExpressValues) -> int:
        at_once = min(cell["parallel_limit"], slice_objects(cell)[0])
        is_held = cell["operation"] == DOWNLOAD
        return mebibytes(at_once * cell["object_bytes"]) if is_held else 0

    return unfitting(cells, held_mb, "a smaller parallel_limit or object_bytes")


def _rate(cells: Cells) -> Wrong:
    """What all functions ask of one prefix of the general purpose bucket, against what S3 takes of
    it."""
    known = known_parameters("express")
    takes_per_s = {UPLOAD: known["s3_put_per_s"], DOWNLOAD: known["s3_get_per_s"]}
    for cell in cells:
        if cell["operation"] in takes_per_s and cell["storage_class"] == STANDARD:
            asked, takes = (
                cell["concurrency_value"] * alone(cell).requests_per_s,
                takes_per_s[cell["operation"]],
            )
            if asked > takes:
                found = (
                    f"{cell['operation']}s reach about {asked:,.0f} requests/s; S3 Standard takes "
                    f"{takes:,.0f}"
                )
                way_out = (
                    "use a smaller concurrency_value or parallel_limit to measure the class and "
                    "not this limit"
                )
                return WARNING, f"{found} per prefix and answers SlowDown beyond that", way_out
    return None


def _scans(cells: Cells) -> Wrong:
    """Each query ends below the limit of bytes."""
    for cell in cells:
        scanned_mb, limit_mb = mebibytes(set_bytes(cell)), cell["scan_limit_mb"]
        if cell["operation"] in QUERIES and scanned_mb > limit_mb:
            found = f"a query scans {scanned_mb:,} MiB, but scan_limit_mb is {limit_mb:,}"
            return (
                PROBLEM,
                found,
                f"use --set scan_limit_mb={scanned_mb}, or a smaller object_count",
            )
    return None


def _query_times(cells: Cells) -> Wrong:
    """Each query ends in its time."""
    for cell in cells:
        if cell["operation"] in QUERIES and (takes_s := alone(cell).mean_s) > cell["query_limit_s"]:
            found = (
                f"a query takes about {takes_s:,.0f} s, but query_limit_s is "
                f"{cell['query_limit_s']:,}"
            )
            return (
                WARNING,
                found,
                f"use --set query_limit_s={2 * math.ceil(takes_s)}, or fewer or larger objects",
            )
    return None
