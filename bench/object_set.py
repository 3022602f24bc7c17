"""The storage class experiment's 20,000 objects of 10 KB: their keys, their bytes, and whether all of them arrived.

The bytes are made here once more, beside the Go program's, so that neither checks itself.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.download import BUCKET
from bench.errors import BenchError

OBJECTS, OBJECT_BYTES = 20_000, 10_000
ROW_BYTES, VALUES = 100, 1000
DELETED_AT_ONCE = 1000


def prefix(objects: int = OBJECTS) -> str:
    """Where the Go program puts a set of so many objects."""
    return f"data/object_bytes={OBJECT_BYTES}/object_count={objects}/"


def name(number: int) -> str:
    """The last part of an object's key."""
    return f"{number:09}.json"


def body(number: int) -> bytes:
    """The bytes of an object: rows of JSON, of which the first names the object."""
    rows = OBJECT_BYTES // ROW_BYTES
    return _row(f"{number:09}", 0, ROW_BYTES + OBJECT_BYTES % ROW_BYTES) + _rows_after_the_first(rows)


@functools.cache
def _rows_after_the_first(rows: int) -> bytes:
    return b"".join(_row(" " * 9, row, ROW_BYTES) for row in range(1, rows))


def _row(owner: str, row: int, row_bytes: int) -> bytes:
    head, tail = f'{{"object": "{owner}", "value": {row % VALUES:3}, "pad": "', '"}\n'
    return f"{head}{'x' * (row_bytes - len(head) - len(tail))}{tail}".encode()


def write(folder: Path, objects: int = OBJECTS) -> None:
    """Make the objects as files of a folder, for the clients that upload files."""
    for number in range(objects):
        (folder / name(number)).write_bytes(body(number))


def remove(client: Any, below: str) -> None:
    """Delete every object below a prefix."""
    keys = [{"Key": listed["Key"]} for listed in _listed(client, below)]
    for first in range(0, len(keys), DELETED_AT_ONCE):
        batch = {"Objects": keys[first : first + DELETED_AT_ONCE], "Quiet": True}
        client.delete_objects(Bucket=BUCKET, Delete=batch)


def check_uploaded(client: Any, below: str, objects: int) -> None:
    """Raises BenchError unless the first `objects` of the set are there, with their bytes (by their MD5), and no other.

    The store answers with an ETag that it has taken of what it holds.
    """
    there = {listed["Key"].removeprefix(below): listed["ETag"].strip('"') for listed in _listed(client, below)}
    if there != _etags(objects):
        raise BenchError(f"{len(there)} of {objects} objects found, or their bytes differ")


def check_downloaded(folder: Path, objects: int) -> None:
    """Raises BenchError unless a folder holds the first `objects` of the set, byte for byte, and nothing else."""
    arrived = sum(1 for _ in folder.iterdir())
    if arrived != objects:
        raise BenchError(f"{arrived} objects arrived instead of {objects}")
    for number in range(objects):
        path = folder / name(number)
        if not path.is_file() or path.read_bytes() != body(number):
            raise BenchError(f"{path.name} is missing or differs from what was uploaded")


@functools.cache
def _etags(objects: int) -> dict[str, str]:
    return {name(number): hashlib.md5(body(number)).hexdigest() for number in range(objects)}


def _listed(client: Any, below: str) -> Iterator[dict[str, Any]]:
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=below):
        yield from page.get("Contents", ())
