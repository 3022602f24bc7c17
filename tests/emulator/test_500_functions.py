"""N = 500, the published experiment's largest, on one machine: `make test-slow`."""

import contextlib
import itertools
import platform
import re
import subprocess
import time
from pathlib import Path

import pytest

from experiments.download import usage as download_usage
from stampede.cell import Cell
from stampede.emulator import ministack
from stampede.planning.checks import machine
from stampede.planning.demand import Demand
from stampede.runs.folder import RunFolder
from tests.emulator.embedded_aws import begin, settings

ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
N, MESSAGES_PER_CONCURRENCY = 500, 5
MOST_S = 300
USAGE = {"object_size_mb": 1, "method": "go_stream", "ephemeral_storage_mb": 512}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * MOST_S)]


def emulator_mb(state_dir):
    """Memory of the emulator and all functions, pages that they share counted once; 0 where the
    system doesn't tell."""
    running = ministack.running(state_dir)
    total_kb = 0
    for folder in Path("/proc").glob("[0-9]*") if running else ():
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[2]) == running.pid:
                total_kb += int(
                    re.search(
                        r"^Pss:\s+(\d+)", (folder / "smaps_rollup").read_text(), re.MULTILINE
                    )[1]
                )
    return total_kb / 1024


def test_five_hundred_at_once_are_accounted_for_in_time_and_in_the_memory_that_the_doctor_counts(
    tmp_path,
):
    """One sweep in an emulator of its own, as a user types it."""
    swept = settings(
        f"concurrency_value={N}",
        "method=go_stream",
        "object_size_mb=1",
        f"architecture={ARCHITECTURE}",
    )
    arguments = [
        "sweep",
        "download",
        "--messages-per-concurrency",
        str(MESSAGES_PER_CONCURRENCY),
        *swept,
    ]
    started, most_mb = time.monotonic(), 0.0
    with (tmp_path / "output").open("w") as output:
        process = begin(tmp_path, *arguments, stdout=output, stderr=output)
        try:
            while process.poll() is None and time.monotonic() < started + 2 * MOST_S:
                most_mb = max(most_mb, emulator_mb(tmp_path / "state"))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(3)
        finally:
            process.terminate()  # only where it goes on for far too long; the emulator ends with it
            process.wait(60)
    taken_s = time.monotonic() - started
    assert process.returncode == 0, (tmp_path / "output").read_text()[-3000:]
    folder = RunFolder(next((tmp_path / "results").iterdir()))
    sent = N * MESSAGES_PER_CONCURRENCY
    accounts = folder.read_json("accounting.json", [])
    assert [(account["sent"], account["succeeded"]) for account in accounts] == [(sent, sent)] * 2
    steps = {}
    for record in folder.rows("records.jsonl"):
        edges = [(record["started_at_ms"], 1), (record["finished_at_ms"], -1)]
        steps.setdefault(record["cell"], []).extend(edges)
    assert len(steps) == 2
    for edges in steps.values():
        assert max(itertools.accumulate(step for _, step in sorted(edges))) >= 0.9 * N

    cell = Demand(Cell("", {"concurrency_value": N}, ()), download_usage.usage(USAGE))
    # At worst: each still holds the object that it moved, in a buffer that is used again.
    counted_mb = machine.local_mb(cell, copies=N)
    print(f"{taken_s:.0f} s, {most_mb:.0f} MB; counted are {counted_mb} MB")
    assert taken_s < MOST_S
    assert 0.4 * counted_mb < most_mb < counted_mb or most_mb == 0
