"""N = 500, the largest of the published experiment, on one machine (`make test-slow`)."""

import itertools
import platform
import time
from collections import defaultdict

import pytest

from stampede.runs.folder import RunFolder
from tests.emulator.embedded_aws import run, settings

ARCHITECTURE = platform.machine().replace("aarch64", "arm64")
N, MESSAGES_PER_CONCURRENCY = 500, 5
MOST_S = 300


@pytest.mark.slow
@pytest.mark.timeout(3 * MOST_S)
def test_five_hundred_functions_at_once_are_accounted_for_in_time(tmp_path):
    swept = settings(
        f"concurrency_value={N}",
        "method=go_stream",
        "object_size_mb=1",
        f"architecture={ARCHITECTURE}",
    )
    few = ["--messages-per-concurrency", str(MESSAGES_PER_CONCURRENCY)]
    began = time.monotonic()
    run(tmp_path, "sweep", "download", *few, *swept)
    assert time.monotonic() - began < MOST_S
    folder = RunFolder(next((tmp_path / "results").iterdir()))
    sent = N * MESSAGES_PER_CONCURRENCY
    accounts = folder.read_json("accounting.json", [])
    assert [(account["sent"], account["succeeded"]) for account in accounts] == [(sent, sent)] * 2
    steps = defaultdict(list)
    for record in folder.rows("records.jsonl"):
        edges = [(record["started_at_ms"], 1), (record["finished_at_ms"], -1)]
        steps[record["cell"]] += edges
    assert len(steps) == 2
    for edges in steps.values():
        assert max(itertools.accumulate(step for _, step in sorted(edges))) >= 0.9 * N
