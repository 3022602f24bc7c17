"""Checks of how a plan moves and queries objects of the two storage classes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from experiments import go_program
from experiments.express.orders import DOWNLOAD, QUERIES, STANDARD, UPLOAD, set_bytes, slice_objects
from experiments.express.values import ExpressValues
from experiments.express.work import alone
from experiments.objects import mebibytes
from experiments.parameters import known_parameters
from stampede.checkout import INFRA
from stampede.experiment import TMP_MARGIN_MB
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import counted
from stampede.variable_rules import RULES

Cells = Sequence[ExpressValues]

# infra's list: a region's zones with S3 Express One Zone, of which the first is taken.
ZONES = INFRA / "express_zones.json"


def checks(cells: Cells) -> list[Finding]:
    """A slice has objects and fits into /tmp, and what S3 and Athena refuse."""
    return [
        _cases(cells),
        _zone(cells),
        _slices(cells),
        _tmp(cells),
        _rate(cells),
        _scans(cells),
        go_program.check({cell["architecture"] for cell in cells}),
    ]


def _cases(cells: Cells) -> Finding:
    """What the cells do; always ok."""
    cases = ", ".join(dict.fromkeys(cell["operation"] for cell in cells))
    sizes = sorted({cell["object_bytes"] for cell in cells})
    return Finding("cases", OK, f"{cases}; objects of {sizes[0]:,} to {sizes[-1]:,} bytes")


def _zone(cells: Cells) -> Finding:
    """The region has S3 Express One Zone, the zone is one of its zones, and a bucket is named as one of that zone."""
    by_region = json.loads(ZONES.read_text())["zones"]
    for cell in cells:
        region, zone, bucket = (cell[name] for name in ("region", "zone_id", "express_bucket_name"))
        if not (zones := by_region.get(region)):
            found = f"S3 Express One Zone isn't available in {region}"
            return Finding("zone", PROBLEM, found, f"use --set region=... with one of {', '.join(by_region)}")
        if zone is not None and zone not in zones:
            found = f"zone_id {zone!r}: in {region}, S3 Express One Zone is available in {', '.join(zones)}"
            return Finding("zone", PROBLEM, found, "use --set zone_id=... with one of these IDs, or leave it out")
        suffix = f"--{zone or zones[0]}--x-s3"
        if bucket is not None and not bucket.endswith(suffix):
            found = f"express_bucket_name {bucket!r}: must end in {suffix}, the suffix of its zone"
            return Finding("zone", PROBLEM, found, "change it, or leave it out")
    for name in ("zone_id", "express_bucket_name"):
        # The next cell's apply would delete a bucket full of objects, which the provider may fail to empty.
        if len(values := {cell[name] for cell in cells}) > 1:
            found = f"{len(values)} values of {name}: a sweep keeps one directory bucket"
            return Finding("zone", PROBLEM, found, "run a sweep for each value")
    return Finding("zone", OK, f"S3 Express One Zone in {zone or zones[0]}")


def _slices(cells: Cells) -> Finding:
    """Each slice of a set has an object at least."""
    if wrong := next((cell for cell in cells if cell["slices"] > cell["object_count"]), None):
        found = f"{wrong['slices']:,} slices for {counted(wrong['object_count'], 'object')}: some slices would be empty"
        return Finding("slices", PROBLEM, found, f"use --set slices={wrong['object_count']} or less")
    most = max(cell["slices"] for cell in cells)
    split = f"a set is split into up to {most:,} slices" if most > 1 else "each message transfers a whole set"
    return Finding("slices", OK, split)


def _tmp(cells: Cells) -> Finding:
    """All objects that a download holds at once fit into /tmp."""
    downloads = [cell for cell in cells if cell["operation"] == "download"]
    if not downloads:
        return Finding("/tmp", OK, "nothing is downloaded")
    full = max(downloads, key=lambda cell: _tmp_mb(cell) - cell["ephemeral_storage_mb"])
    needed, has = _tmp_mb(full), full["ephemeral_storage_mb"]
    if needed <= has:
        most = max(map(_tmp_mb, downloads))
        return Finding("/tmp", OK, f"a download needs at most {most:,} MB of /tmp; it has enough")
    found = (
        f"{full['parallel_limit']} at a time x {full['object_bytes']:,} bytes need {needed:,} MB of /tmp, and "
        f"ephemeral_storage_mb is {has:,}"
    )
    more = f"use --set ephemeral_storage_mb={needed}, or " if RULES["ephemeral_storage_mb"].allows(needed) else "use "
    return Finding("/tmp", PROBLEM, found, f"{more}a smaller parallel_limit or object_bytes")


def _rate(cells: Cells) -> Finding:
    """What all functions ask of one prefix of the general purpose bucket, against what S3 takes of it."""
    known = known_parameters("express")
    takes_per_s = {UPLOAD: known["s3_put_per_s"], DOWNLOAD: known["s3_get_per_s"]}
    loads = [
        (takes_per_s[cell["operation"]], cell["concurrency_value"] * alone(cell).requests_per_s, cell)
        for cell in cells
        if cell["operation"] in takes_per_s and cell["storage_class"] == STANDARD
    ]
    if not loads:
        return Finding("rate", OK, "nothing is transferred to or from S3 Standard")
    takes, most, cell = max(loads, key=lambda load: load[1] / load[0])
    reached = f"{cell['operation']}s reach about {most:,.0f} requests/s"
    found = f"{reached}; S3 Standard takes {takes:,.0f} requests/s per prefix"
    if most <= takes:
        return Finding("rate", OK, found)
    way_out = "use a smaller concurrency_value or parallel_limit to measure the storage class and not this limit"
    return Finding("rate", WARNING, f"{found} and answers SlowDown beyond that", way_out)


def _scans(cells: Cells) -> Finding:
    """Each query ends below the limit of bytes and in its time."""
    queries = [cell for cell in cells if cell["operation"] in QUERIES]
    if not queries:
        return Finding("Athena", OK, "no queries")
    largest = max(queries, key=set_bytes)
    longest = max(queries, key=lambda cell: alone(cell).mean_s / cell["query_limit_s"])
    longest_s = alone(longest).mean_s
    scanned_mb, limit_mb = mebibytes(set_bytes(largest)), largest["scan_limit_mb"]
    if scanned_mb > limit_mb:
        found = f"a query scans {scanned_mb:,} MiB, but scan_limit_mb is {limit_mb:,}"
        return Finding("Athena", PROBLEM, found, f"use --set scan_limit_mb={scanned_mb}, or a smaller object_count")
    found = f"a query scans up to {scanned_mb:,} of {limit_mb:,} MiB and takes about {longest_s:,.0f}"
    if longest_s <= longest["query_limit_s"]:
        return Finding("Athena", OK, f"{found} of {longest['query_limit_s']:,} s")
    way_out = f"use --set query_limit_s={2 * math.ceil(longest_s)}, or fewer or larger objects"
    return Finding("Athena", WARNING, f"{found} s, but query_limit_s is {longest['query_limit_s']:,}", way_out)


def _tmp_mb(values: ExpressValues) -> int:
    """What a download needs of /tmp: a file for each request at once, and room for the file system's own."""
    return mebibytes(min(values["parallel_limit"], slice_objects(values)[0]) * values["object_bytes"]) + TMP_MARGIN_MB
