"""1,000 objects of 10 to 100 KB from versitygw on loopback: the Go program's `get-many` against 30 threads of boto3."""

from __future__ import annotations

import functools
import random
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import download, go_download, peers, tools
from bench.child import run_child
from bench.errors import BenchError
from bench.measure import Entry, Samples
from loader.progress import say

OBJECTS = 1_000
SMALLEST_BYTES, LARGEST_BYTES = 10_000, 100_000
PREFIX = "small/"
PARALLEL = 16
PUTTING_THREADS = 8

Figures = dict[str, float]


def cpu(runs: int) -> tuple[Entry, str]:
    """CPU seconds of the whole client process."""
    return _entry("small_objects_cpu", runs, "cpu_s", "CPU-s")


def wall(runs: int) -> tuple[Entry, str]:
    """Wall time of the whole client process, Python's start and imports included."""
    return _entry("small_objects_wall", runs, "wall_s", "s")


def _entry(name: str, runs: int, figure: str, unit: str) -> tuple[Entry, str]:
    ours, peer = _measured(runs)
    samples = Samples(tuple(one[figure] for one in ours), tuple(one[figure] for one in peer))
    setting = (
        f"{OBJECTS:,} objects of {SMALLEST_BYTES // 1000} to {LARGEST_BYTES // 1000} KB to a RAM-backed folder from "
        f"versitygw {tools.VERSITYGW.version} over http; {_sentence(f'Go get-many, {PARALLEL} at once', ours)}; "
        f"{_sentence(f'download_file, {peers.THREADS} threads', peer)}"
    )
    return samples.entry(name, unit, higher_is_better=False), setting


@functools.cache  # both entries come from the same runs
def _measured(runs: int) -> tuple[list[Figures], list[Figures]]:
    binary = str(go_download.transfer_binary())
    with download.gateway() as made:
        sizes = _put_objects(made)
        options = ["--endpoint-url", made.url, "--bucket", download.BUCKET, "--prefix", PREFIX]
        go = [binary, "get-many", *options, "--parallel", str(PARALLEL), "--output", "{folder}"]
        arguments = ["download_many", "{folder}/.report.json", download.BUCKET, PREFIX, "{folder}"]
        boto = download.python(peers.__file__, *arguments)
        say(f"small objects: {runs} runs of each side in turn after one to warm up (about {(runs + 1) * 8} s)")
        rounds = []
        for run in range(runs + 1):
            rounds.append([_run(made, command, sizes) for command in (go, boto)])
            say(f"  run {run}: ours {rounds[-1][0]['cpu_s']:.3f}, peer {rounds[-1][1]['cpu_s']:.3f} CPU-s", style="dim")
    return [one[0] for one in rounds[1:]], [one[1] for one in rounds[1:]]


def _put_objects(made: download.Gateway) -> dict[str, int]:
    """Put the objects; gives the sizes by the names below the prefix."""
    chance = random.Random(4)
    sizes = {f"{number:04}.dat": chance.randint(SMALLEST_BYTES, LARGEST_BYTES) for number in range(OBJECTS)}
    content, client = chance.randbytes(LARGEST_BYTES), made.client()

    def put(name: str) -> None:
        client.put_object(Bucket=download.BUCKET, Key=PREFIX + name, Body=content[: sizes[name]])

    say(f"putting {OBJECTS:,} objects into versitygw (a few seconds)")
    with ThreadPoolExecutor(PUTTING_THREADS) as pool:
        list(pool.map(put, sizes))
    return sizes


def _run(made: download.Gateway, command: list[str], sizes: dict[str, int]) -> Figures:
    """Download everything into a new folder. Raises BenchError unless every object is there in its size."""
    with tempfile.TemporaryDirectory(dir=made.folder) as folder:
        settings = [f"{name}={value}" for name, value in made.environment.items()]
        measured = run_child(["env", *settings, *(part.replace("{folder}", folder) for part in command)])
        found = {path.name: path.stat().st_size for path in Path(folder).glob("*.dat")}
        if found != sizes:
            raise BenchError(f"{command[0]} left {len(found)} objects, or wrong sizes, instead of {len(sizes)}")
    return measured


def _sentence(label: str, measured: list[Figures]) -> str:
    median = {name: statistics.median(one[name] for one in measured) for name in ("cpu_s", "wall_s", "peak_mb")}
    return f"{label}: {median['cpu_s']:.3f} CPU-s, {median['wall_s']:.2f} s, peak {median['peak_mb']:.0f} MiB"
