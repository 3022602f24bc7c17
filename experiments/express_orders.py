"""What a work order of the storage classes says: which objects, how many in a slice, and what Athena is asked.

Object i (from 0) of a set is `data/object_bytes=<B>/object_count=<C>/<i as nine digits>.json`: the parts of the key are
the partitions of the tables that Athena reads, which it finds by projection and not by a crawler. Its content is lines
of JSON, 100 bytes each, the first one longer by what is left; the line of row j has `"value": j mod 1000`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.experiment import Execution
from experiments.objects import DataObject

OPERATIONS = ("upload", "download", "count", "aggregate")
QUERIES = OPERATIONS[2:]
ROW_BYTES, VALUES = 100, 1000
# As published: about so many bytes, at most so many objects, and 100 of the large ones.
SET_BYTES = {"transfer": 775_770_000, "query": 7_000_000_000}
MOST_OBJECTS = {"transfer": 77_577, "query": 700_000}
LEAST_OBJECTS = 100
LOCAL_BYTES, LOCAL_OBJECTS = 10_000_000, 50


def usual_count(operation: str, _: str, object_bytes: int, *__: object) -> int:
    """How many objects a set has when nothing is said: as published at 10 KB and 100 MB."""
    kind = "query" if operation in QUERIES else "transfer"
    return min(MOST_OBJECTS[kind], max(LEAST_OBJECTS, SET_BYTES[kind] // object_bytes))


def local_count(values: Mapping[str, Any]) -> int:
    """The same on the embedded AWS, where what counts is that the path works."""
    return max(1, min(LOCAL_OBJECTS, LOCAL_BYTES // values["object_bytes"]))
