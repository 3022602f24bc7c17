"""20,000 objects of 10 KB up and down, 4 ms away: the Go function against the published loop.

The published way is one loop of boto3's calls. Its rate doesn't depend on the number of objects, so
it gets only 2,000. Each side times itself, without its start. The server is the front
(bench/front): a real one would take more of the two cores than the clients.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from bench import clients, servers
from bench.downloads import remove_compared
from bench.ratios import Figures, Run
from bench.servers import BUCKET, Front, Place
from stampede.errors import RunError

OBJECTS, LOOP_OBJECTS, OBJECT_BYTES = 20_000, 2_000, 10_000
LATE, PARALLEL = {"latency_ms": 4}, 64
# with two cores the server would use 50 % more CPU, to wake its own threads
SERVER_CORES = 1
LOOP_PREFIX = "loop/"


@contextmanager
def moving(
    request: str, operation: str, loop: Callable[[Place], Figures]
) -> Iterator[tuple[Run, Run]]:
    """Upload objects that ours generates and the loop reads from files, or download objects that
    ours verifies and the loop writes to files."""
    with servers.front(cores=SERVER_CORES, **LATE) as store, servers.place(store.url) as place:
        function(place, "upload")
        put_loop(place)
        yield (
            lambda: counted(store, request, OBJECTS, partial(function, place, operation)),
            lambda: counted(store, request, LOOP_OBJECTS, partial(loop, place)),
        )


def function(place: Place, operation: str) -> Figures:
    """Run the Go function, which fails if a download isn't what was uploaded."""
    order = {
        "object_bytes": OBJECT_BYTES,
        "object_count": OBJECTS,
        "first_object": 0,
        "objects": OBJECTS,
        "storage_class": "standard",
        "parallel_limit": PARALLEL,
    }
    settings = {
        "OPERATION": operation,
        "PLACEMENT": "any_zone",
        "EXPRESS_BUCKET_NAME": "bench--use1-az4--x-s3",
    }
    record = clients.go(place, "express", order, **settings)
    return {"seconds": record["elapsed_seconds"]}


def put_loop(place: Place) -> Figures:
    """One `put_object` after the other."""
    files = place.folder / "files"
    files.mkdir(exist_ok=True)
    for name, body in loop_files().items():
        (files / name).write_bytes(body)
    return clients.boto3(place, "put_loop", BUCKET, LOOP_PREFIX, str(files))


def get_loop(place: Place) -> Figures:
    """One `get_object` after the other."""
    folder = place.folder / "objects"
    folder.mkdir()
    took = clients.boto3(place, "get_loop", BUCKET, LOOP_PREFIX, str(folder))
    remove_compared(folder, loop_files())
    return took


def loop_files() -> dict[str, bytes]:
    """The files that the loop puts and gets, always the same."""
    draw = random.Random(4)
    return {f"{number:09}.json": draw.randbytes(OBJECT_BYTES) for number in range(LOOP_OBJECTS)}


def counted(store: Front, request: str, objects: int, run: Callable[[], Figures]) -> Figures:
    """Run a client; returns its rate. Raises RunError unless it made one request an object."""
    before = store.requests()[request]
    took = run()
    made = store.requests()[request] - before
    if made != objects:
        raise RunError(f"{made} {request.upper()} requests for {objects} objects")
    return {"objects_per_s": objects / took["seconds"]}
