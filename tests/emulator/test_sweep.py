"""A sweep on the applied local stack: killed in its second cell and resumed, or interrupted, it accounts for all."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stampede.runs.folder import RunFolder
from tests.emulator.applied_stack import OBJECT_MB, TIMEOUT_S

# Another timeout_s changes the queue, for which the provider waits 25 s.
STACK = ("memory_size=1024", f"object_size_mb={OBJECT_MB}", f"timeout_s={TIMEOUT_S}", "concurrency_value=1,3")
BARRIER_S = 3
# The stack is the session's own: it stays, for the other tests.
SWEEP = ("download", "--keep", "--messages-per-concurrency", "4", *(part for text in STACK for part in ("--set", text)))
NOBODY = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}


@pytest.fixture(scope="module")
def killed(local_stack):
    """The folder of a sweep with warm-ups and a start barrier that is killed in its second cell, and its first cell's
    messages."""
    options = ("--warm-up-per-concurrency", "1", "--start-barrier-s", str(BARRIER_S), "--verbose")
    with local_stack.started("sweep", *SWEEP, *options, **NOBODY) as process:
        floods = 0
        for line in process.stderr:
            if line.startswith("run "):
                folder = RunFolder(local_stack.work / "results" / line.split()[1].rstrip(":"))
            floods += line.startswith("sent ") and len(folder.read_json("run.json")["finished"]) == 1
            if floods == 2:  # the warm-up's, and the cell's own
                os.kill(process.pid, signal.SIGKILL)
                break
    return folder, {record["message_id"] for record in folder.rows("records.jsonl") if not record["warm_up"]}


@pytest.fixture(scope="module")
def resumed(local_stack, killed):
    """What the resumed sweep printed, its folder and its records."""
    folder, _ = killed
    done = local_stack.stampede("sweep", *SWEEP[:2], "--resume", folder.run_id, "--format", "json")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "set aside" in done.stderr and f"run {folder.run_id}: 1 cell to run" in done.stderr
    return done, folder, list(folder.rows("records.jsonl"))


def test_a_sweep_killed_in_a_cell_goes_on_without_losing_or_repeating_one(killed, resumed):
    (_, before), (done, folder, records) = killed, resumed
    run = folder.read_json("run.json")
    names = [cell["cell"] for cell in run["cells"]]
    assert list(run["finished"]) == names != sorted(names), "the cells ran in the shuffled order of the plan"
    assert run["finished_at"] and "prediction" not in run
    kept = {record["message_id"] for record in records if record["cell"] == names[0] and not record["warm_up"]}
    assert kept <= before, "the finished cell was run again"
    rows = {row["concurrency"]: row["count"] for row in json.loads(done.stdout) if row["count"]}
    sent = [row for row in folder.rows("sent.jsonl") if not row["warm_up"]]
    assert (rows, len(sent)) == ({1: 4, 3: 12}, 16)
    assert sum(record["warm_up"] for record in records) == 1 + 3
    for account in folder.read_json("accounting.json"):
        assert account["sent"] == account["succeeded"]
        assert account["unaccounted"] == account["unexpected"] == account["duplicates"] == 0


def test_an_independent_script_recounts_every_number_of_its_report_which_misses_nothing(resumed):
    _, folder, _ = resumed
    assert 'id="warnings"' not in (folder.path / "report.html").read_text()
    command = [sys.executable, "-m", "tests.unit.report.recompute", folder.path.absolute()]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("n", [1, 3])
def test_no_more_functions_than_n_run_at_once_and_behind_a_barrier_none_begins_early(resumed, n):
    of_cell = [record for record in resumed[-1] if record["concurrency_limit"] == n]
    spans = [(record["started_at_ms"], record["finished_at_ms"]) for record in of_cell]
    assert max(sum(a <= start < b for a, b in spans) for start, _ in spans) <= n
    flooded_ms = max(record["finished_at_ms"] for record in of_cell if record["warm_up"])  # it begins after these
    began_ms = min(record["started_at_ms"] for record in of_cell if not record["warm_up"])
    assert began_ms - flooded_ms >= 1000 * BARRIER_S


def test_ctrl_c_leaves_a_consistent_run_and_says_how_to_go_on(local_stack):
    with local_stack.started("sweep", *SWEEP, "--verbose", **NOBODY) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("sent "):
                process.send_signal(signal.SIGINT)
                break
        text = "".join([*lines, *process.stderr.readlines()])
        assert process.wait(timeout=60) == 130, text[-3000:]
    assert "--resume" in text and "kept: the stack" in text and "Traceback" not in text
    local_stack.wait_until_no_message_is_left()  # the next test's functions are free for its own
