"""A sweep on the applied local stack accounts for every message, even killed and resumed, or
interrupted."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest

from experiments.objects import MEBIBYTE
from stampede.runs.folder import RunFolder
from tests.commands import ROOT
from tests.emulator.applied_stack import OBJECT_MB, TIMEOUT_S
from tests.emulator.embedded_aws import settings

BARRIER_S = 3
# --keep, as the session's tests share the stack; and its timeout_s, since the provider waits 25 s
# for a changed queue.
SWEEP = ["download", "--keep", "--messages-per-concurrency", "4"]
SWEEP += settings(
    "memory_size=1024",
    f"object_size_mb={OBJECT_MB}",
    f"timeout_s={TIMEOUT_S}",
    "concurrency_value=1,3",
)
NOBODY = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}


@pytest.fixture(scope="module")
def killed(local_stack):
    """The folder of a sweep with warm-ups and a start barrier, killed in its second cell, and the
    ids of its first cell's messages."""
    options = ("--warm-up-per-concurrency", "1", "--start-barrier-s", str(BARRIER_S), "--verbose")
    with local_stack.started("sweep", *SWEEP, *options, **NOBODY) as process:
        floods = 0
        for line in process.stderr:
            if line.startswith("run "):
                folder = RunFolder(local_stack.work / "results" / line.split()[1].rstrip(":"))
            is_sent = line.startswith("sent ")
            floods += is_sent and len(folder.read_json("run.json")["finished"]) == 1
            if floods == 2:  # the warm-up's, and the cell's own
                os.kill(process.pid, signal.SIGKILL)
                break
    records = [record for record in folder.rows("records.jsonl") if not record["warm_up"]]
    return folder, {record["message_id"] for record in records}


def test_a_sweep_killed_in_a_cell_resumes_without_lost_or_repeated_messages(local_stack, killed):
    folder, before = killed
    done = local_stack.stampede("sweep", *SWEEP[:2], "--resume", folder.run_id, "--format", "json")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "set aside" in done.stderr and f"run {folder.run_id}: 1 cell to run" in done.stderr
    run, records = folder.read_json("run.json"), list(folder.rows("records.jsonl"))
    names = [cell["cell"] for cell in run["cells"]]
    assert list(run["finished"]) == names != sorted(names), "not in the plan's shuffled order"
    assert run["finished_at"] and "prediction" not in run
    measured = [record for record in records if not record["warm_up"]]
    kept = {record["message_id"] for record in measured if record["cell"] == names[0]}
    assert kept <= before, "the finished cell was run again"
    rows = {row["concurrency"]: row["count"] for row in json.loads(done.stdout) if row["count"]}
    sent = [row for row in folder.rows("sent.jsonl") if not row["warm_up"]]
    assert (rows, len(sent)) == ({1: 4, 3: 12}, 16)
    assert sum(record["warm_up"] for record in records) == 1 + 3
    for account in folder.read_json("accounting.json"):
        assert account["sent"] == account["succeeded"]
        assert account["unaccounted"] == account["unexpected"] == account["duplicates"] == 0
    for n in (1, 3):
        refuse_a_crowd(n, [record for record in records if record["concurrency_limit"] == n])
    # The report has no warnings, and an independent script gets the same figures.
    assert 'id="warnings"' not in (folder.path / "report.html").read_text()
    command = [sys.executable, "-m", "tests.unit.report.recompute", folder.path.absolute()]
    options = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 120}
    recount = subprocess.run(command, check=False, **options)
    assert recount.returncode == 0, recount.stdout + recount.stderr


def refuse_a_crowd(n, records):
    """Expect at most n functions at once, and none that starts before its barrier."""
    spans = [(record["started_at_ms"], record["finished_at_ms"]) for record in records]
    assert max(sum(a <= start < b for a, b in spans) for start, _ in spans) <= n
    flooded_ms = max(record["finished_at_ms"] for record in records if record["warm_up"])
    began_ms = min(record["started_at_ms"] for record in records if not record["warm_up"])
    assert began_ms - flooded_ms >= 1000 * BARRIER_S


def test_methods_with_ranges_need_no_permission_but_to_get_the_object(local_stack):
    """Other journeys use the other methods."""
    # Each method and its requests, if its records count them.
    methods = {"ranges": 3, "crt": None, "go_ranges": 3}
    results = local_stack.work / "methods"
    options = ["--messages-per-concurrency", "2", "--results-dir", str(results)]
    options += settings("memory_size=1024", f"timeout_s={TIMEOUT_S}", "concurrency_value=1")
    options += settings(f"method={','.join(methods)}", "object_size_mb=34", "range_part_mb=16")
    done = local_stack.stampede("sweep", *SWEEP[:2], *options)
    assert done.returncode == 0, done.stderr[-3000:]
    [folder] = results.iterdir()
    records = list(RunFolder(folder).rows("records.jsonl"))
    assert Counter(record["method"] for record in records) == dict.fromkeys(methods, 2)
    for record in records:
        assert (record["status"], record["bytes"]) == ("ok", 34 * MEBIBYTE), record
        assert methods[record["method"]] in (None, record["requests"])


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
    local_stack.wait_until_no_message_is_left()  # so that the next test has all functions
