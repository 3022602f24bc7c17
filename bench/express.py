"""20,000 objects of 10 KB up and down, 4 ms away: the Go program against the published loop, and s5cmd.

The published way is one loop of boto3's calls. Its rate doesn't depend on how many objects there are, so it is given
2,000 of them, and counted by its own clock, without Python's start; the others are processes measured whole. The server
is the front (bench/front) as a store of keys: a real one would take more of the two cores than the clients do.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import download, object_set, peers, programs, rounds
from bench.child import run_child
from bench.download import BUCKET, Gateway, Side
from bench.errors import BenchError
from bench.front import Front, front
from bench.measure import Entry, Samples
from bench.object_set import OBJECT_BYTES, OBJECTS
from bench.table import figure

LATENCY_MS = 4
LOOP_OBJECTS = 2_000
PARALLEL = 64
SERVER_CORES = 1  # on two it would take half as much CPU again for waking its own threads, and from its clients
SECONDS_A_ROUND = 25  # of one direction
OTHERS_PREFIX = "others/"


@dataclass(frozen=True)
class Sides:
    """The clients of one direction."""

    ours: Side
    loop: Side
    s5cmd: Side


def cpu(runs: int) -> tuple[Entry, str]:
    """Client CPU an object, half of them up and half down, against the published loop."""
    up_ms, down_ms = (rounds.samples(sides.ours, sides.loop, "cpu_ms") for sides in measured(runs))
    ours_ms = tuple((up + down) / 2 for up, down in zip(up_ms.ours, down_ms.ours, strict=True))
    peer_ms = tuple((up + down) / 2 for up, down in zip(up_ms.peer, down_ms.peer, strict=True))
    samples = Samples(ours_ms, peer_ms)
    sentences = "; ".join(_sentence(side) for sides in measured(runs) for side in (sides.ours, sides.loop))
    return samples.entry("express_cpu", "CPU-ms/object", higher_is_better=False), f"{setting()}; {sentences}"


def rate(name: str, direction: int, peer: str, runs: int) -> tuple[Entry, str]:
    """Objects/s of uploads (0) or downloads (1) against the published loop or s5cmd."""
    sides = measured(runs)[direction]
    other = getattr(sides, peer)
    entry = rounds.samples(sides.ours, other, "objects_per_s").entry(name, "objects/s", higher_is_better=True)
    return entry, f"{setting()}; {_sentence(sides.ours)}; {_sentence(other)}"


ENTRIES = {
    "express_up": partial(rate, "express_up", 0, "loop"),
    "express_down": partial(rate, "express_down", 1, "loop"),
    "express_cpu": cpu,
    "express_up_s5cmd": partial(rate, "express_up_s5cmd", 0, "s5cmd"),
    "express_down_s5cmd": partial(rate, "express_down_s5cmd", 1, "s5cmd"),
}


def setting() -> str:
    """What is measured, in words."""
    return (
        f"{OBJECTS:,} objects of {OBJECT_BYTES // 1000} KB ({LOOP_OBJECTS:,} in the loop), the front as a store of "
        f"keys over http on loopback, {LATENCY_MS} ms per answer, all in memory"
    )


def _sentence(side: Side) -> str:
    names = ("objects_per_s", "cpu_ms", "server_cpu_ms", "peak_mb")
    rate, cpu_ms, server_ms, peak_mb = (rounds.median(side, name) for name in names)
    clients = f"{figure(rate)} objects/s, {figure(cpu_ms)} CPU-ms per object"
    return f"{side.label}: {clients}, {figure(server_ms)} of the server, peak {peak_mb:.0f} MiB"


@functools.cache  # all entries come from the same runs
def measured(runs: int) -> tuple[Sides, Sides]:
    """The clients that upload and those that download, run in turn. Raises BenchError."""
    with front(cores=SERVER_CORES, latency_ms=LATENCY_MS) as store, download.place(store.url) as made:
        files = made.folder / "files"
        files.mkdir()
        object_set.write(files)
        uploads = uploading(made, store, files)
        rounds.in_turn((uploads.ours, uploads.loop, uploads.s5cmd), runs, SECONDS_A_ROUND)
        uploads.ours.run()  # so that there is something to download
        downloads = downloading(made, store)
        rounds.in_turn((downloads.ours, downloads.loop, downloads.s5cmd), runs, SECONDS_A_ROUND)
    return uploads, downloads


def uploading(made: Gateway, store: Front, files: Path) -> Sides:
    """The clients that put the set: ours makes its objects itself, the others read them from files."""
    counted = partial(_counted, store, "put")
    client = made.client()

    def placed(below: str, objects: int, run: Callable[[], dict[str, float]]) -> Callable[[], dict[str, float]]:
        def fresh() -> dict[str, float]:
            object_set.remove(client, below)
            took = counted(objects, run)
            object_set.check_uploaded(client, below, objects)
            return took

        return fresh

    target = f"s3://{BUCKET}/{OTHERS_PREFIX}"
    loop = ["put_loop", "{scratch}/report.json", BUCKET, OTHERS_PREFIX, str(files), str(LOOP_OBJECTS)]
    return Sides(
        Side(_label("put-set"), placed(object_set.prefix(), OBJECTS, lambda: _ours(made, "put-set"))),
        Side("boto3 put_object, one loop", placed(OTHERS_PREFIX, LOOP_OBJECTS, lambda: _loop(made, loop))),
        Side(
            f"s5cmd {programs.S5CMD_VERSION} cp",
            placed(OTHERS_PREFIX, OBJECTS, lambda: _s5cmd(made, f"{files}/*", target)),
        ),
    )


def downloading(made: Gateway, store: Front) -> Sides:
    """The clients that get the set: each writes files, ours eight for all its connections, again and again."""
    counted = partial(_counted, store, "get")
    below = object_set.prefix()

    def to_folder(objects: int, run: Callable[[str], dict[str, float]]) -> Callable[[], dict[str, float]]:
        def fresh() -> dict[str, float]:
            with tempfile.TemporaryDirectory(prefix="objects-", dir=made.folder) as folder:
                took = counted(objects, lambda: run(folder))
                object_set.check_downloaded(Path(folder), objects)
            return took

        return fresh

    def loop(folder: str) -> dict[str, float]:
        return _loop(made, ["get_loop", "{scratch}/report.json", BUCKET, below, folder, str(LOOP_OBJECTS)])

    return Sides(
        Side(_label("get-set"), lambda: counted(OBJECTS, lambda: _ours(made, "get-set"))),
        Side("boto3 get_object, one loop", to_folder(LOOP_OBJECTS, loop)),
        Side(
            f"s5cmd {programs.S5CMD_VERSION} cp",
            to_folder(OBJECTS, lambda folder: _s5cmd(made, f"s3://{BUCKET}/{below}*", f"{folder}/")),
        ),
    )


def _counted(store: Front, request: str, objects: int, run: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Run a client; gives its figures and the server's share. Raises BenchError unless it asked once an object."""
    before = store.status()
    took = run()
    after = store.status()
    requests = after["requests"].get(request, 0) - before["requests"].get(request, 0)
    if requests != objects:
        raise BenchError(f"{requests} {request.upper()} requests for {objects} objects: this run can't be compared")
    return took | {"server_cpu_ms": (after["cpu_s"] - before["cpu_s"]) * 1000 / objects}


def _label(verb: str) -> str:
    return f"transfer {verb}, {PARALLEL} at once"


def _ours(made: Gateway, verb: str) -> dict[str, float]:
    """The Go program, which compares what it gets with what must be there and fails otherwise."""
    what = ["--bucket", BUCKET, "--object-bytes", str(OBJECT_BYTES), "--object-count", str(OBJECTS)]
    command = [programs.transfer(), verb, *what, "--parallel", str(PARALLEL), "--endpoint-url", made.url]
    with tempfile.TemporaryDirectory(prefix="run-", dir=made.folder) as scratch:
        printed = Path(scratch) / "record.json"
        took = run_child(["env", *_settings(made, scratch), *command], printed=str(printed))
        done = json.loads(printed.read_text())["objects"]
    if done != OBJECTS:
        raise BenchError(f"transfer {verb} did {done} of {OBJECTS} objects: this run can't be compared")
    return _whole(took)


def _s5cmd(made: Gateway, source: str, target: str) -> dict[str, float]:
    command = [programs.s5cmd(), "--endpoint-url", made.url, "cp", source, target]
    with tempfile.TemporaryDirectory(prefix="run-", dir=made.folder) as scratch:
        return _whole(run_child(["env", *_settings(made, scratch), *command]))


def _settings(made: Gateway, scratch: str) -> list[str]:
    return [f"{name}={value}" for name, value in (made.environment | {"TMPDIR": scratch, "HOME": scratch}).items()]


def _whole(took: dict[str, float]) -> dict[str, float]:
    return took | {"objects_per_s": OBJECTS / took["wall_s"], "cpu_ms": took["cpu_s"] * 1000 / OBJECTS}


def _loop(made: Gateway, arguments: list[str]) -> dict[str, float]:
    took = made.run([peers.__file__, *arguments])
    rates = {"objects_per_s": LOOP_OBJECTS / took["seconds"], "cpu_ms": took["client_cpu_s"] * 1000 / LOOP_OBJECTS}
    return {name: took[name] for name in ("wall_s", "cpu_s", "peak_mb")} | rates
