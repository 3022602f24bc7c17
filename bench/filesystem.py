"""The file system experiment's function: 1,000 objects of 10 to 100 KB from versitygw, and their tree from a mount.

S3 against 30 threads of boto3's `download_file`, as published, each side a process that is measured whole. The tree
against `cp -r`, between two folders in memory: there the function's own clock counts, as a record has it, since a
sandbox starts Python once and not for every copy.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from bench import download, invoke, rounds, servers, small_objects, tools
from bench.child import run_child
from bench.download import FUNCTIONS, Gateway, Side
from bench.measure import Entry
from bench.small_set import WORDS, SmallSet, small_set

CONNECTIONS = 10  # as many as the published program had in effect
NOWHERE = "http://127.0.0.1:9"  # the discard port: a mount is read without S3


def tree_wall(runs: int) -> tuple[Entry, str]:
    """Seconds to copy the tree. Raises BenchError without `cp`."""
    small, cp = small_set(), tools.require("cp", "copying a tree")
    with tempfile.TemporaryDirectory(prefix="stampede-tree-", dir=servers.RAM_FOLDER) as folder:
        mount = Path(folder) / "mount"
        source = mount / "small"
        source.mkdir(parents=True)
        for name in small.sizes:
            (source / name).write_bytes(small.body(name))
        made = Gateway(NOWHERE, Path(folder), {"AWS_ENDPOINT_URL": NOWHERE, "AWS_REGION": servers.REGION})
        sides = function(made, small, "copy", STORAGE="efs", MOUNT_PATH=str(mount)), _cp(cp, source, made.folder, small)
        rounds.in_turn(sides, runs, seconds_a_round=1)
    setting = f"{WORDS} from a folder to another, both in memory; {rounds.sentence(sides[0])} (the copy alone)"
    return rounds.entry("filesystem_tree_wall", *sides, "wall_s", "s"), f"{setting}; {rounds.sentence(sides[1])}"


def _pool(made: Gateway, small: SmallSet) -> Side:
    return function(made, small, "pool", STORAGE="s3", READ_METHOD="pool")


def function(made: Gateway, small: SmallSet, method: str, **environment: str) -> Side:
    """The function in a sandbox of its own. It verifies number and sizes itself, so a run with others fails."""
    order: dict[str, Any] = {"run_id": "bench", "cell": "bench", "seq": 0, "dataset": "small"}
    order |= {"connections": CONNECTIONS, "files": len(small.sizes), "bytes": sum(small.sizes.values())}
    labels = {
        "CONCURRENCY_LIMIT": "1",
        "MEMORY_SIZE": "1024",
        "EXPERIMENT_TAG": "bench",
        "BUCKET_NAME": download.BUCKET,
    }

    def run() -> dict[str, float]:
        program = [invoke.__file__, str(FUNCTIONS), "filesystem", json.dumps(order), "{scratch}/report.json"]
        record = made.run(program, **labels | environment)
        if method == "copy":
            record |= {"wall_s": record["elapsed_seconds"], "cpu_s": record["client_cpu_seconds"]}
        return {name: record[name] for name in ("wall_s", "cpu_s", "peak_mb")}

    return Side(f"Python {method}", run)


def _cp(cp: str, source: Path, folder: Path, small: SmallSet) -> Side:
    check = small.checked()

    def run() -> dict[str, float]:
        target = folder / "copied"
        try:
            measured = run_child([cp, "-r", str(source), str(target)])
            check(target)
        finally:
            shutil.rmtree(target, ignore_errors=True)
        return measured

    return Side("cp -r", run)


ENTRIES = {
    "filesystem_small_cpu": partial(small_objects.against_boto3, "filesystem_small_cpu", _pool, "cpu_s", "CPU-s"),
    "filesystem_small_wall": partial(small_objects.against_boto3, "filesystem_small_wall", _pool, "wall_s", "s"),
    "filesystem_tree_wall": tree_wall,
}
