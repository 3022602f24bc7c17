"""A sweep on the applied local stack: every cell once, resumable after a kill -9, and every message accounted for."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stampede.runs.folder import RunFolder
from tests.emulator.applied_stack import OBJECT_MB, TIMEOUT_S

STACK = ["--set", "memory_size=1024"]
STACK += ["--set", f"object_size_mb={OBJECT_MB}"]
STACK += [
    "--set",
    f"timeout_s={TIMEOUT_S}",
]  # another one changes the queue, for which the provider waits 25 s
BARRIER_S = 3
# The stack is the session's own: it stays, for the other tests.
FLAGS = ("download", "--keep", "--messages-per-concurrency", "4", *STACK, "--set", "concurrency_value=1,3")


def records(folder):
    return list(folder.rows("records.jsonl"))


@pytest.fixture(scope="module")
def swept(local_stack):
    """One whole sweep with warm-ups and a start barrier."""
    extra = ("--warm-up-per-concurrency", "1", "--start-barrier-s", str(BARRIER_S), "--format", "json")
    done = local_stack.stampede("sweep", *FLAGS, *extra)
    assert done.returncode == 0, done.stderr[-3000:]
    run_id = next(line.split()[1].rstrip(":") for line in done.stderr.splitlines() if line.startswith("run "))
    return done, RunFolder(local_stack.work / "results" / run_id)


def test_the_tables_counts_equal_the_messages_sent(swept):
    done, folder = swept
    measured = [row for row in json.loads(done.stdout) if row["count"]]
    assert {(row["memory_size_mb"], row["concurrency"]): row["count"] for row in measured} == {
        (1024, n): 4 * n for n in (1, 3)
    }
    sent = [row for row in folder.rows("sent.jsonl") if not row["warm_up"]]
    assert len(sent) == sum(row["count"] for row in measured)


def test_the_report_of_a_sweep_that_went_well_misses_nothing(swept):
    _, folder = swept
    assert 'id="warnings"' not in (folder.path / "report.html").read_text()


def test_warm_ups_are_recorded_and_in_no_figure(swept):
    _, folder = swept
    assert sum(record["warm_up"] for record in records(folder)) == 1 + 3


def test_an_independent_script_recounts_every_number_of_the_report(swept):
    _, folder = swept
    command = [sys.executable, "-m", "tests.unit.report.recompute", folder.path.absolute()]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_cells_ran_in_the_shuffled_order_of_the_plan(swept):
    _, folder = swept
    run = folder.read_json("run.json")
    names = [cell["cell"] for cell in run["cells"]]
    assert list(run["finished"]) == names != sorted(names)
    assert run["finished_at"] and "prediction" not in run


def test_never_more_functions_ran_at_once_than_the_cell_allows(swept):
    _, folder = swept
    for n in (1, 3):
        spans = [(r["started_at_ms"], r["finished_at_ms"]) for r in records(folder) if r["concurrency_limit"] == n]
        assert max(sum(a <= start < b for a, b in spans) for start, _ in spans) <= n


def test_behind_a_start_barrier_no_function_begins_before_the_common_moment(swept):
    _, folder = swept
    for n in (1, 3):
        of_cell = [record for record in records(folder) if record["concurrency_limit"] == n]
        flooded_ms = max(record["finished_at_ms"] for record in of_cell if record["warm_up"])  # it begins after these
        began_ms = min(record["started_at_ms"] for record in of_cell if not record["warm_up"])
        assert began_ms - flooded_ms >= 1000 * BARRIER_S


def test_a_sweep_killed_in_a_cell_goes_on_without_losing_or_repeating_one(local_stack):
    process = local_stack.started("sweep", *FLAGS, "--verbose", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    folder = None
    for line in process.stderr:
        if line.startswith("run "):
            folder = RunFolder(local_stack.work / "results" / line.split()[1].rstrip(":"))
        if line.startswith("sent ") and len(folder.read_json("run.json")["finished"]) == 1:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.wait(timeout=30)
    process.stderr.close()
    before = {record["message_id"] for record in records(folder)}
    done = local_stack.stampede("sweep", *FLAGS[:2], "--resume", folder.run_id)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "set aside" in done.stderr
    assert f"run {folder.run_id}: 1 cell to run" in done.stderr
    run = folder.read_json("run.json")
    assert list(run["finished"]) == [cell["cell"] for cell in run["cells"]]
    accounts = folder.read_json("accounting.json")
    assert {account["cell"]: account["succeeded"] for account in accounts} == {
        f"memory_size=1024,concurrency_value={n}": 4 * n for n in (1, 3)
    }
    assert all(account["unaccounted"] == account["unexpected"] == account["duplicates"] == 0 for account in accounts)
    first_cell = run["cells"][0]["cell"]
    kept = {record["message_id"] for record in records(folder) if record["cell"] == first_cell}
    assert kept <= before, "the finished cell was run again"


def test_ctrl_c_leaves_a_consistent_run_and_says_how_to_go_on(local_stack):
    nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    process = local_stack.started("sweep", *FLAGS, "--verbose", stderr=subprocess.PIPE, **nothing)
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("sent "):
            process.send_signal(signal.SIGINT)
            break
    lines += process.stderr.readlines()
    text = "".join(lines)
    assert process.wait(timeout=60) == 130, text[-3000:]
    process.stderr.close()
    assert "--resume" in text
    assert "Traceback" not in text
    assert "kept: the stack" in text
    local_stack.wait_until_no_message_is_left()  # the next test's functions are free for its own
