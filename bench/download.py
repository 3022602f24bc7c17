"""Downloads of 1 GiB from versitygw on loopback: the function's methods against boto3's `download_file` and s5cmd.

Every run is a process of its own. Against boto3 both sides tell the seconds and CPU seconds of the call, since both
import the same boto3 before it. Against s5cmd whole processes are measured, with its start of 10 ms in its seconds.
"""

from __future__ import annotations

import random
import time
import zlib
from functools import partial
from pathlib import Path

from bench import programs, servers, sides
from bench.errors import BenchError
from bench.pairs import Entry, Figures, Measured, Measurements, Side, compare, in_turn
from bench.servers import BUCKET, Place

KEY = "sample_large_file.dat"
PIECE = random.Random(4).randbytes(2**20)
PIECES = 1024
# The object, a copy of it in the temporary folder (RAM-backed too), and some room for the server.
ROOM_MB = 2 * PIECES + 256


def against_download_file(names: tuple[str, ...], method: str, sink: str, runs: int) -> Measured:
    """Our `method` to `sink` against boto3's `download_file` to a file: CPU-s a GiB, and seconds."""
    with servers.s3(ROOM_MB) as place:
        put_object(place)
        pair = function(place, method, sink), download_file(place)
        in_turn(pair, runs)
    return _entries(names, pair, "client_cpu_s"), _setting(pair)


def against_s5cmd(names: tuple[str, ...], runs: int) -> Measured:
    """Go's ranges to a file, 8 connections and parts of 32 MiB, against `s5cmd cp`."""
    with servers.s3(ROOM_MB) as place:
        put_object(place)
        pair = function(place, "go_ranges", "tmp", RANGE_PART_MB="32"), s5cmd(place)
        in_turn(pair, runs)
    return _entries(names, pair, "cpu_s"), _setting(pair)


def put_object(place: Place) -> None:
    """Put the object."""
    place.client().put_object(Bucket=BUCKET, Key=KEY, Body=PIECE * PIECES)


def function(place: Place, method: str, sink: str, **environment: str) -> Side:
    """The download function in a sandbox of its own, as Lambda starts it for the first message.

    Its record says whether all bytes arrived; a first run compares their checksum. Raises BenchError.
    """
    order = {"object_bytes": len(PIECE) * PIECES}
    settings = {"METHOD": method, "SINK": sink, "FILE_NAME": KEY, "EXPERIMENT": "download"} | environment

    def run(**more: str) -> Figures:
        if method.startswith("go_"):
            record = sides.go(place, order | more, **settings)
        else:
            record = sides.python(place, "download", order | more, **settings)
        call = {"seconds": record["download_time_seconds"], "client_cpu_s": record["client_cpu_seconds"]}
        return call | sides.whole(record)

    run(checksum=f"crc32:{_crc32():08x}")
    return Side(f"{method} to {sink}", run)


def download_file(place: Place) -> Side:
    """boto3's, with its defaults."""
    path = place.folder / "object"

    def run() -> Figures:
        took = sides.boto3(place, "download_file", BUCKET, KEY, str(path))
        _check(path)
        return {"seconds": took["seconds"], "client_cpu_s": took["client_cpu_s"]} | sides.whole(took)

    return Side("download_file", run)


def s5cmd(place: Place) -> Side:
    """Its `cp` of one object. Our function removes its file, which costs a tenth of a second in the kernel, so the
    same is counted here."""
    path = place.folder / "object"

    def run() -> Figures:
        took = sides.s5cmd(place, "cp", f"s3://{BUCKET}/{KEY}", str(path))
        removing_cpu_s = _check(path)
        return took | {"seconds": took["wall_s"], "cpu_s": took["cpu_s"] + removing_cpu_s}

    return Side(f"s5cmd {programs.S5CMD_VERSION}", run)


def _check(path: Path) -> float:
    """Remove what a client wrote; returns the CPU seconds of that. Raises BenchError unless it was the object."""
    with path.open("rb") as file:
        same = all(file.read(len(PIECE)) == PIECE for _ in range(PIECES)) and not file.read(1)
    started = time.process_time()
    path.unlink()
    if not same:
        raise BenchError("the bytes that arrived aren't the object's: this run can't be compared")
    return time.process_time() - started


def _crc32() -> int:
    checksum = 0
    for _ in range(PIECES):
        checksum = zlib.crc32(PIECE, checksum)
    return checksum


def _entries(names: tuple[str, ...], pair: tuple[Side, Side], cpu: str) -> list[Entry]:
    """Less is better in both: seconds for a name with `_wall`, else the figure `cpu`."""
    figures = [("seconds", "s") if name.endswith("_wall") else (cpu, "CPU-s/GiB") for name in names]
    return [compare(name, *pair, *figure) for name, figure in zip(names, figures, strict=True)]


def _setting(pair: tuple[Side, Side]) -> str:
    return f"{PIECES} MiB from versitygw on loopback, all in memory; {pair[0].sentence()}; {pair[1].sentence()}"


MEASUREMENTS: Measurements = {
    names: partial(against_download_file, names, method, sink)
    for names, method, sink in (
        (("download_stream_cpu",), "stream", "discard"),
        (("download_ranges_cpu", "download_ranges_wall"), "ranges", "tmp"),
        (("download_crt_cpu", "download_crt_wall"), "crt", "tmp"),
    )
} | {
    ("download_go_ranges_wall", "download_go_ranges_cpu"): partial(
        against_s5cmd, ("download_go_ranges_wall", "download_go_ranges_cpu")
    ),
}
