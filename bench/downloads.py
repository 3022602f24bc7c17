"""Downloads from versitygw to files in memory: the functions' methods against boto3 and s5cmd.

Every run is a separate process. Against boto3, seconds and CPU seconds are those of the call, since
both sides import the same boto3 before it. Against s5cmd, whole processes are measured, including
s5cmd's start of 10 ms.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import clients, servers
from bench.ratios import Figures, Run
from bench.servers import BUCKET, Place
from stampede.errors import RunError

KEY, PREFIX = "sample_large_file.dat", "small/"
DRAW = random.Random(4)
PIECE, PIECES = DRAW.randbytes(2**20), 1024
# The object, its copy in the temporary folder (RAM-backed too), and some room for the server.
ROOM_MB = 2 * PIECES + 256
# Each object begins elsewhere in the same bytes, so that objects of the same size differ.
SMALL = {
    f"{number:04}.dat": PIECE[number : number + DRAW.randint(10_000, 100_000)]
    for number in range(1000)
}


@contextmanager
def large(
    method: str, sink: str, peer: Callable[[Place], Figures], **settings: str
) -> Iterator[tuple[Run, Run]]:
    """1 GiB by a method of the download function to `sink`, against a peer that writes a file."""
    invoke = clients.go if method.startswith("go_") else clients.python
    settings |= {"METHOD": method, "SINK": sink, "FILE_NAME": KEY}
    order = {"object_bytes": len(PIECE) * PIECES}
    with servers.s3(ROOM_MB) as place:
        place.client().put_object(Bucket=BUCKET, Key=KEY, Body=PIECE * PIECES)

        def ours(**more: str) -> Figures:
            record = invoke(place, "download", order | more, **settings)
            return call(record, record["download_time_seconds"])

        ours(checksum=f"sha256:{object_sha256()}")
        yield ours, partial(peer, place)


@contextmanager
def small() -> Iterator[tuple[Run, Run]]:
    """1,000 objects of 10 to 100 KB: `pool` against the published 30 threads of `download_file`."""
    with servers.s3(room_mb=512) as place:
        put = partial(place.client().put_object, Bucket=BUCKET)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: put(Key=PREFIX + name, Body=SMALL[name]), SMALL))
        yield partial(pool_of_small, place, SMALL), partial(download_many, place, SMALL)


def call(record: Figures, seconds: float) -> Figures:
    """The figures of a function's call, from its record and its process."""
    own = {"cpu_s": record["cpu_s"], "peak_mb": record["peak_mb"]}
    return {"seconds": seconds, "client_cpu_s": record["client_cpu_seconds"]} | own


def download_file(place: Place) -> Figures:
    """Download with boto3's defaults."""
    path = place.folder / "object"
    took = clients.boto3(place, "download_file", BUCKET, KEY, str(path))
    remove_checked(path)
    return took


def s5cmd(place: Place) -> Figures:
    """Download with `cp`; removing the file, 0.1 s of CPU, counts as it does for our function."""
    path = place.folder / "object"
    used = clients.s5cmd(place, "cp", f"s3://{BUCKET}/{KEY}", str(path))
    return used | {"seconds": used["wall_s"], "cpu_s": used["cpu_s"] + remove_checked(path)}


def pool_of_small(place: Place, files: Mapping[str, bytes]) -> Figures:
    """Copy with the function, which itself verifies the number and sizes of the files."""
    order = {"dataset": "small", "files": len(files), "bytes": sum(map(len, files.values()))}
    record = clients.python(place, "filesystem", order, STORAGE="s3", READ_METHOD="pool")
    return call(record, record["elapsed_seconds"])


def download_many(place: Place, files: Mapping[str, bytes]) -> Figures:
    """boto3's `download_file` in threads. Raises RunError unless exactly these files arrive."""
    folder = place.folder / "objects"
    folder.mkdir()
    took = clients.boto3(place, "download_many", BUCKET, PREFIX, str(folder))
    remove_compared(folder, files)
    return took


def remove_compared(folder: Path, files: Mapping[str, bytes]) -> None:
    """Remove a client's files. Raises RunError unless they were exactly these, byte for byte."""
    arrived = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)
    if arrived != files:
        raise RunError(f"{len(arrived)} of {len(files)} objects arrived, or their bytes differ")


def remove_checked(path: Path) -> float:
    """Remove a client's file; returns the CPU seconds of the removal.

    Raises RunError unless it was the large object.
    """
    with path.open("rb") as file:
        arrived = hashlib.file_digest(file, "sha256").hexdigest()
    started = time.process_time()
    path.unlink()
    removing_cpu_s = time.process_time() - started
    if arrived != object_sha256():
        raise RunError("the bytes that arrived aren't the object's")
    return removing_cpu_s


def object_sha256() -> str:
    """The checksum of the large object."""
    digest = hashlib.sha256()
    for _ in range(PIECES):
        digest.update(PIECE)
    return digest.hexdigest()
