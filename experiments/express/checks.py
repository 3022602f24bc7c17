"""Checks of how a plan moves and queries objects of the two storage classes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from experiments import go_program
from experiments.checking import fits, same
from experiments.express.orders import (
    DOWNLOAD,
    QUERIES,
    ExpressValues,
    set_bytes,
    slice_objects,
)
from experiments.objects import mebibytes
from stampede.checkout import INFRA
from stampede.experiment import look
from stampede.finding import PROBLEM, Finding, Wrong
from stampede.phrases import counted

# The zones of each region with S3 Express One Zone, of which infra/ takes the first.
ZONES = INFRA / "express_zones.json"


def checks(cells: Sequence[ExpressValues]) -> list[Finding]:
    """All checks of a plan's cells. A sweep keeps one directory bucket, because the
    provider may fail to empty a full one for the next cell's apply."""
    each = {
        "zone": _zone,
        "slices": _slices,
        "/tmp": _tmp,
        "scan limit": _scan_limit,
    }
    names, why = ("zone_id", "express_bucket_name"), "a sweep keeps one directory bucket"
    program = go_program.check({cell["architecture"] for cell in cells})
    return [*look(each, cells), same("bucket", cells, names, why), program]


def _zone(cell: ExpressValues) -> Wrong:
    """The region has S3 Express One Zone and the zone is one of those, as the bucket's name
    says."""
    by_region = json.loads(ZONES.read_text())["zones"]
    region, zone, bucket = (cell[name] for name in ("region", "zone_id", "express_bucket_name"))
    if not (zones := by_region.get(region)):
        way_out = f"use --set region=... with one of {', '.join(by_region)}"
        return PROBLEM, f"S3 Express One Zone isn't available in {region}", way_out
    if zone is not None and zone not in zones:
        available = f"in {region}, S3 Express One Zone is available in {', '.join(zones)}"
        way_out = "use --set zone_id=... with one of these IDs, or leave it out"
        return PROBLEM, f"zone_id {zone!r}: {available}", way_out
    suffix = f"--{zone or zones[0]}--x-s3"
    if bucket is not None and not bucket.endswith(suffix):
        found = f"express_bucket_name {bucket!r}: must end in {suffix}, the suffix of its zone"
        return PROBLEM, found, "change it, or leave it out"
    return None


def _slices(cell: ExpressValues) -> Wrong:
    """Each slice of a set has at least one object."""
    slices, count = cell["slices"], cell["object_count"]
    if slices <= count:
        return None
    found = f"{slices:,} slices for {counted(count, 'object')}: some slices would be empty"
    return PROBLEM, found, f"use --set slices={count} or less"


def _tmp(cell: ExpressValues) -> Wrong:
    """The objects that a download holds at once fit into /tmp, a file for each request."""
    at_once = min(cell["parallel_limit"], slice_objects(cell)[0])
    held_mb = mebibytes(at_once * cell["object_bytes"]) if cell["operation"] == DOWNLOAD else 0
    return fits(cell, "ephemeral_storage_mb", held_mb, "a smaller parallel_limit or object_bytes")


def _scan_limit(cell: ExpressValues) -> Wrong:
    """A query scans fewer bytes than its limit."""
    scanned_mb, limit_mb = mebibytes(set_bytes(cell)), cell["scan_limit_mb"]
    if cell["operation"] not in QUERIES or scanned_mb <= limit_mb:
        return None
    found = f"a query scans {scanned_mb:,} MiB, but scan_limit_mb is {limit_mb:,}"
    way_out = f"use --set scan_limit_mb={scanned_mb}, or a smaller object_count"
    return PROBLEM, found, way_out
