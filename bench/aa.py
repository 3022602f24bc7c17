"""How often a page claims a difference between two equal variants, in sweeps on this machine.

The embedded AWS ignores memory, and has a general purpose bucket for both storage classes. A local
page makes no claims about them, so each run is read again as a run on AWS. Each experiment is swept
on a quiet machine and next to load that comes and goes. The runs stay in results/aa: an interrupted
measurement continues, and existing runs are counted again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.child import run_child
from bench.ratios import Figures, Run
from stampede.errors import RunError
from stampede.progress import say
from stampede.report.analysis import analyse
from stampede.report.intervals import CONFIDENCE
from stampede.report.run import load

FOLDER = Path("results/aa")
SWEEPS = 20
LONGEST_SWEEP_S = 600
SHORTEST_LOAD_S, LONGEST_LOAD_S = 1.0, 5.0


# How each experiment is swept, and which of its comparisons is then between equals.
OPTIONS = {
    "express": (
        "--set operation=download --set object_bytes=1000,10000,100000,1000000 --set "
        "parallel_limit=1"
    ),
    "download": (
        "--set memory_size=1024,2048 --set concurrency_value=1 --set object_size_mb=16 --repeats 5"
    ),
}
COMPARED = {"express": "between_classes", "download": "between_memories"}
ENTRIES = ("aa_express", "aa_express_load", "aa_download", "aa_download_load")


@contextmanager
def pages_without_a_claim(entry: str) -> Iterator[tuple[Run, Run]]:
    """The part of SWEEPS pages that claim nothing, against the promised part."""

    def ours() -> Figures:
        folder, experiment = FOLDER / entry, entry.split("_")[1]
        if len(finished(folder)) < SWEEPS:
            sweep_missing(experiment, folder, loaded=entry.endswith("load"))
        claims = [claims_of(run, COMPARED[experiment]) for run in finished(folder)]
        without = sum(not claimed for claimed in claims) / len(claims)
        return {"of_pages": without, "claims": sum(claims), "sweeps": len(claims)}

    yield ours, lambda: {"of_pages": CONFIDENCE}


def finished(folder: Path) -> list[Path]:
    """The finished runs in the folder."""
    manifests = sorted(folder.glob("*/run.json"))
    return [path.parent for path in manifests if json.loads(path.read_text()).get("finished_at")]


def claims_of(run: Path, compare: str) -> int:
    """Count the differences between equals that the run's page would claim on AWS.

    Raises RunError for a run that can't claim any.
    """
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        copy = shutil.copytree(run, Path(folder) / run.name)
        manifest = json.loads((copy / "run.json").read_text())
        (copy / "run.json").write_text(json.dumps(manifest | {"target": "aws"}))
        findings = analyse(load(copy)).findings
    findings = [finding for finding in findings if finding.compare == compare]
    ratios = [finding.ratio for finding in findings if finding.ratio and finding.ratio.has_interval]
    if not ratios or len(ratios) < len(findings):
        raise RunError(f"{run} has a comparison without an interval", "remove that run")
    return sum(ratio.leaves_1_out for ratio in ratios)


def sweep_missing(experiment: str, folder: Path, loaded: bool) -> None:
    """Sweep until there are SWEEPS runs, all on one stack, which is removed at the end."""
    run_child(["make", "--no-print-directory", "go-function"])  # for express
    stampede = str(Path(sys.executable).parent / "stampede")
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as state:
        try:
            while (number := len(finished(folder)) + 1) <= SWEEPS:
                say(f"{folder.name}: sweep {number} of {SWEEPS} (about 40 s)")
                options = ["--keep", "--seed", str(number), "--results-dir", str(folder)]
                command = [stampede, "sweep", experiment, *OPTIONS[experiment].split(), *options]
                with load_that_comes_and_goes(number, os.cpu_count() or 1 if loaded else 0):
                    run_child(command, LONGEST_SWEEP_S, STAMPEDE_STATE_DIR=state)
        finally:
            run_child([stampede, "emulator", "stop"], STAMPEDE_STATE_DIR=state)


@contextmanager
def load_that_comes_and_goes(seed: int, count: int) -> Iterator[None]:
    """Run `count` processes that are busy together and idle together."""
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=come_and_go, args=(seed, os.getpid()), daemon=True)
        for _ in range(count)
    ]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def come_and_go(seed: int, parent: int) -> None:
    """Be busy for 1 to 5 s, then idle for 1 to 5 s, while the parent lives."""
    draw = random.Random(seed)
    while os.getppid() == parent:
        until_s = time.monotonic() + draw.uniform(SHORTEST_LOAD_S, LONGEST_LOAD_S)
        while time.monotonic() < until_s:
            pass
        time.sleep(draw.uniform(SHORTEST_LOAD_S, LONGEST_LOAD_S))
