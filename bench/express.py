"""20,000 objects of 10 KB up and down, 4 ms away: the Go function against the published loop.

The published way is one loop of boto3's calls. Its rate doesn't depend on how many objects there are, so it is given
2,000 of them. Both are timed by their own clocks, the record's and the loop's, without their start. The server is the
front (bench/front) as a store of keys: a real one would take more of the two cores than the clients do.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench import servers, sides
from bench.errors import BenchError
from bench.pairs import Figures, Measured, Measurements, Side, compare, in_turn
from bench.servers import BUCKET, Front, Place

OBJECTS, LOOP_OBJECTS, OBJECT_BYTES = 20_000, 2_000, 10_000
LATENCY_MS, PARALLEL = 4, 64
SERVER_CORES = 1  # on two it would take half as much CPU again for waking its own threads, and from its clients
LOOP_PREFIX = "loop/"
ROW_BYTES, VALUES = 100, 1000


def up_and_down(runs: int) -> Measured:
    """Objects/s of uploads and of downloads: in each round both sides put their objects, then get them."""
    with servers.front(cores=SERVER_CORES, latency_ms=LATENCY_MS) as store, servers.place(store.url) as place:
        up, down = uploads(place, store), downloads(place, store)
        in_turn((*up, *down), runs, warm_up=False)
    entries = [
        compare(name, *pair, "objects_per_s", "objects/s", more_is_better=True)
        for name, pair in (("express_up", up), ("express_down", down))
    ]
    setting = (
        f"{OBJECTS:,} objects of {OBJECT_BYTES // 1000} KB ({LOOP_OBJECTS:,} in the loop), the front as a store of "
        f"keys over http on loopback, {LATENCY_MS} ms per answer, {PARALLEL} at once, all in memory"
    )
    return entries, "; ".join([setting, *(side.sentence() for side in (*up, *down))])


def uploads(place: Place, store: Front) -> tuple[Side, Side]:
    """Who puts objects: ours makes them itself, the loop reads them from files."""
    files, client = place.folder / "files", place.client()
    files.mkdir()
    for number in range(LOOP_OBJECTS):
        (files / name(number)).write_bytes(body(number))

    def placed(prefix: str, objects: int, run: Callable[[], Figures]) -> Callable[[], Figures]:
        def checked() -> Figures:
            took = _counted(store, "put", objects, run)
            check_uploaded(client, prefix, objects)
            return took

        return checked

    loop = partial(sides.boto3, place, "put_loop", BUCKET, LOOP_PREFIX, str(files))
    return (
        Side("express upload", placed(prefix(), OBJECTS, partial(_ours, place, "upload"))),
        Side("boto3 put_object, one loop", placed(LOOP_PREFIX, LOOP_OBJECTS, loop)),
    )


def downloads(place: Place, store: Front) -> tuple[Side, Side]:
    """Who gets these objects: ours compares what it gets itself, the loop writes files."""
    folder = place.folder / "objects"

    def loop() -> Figures:
        folder.mkdir()
        took = _counted(store, "get", LOOP_OBJECTS, run)
        check_downloaded(folder, LOOP_OBJECTS)
        shutil.rmtree(folder)
        return took

    run = partial(sides.boto3, place, "get_loop", BUCKET, LOOP_PREFIX, str(folder))
    ours = partial(_counted, store, "get", OBJECTS, partial(_ours, place, "download"))
    return Side("express download", ours), Side("boto3 get_object, one loop", loop)


def _ours(place: Place, operation: str) -> Figures:
    """The Go function's record says how many objects it did; it fails unless what it gets is what must be there."""
    objects = {"object_bytes": OBJECT_BYTES, "object_count": OBJECTS, "first_object": 0, "objects": OBJECTS}
    order = objects | {"storage_class": "standard", "parallel_limit": PARALLEL}
    settings = {"EXPERIMENT": "express", "OPERATION": operation, "PLACEMENT": "any_zone"}
    record = sides.go(place, order, **settings, EXPRESS_BUCKET_NAME="bench--use1-az4--x-s3")
    if record["objects"] != OBJECTS:
        raise BenchError(f"the {operation} did {record['objects']} of {OBJECTS} objects: this run can't be compared")
    return {"seconds": record["elapsed_seconds"]} | {name: record[name] for name in ("cpu_s", "peak_mb")}


def _counted(store: Front, request: str, objects: int, run: Callable[[], Figures]) -> Figures:
    """Run a client; gives its rate. Raises BenchError unless it asked once an object."""
    before = store.status()["requests"].get(request, 0)
    took = run()
    requests = store.status()["requests"].get(request, 0) - before
    if requests != objects:
        raise BenchError(f"{requests} {request.upper()} requests for {objects} objects: this run can't be compared")
    cpu_s = took.get("client_cpu_s", took["cpu_s"])
    figures = {"objects_per_s": objects / took["seconds"], "cpu_ms_per_object": cpu_s * 1000 / objects}
    return figures | {"peak_mb": took["peak_mb"]}


def prefix() -> str:
    """Where the function puts the set."""
    return f"data/object_bytes={OBJECT_BYTES}/object_count={OBJECTS}/"


def name(number: int) -> str:
    """The last part of an object's key."""
    return f"{number:09}.json"


def body(number: int) -> bytes:
    """The bytes of an object, made here once more, beside the Go program's, so that neither checks itself: rows of
    JSON, of which the first names the object."""
    rows = []
    for row in range(OBJECT_BYTES // ROW_BYTES):
        owner = f"{number:09}" if row == 0 else " " * 9
        head, tail = f'{{"object": "{owner}", "value": {row % VALUES:3}, "pad": "', '"}\n'
        rows.append(f"{head}{'x' * (ROW_BYTES - len(head) - len(tail))}{tail}")
    return "".join(rows).encode()


def check_uploaded(client: Any, below: str, objects: int) -> None:
    """Raises BenchError unless the first `objects` of the set are there, with their bytes (by their MD5), and no other.

    The store answers with an ETag that it has taken of what it holds.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=below)
    etags = {listed["Key"]: listed["ETag"].strip('"') for page in pages for listed in page.get("Contents", ())}
    expected = {below + name(number): hashlib.md5(body(number)).hexdigest() for number in range(objects)}
    if etags != expected:
        raise BenchError(f"{len(etags)} of {objects} objects are there, or their bytes differ")


def check_downloaded(folder: Path, objects: int) -> None:
    """Raises BenchError unless a folder holds the first `objects` of the set, byte for byte, and nothing else."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    if files != {name(number): body(number) for number in range(objects)}:
        raise BenchError(f"{len(files)} of {objects} objects arrived, or their bytes differ from what was uploaded")


MEASUREMENTS: Measurements = {("express_up", "express_down"): up_and_down}
