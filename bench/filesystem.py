"""1,000 objects of 10 to 100 KB from versitygw: the file system experiment's function against 30 threads of boto3's
`download_file`, as published, each side in a process of its own."""

from __future__ import annotations

import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import peers, servers, sides
from bench.errors import BenchError
from bench.pairs import Figures, Measured, Measurements, Side, compare, in_turn
from bench.servers import BUCKET, Place

PREFIX = "small/"
_draw = random.Random(4)
# Each object begins elsewhere in the same bytes: two of the same size must not pass for each other.
SIZES = {f"{number:04}.dat": _draw.randint(10_000, 100_000) for number in range(1000)}
CONTENT = _draw.randbytes(101_000)
WORDS = f"{len(SIZES):,} objects of 10 to 100 KB"
Files = dict[str, bytes]


def small(runs: int) -> Measured:
    """CPU seconds and seconds of the call, the same imports before it."""
    files = small_set()
    with servers.s3(room_mb=512) as place:
        client = place.client()
        with ThreadPoolExecutor(8) as pool:
            names = list(files)
            list(pool.map(lambda name: client.put_object(Bucket=BUCKET, Key=PREFIX + name, Body=files[name]), names))
        pair = function(place, files, STORAGE="s3", READ_METHOD="pool"), download_file(place, files)
        in_turn(pair, runs)
    cpu = compare("filesystem_small_cpu", *pair, "client_cpu_s", "CPU-s")
    wall = compare("filesystem_small_wall", *pair, "seconds", "s")
    setting = f"{WORDS} from versitygw over http on loopback to files, all in memory"
    return [cpu, wall], f"{setting}; {pair[0].sentence()}; {pair[1].sentence()}"


def small_set() -> Files:
    """The same objects every time."""
    return {name: CONTENT[number : number + size] for number, (name, size) in enumerate(SIZES.items())}


def function(place: Place, files: Files, **environment: str) -> Side:
    """The function in a sandbox of its own. It verifies number and sizes itself, so a run with others fails."""
    order = {"dataset": "small", "files": len(files), "bytes": sum(map(len, files.values()))}

    def run() -> Figures:
        record = sides.python(place, "filesystem", order, **environment)
        call = {"seconds": record["elapsed_seconds"], "client_cpu_s": record["client_cpu_seconds"]}
        return call | sides.whole(record)

    return Side(f"Python {environment['READ_METHOD']}", run)


def download_file(place: Place, files: Files) -> Side:
    """boto3's `download_file` in threads."""
    folder = place.folder / "objects"

    def run() -> Figures:
        folder.mkdir()
        took = sides.boto3(place, "download_many", BUCKET, PREFIX, str(folder))
        remove_checked(folder, files)
        return took

    return Side(f"download_file, {peers.THREADS} threads", run)


def remove_checked(folder: Path, files: Files) -> None:
    """Remove what a client wrote. Raises BenchError unless exactly these files are there, byte for byte."""
    arrived = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)
    if arrived != files:
        raise BenchError(f"{len(arrived)} of {len(files)} objects arrived, or their bytes differ from those uploaded")


MEASUREMENTS: Measurements = {
    ("filesystem_small_cpu", "filesystem_small_wall"): small,
}
