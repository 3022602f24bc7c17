"""The work orders of the storage classes: which objects, how many in a slice, and Athena's queries.

Object i (from 0) of a set is `data/object_bytes=<B>/object_count=<C>/<i as nine digits>.json`: the
parts of the key are partitions of Athena's tables, which it finds by projection without a crawler.
Its content is lines of JSON of 100 bytes, the first one longer by the remainder; the line of row j
(from 0) has `"value": j mod 1000`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stampede.experiment import Execution, Values

UPLOAD, DOWNLOAD, COUNT, AGGREGATE = ("upload", "download", "count", "aggregate")
QUERIES = (COUNT, AGGREGATE)
STANDARD, ONE_ZONE = CLASSES = ("standard", "express")
ROW_BYTES, VALUES = 100, 1000
# As published: about this many bytes, at most this many objects, and 100 of the large ones.
TRANSFER_BYTES, TRANSFER_OBJECTS = 775_770_000, 77_577
QUERY_BYTES, QUERY_OBJECTS = 7_000_000_000, 700_000
LEAST_OBJECTS = 100
# On the embedded AWS it only matters that the path works.
LOCAL_BYTES, LOCAL_OBJECTS, LEAST_LOCAL_OBJECTS = 10_000_000, 50, 2
# Limits of a seeding invocation: in Standard these objects take about four minutes, these bytes
# five. Each invocation lists the whole set, 700 pages for 700,000 objects, so fewer are better.
SEEDED_OBJECTS, SEEDED_BYTES, SEEDING_AT_ONCE = 350_000, 25_000_000_000, 64
SELECTED = {
    COUNT: "count(*) AS row_count",
    AGGREGATE: "count(*) AS row_count, sum(value) AS value_sum, max(value) AS value_max",
}


class ExpressValues(Values):
    """The variables and keys of the work order that the experiment reads."""

    placement: str
    query_limit_s: int
    scan_limit_mb: int
    operation: str
    object_count: int
    object_bytes: int
    storage_class: str  # of the work order, as all below
    parallel_limit: int
    slices: int


def usual_count(operation: str, _: str, object_bytes: int, *__: object) -> int:
    """The default number of objects in a set: as published at 10 KB and 100 MB."""
    if operation in QUERIES:
        return min(QUERY_OBJECTS, max(LEAST_OBJECTS, QUERY_BYTES // object_bytes))
    return min(TRANSFER_OBJECTS, max(LEAST_OBJECTS, TRANSFER_BYTES // object_bytes))


def local_count(values: ExpressValues) -> int:
    """The same on the embedded AWS."""
    return max(LEAST_LOCAL_OBJECTS, min(LOCAL_OBJECTS, LOCAL_BYTES // values["object_bytes"]))


def set_bytes(values: ExpressValues) -> int:
    """Bytes of all objects of a set."""
    return values["object_count"] * values["object_bytes"]


def slice_objects(values: ExpressValues) -> tuple[int, float]:
    """Objects of the largest slice, and of a slice on average."""
    slices = max(1, values["slices"])
    return -(-values["object_count"] // slices), values["object_count"] / slices


def messages(values: ExpressValues) -> int:
    """`messages_per_concurrency` messages for each slice, whatever N is."""
    return _slices(values) * values["messages_per_concurrency"]


def _slices(values: ExpressValues) -> int:
    """Slices of the set; a query reads all of it, whatever the plan sets for all cells."""
    return 1 if values["operation"] in QUERIES else values["slices"]


def its_slice(values: ExpressValues, index: int) -> dict[str, Any]:
    """The objects of message `index`: those of one slice, in rotation."""
    count, slices = values["object_count"], _slices(values)
    at = index % slices
    first, end = count * at // slices, count * (at + 1) // slices
    return {"first_object": first, "objects": end - first}


def seeding(values: ExpressValues) -> Sequence[Mapping[str, Any]]:
    """The seeding function's events before a cell that reads: the whole set, in parts. An upload
    needs none."""
    if values["operation"] == UPLOAD:
        return ()
    count, step = values["object_count"], seeding_step(values["object_bytes"])
    named = {name: values[name] for name in ("storage_class", "object_bytes", "object_count")}
    return [
        {
            "place": {
                **named,
                "first_object": first,
                "objects": min(step, count - first),
                "parallel_limit": SEEDING_AT_ONCE,
            }
        }
        for first in range(0, count, step)
    ]


def seeding_step(object_bytes: int) -> int:
    """The most objects that one invocation seeds."""
    return max(1, min(SEEDED_OBJECTS, SEEDED_BYTES // object_bytes))


def execution(values: ExpressValues) -> Execution:
    """The query that Athena runs for a cell."""
    operation, size, count = values["operation"], values["object_bytes"], values["object_count"]
    sql = (
        f'SELECT {SELECTED[operation]} FROM "{values["storage_class"]}" '
        f"WHERE object_bytes = '{size}' AND object_count = '{count}'"
    )
    where = (str(values.get(f"athena_{name}_name") or "") for name in ("workgroup", "database"))
    return Execution(sql, *where, float(values["query_limit_s"]), expected(operation, size, count))


def expected(operation: str, object_bytes: int, object_count: int) -> tuple[str, ...]:
    """The row that the query returns: the row count, for the aggregate also the sum and the maximum
    of the values."""
    rows = object_bytes // ROW_BYTES
    if operation == COUNT:
        return (str(object_count * rows),)
    whole, left = divmod(rows, VALUES)
    total = whole * (VALUES * (VALUES - 1) // 2) + left * (left - 1) // 2
    return str(object_count * rows), str(object_count * total), str(min(rows, VALUES) - 1)
