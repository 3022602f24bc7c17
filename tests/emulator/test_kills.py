"""A sweep killed at fifteen random moments and resumed each time loses nothing (`make test-slow`).

`--hypothesis-seed=N` draws other moments.
"""

import csv
import json
import os
import random
import signal
import sys
import time
from collections import Counter

import pytest

from tests.emulator.embedded_aws import run, settings
from tests.emulator.killed_sweep import KilledSweep, Moment

CELLS, BLOCK, ROUNDS, MESSAGES_PER_CONCURRENCY = 4, 2, 3, 15
SWEEP = ["filesystem", "--rounds", str(ROUNDS), "--warm-up-per-concurrency", "1"]
SWEEP += ["--messages-per-concurrency", str(MESSAGES_PER_CONCURRENCY)]
SWEEP += settings(
    "storage=s3", "dataset=small", "small_files=2", "threads=1,2", "concurrency_value=2,4"
)
# These phases in any order; those after all measurements come last.
PHASES = ["apply"] * 4 + ["flood"] * 3 + ["drain"] * 4 + ["interrupted"]
LAST_PHASES = ["teardown", "report", "report"]
# The test takes about seven minutes.
MOST_S = 1800

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(MOST_S),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc"),
]


@pytest.fixture
def begin(tmp_path):
    """A function that starts a sweep; remaining processes are killed at the end."""
    sweeps = []

    def begun(draw):
        work = tmp_path / f"sweep-{len(sweeps)}"
        work.mkdir()
        sweeps.append(KilledSweep(work, SWEEP, draw))
        return sweeps[-1]

    yield begun
    for sweep in sweeps:
        for pid in sweep.left_running():
            os.kill(pid, signal.SIGKILL)


def test_a_sweep_killed_fifteen_times_and_resumed_loses_nothing(begin, request):
    seed = int(request.config.getoption("--hypothesis-seed") or 1)
    draw, started_s = random.Random(seed), time.monotonic()
    sweeps = [begin(draw)]
    for phase in [*draw.sample(PHASES, len(PHASES)), *LAST_PHASES]:
        while not sweeps[-1].is_killed_at(moment(sweeps[-1], phase)):
            if sweeps[-1].has_ended and phase != "report":  # too late for a kill
                sweeps.append(begin(draw))
    sweeps[-1].end()
    killed_in = Counter(phase for sweep in sweeps for phase in sweep.killed_in)
    took_s = time.monotonic() - started_s
    print(f"seed {seed}: killed in {dict(killed_in)}, {len(sweeps)} sweep(s), {took_s:.0f} s")
    for sweep in sweeps:
        refuse_losses(sweep.folder)
        refuse_leftovers(sweep)
    assert killed_in.total() == len(PHASES) + len(LAST_PHASES) == 15
    assert killed_in["messages"] >= 5
    assert killed_in.keys() == {"apply", "messages", "teardown", "report"}


def moment(sweep, phase):
    """A random moment of the phase in the rest of the sweep."""
    finished = {cell["cell"] for cell in sweep.folder.read_json("run.json", {}).get("cells", [])}
    blocks = max(1, (CELLS - len(finished)) // BLOCK)
    sent = (row for row in sweep.folder.rows("sent.jsonl") if row["cell"] not in finished)
    # Warm-ups are repeated, and so may the interrupted round be.
    floods = blocks * (BLOCK + ROUNDS) - max((row["round"] for row in sent), default=0)
    is_up = any("emulator.keeper" in command for command in sweep.left_running().values())
    draw, keeps = sweep.draw, sweep.draw.random() < 0.5
    return {
        "apply": Moment("apply", 6 if is_up else 32, draw.randint(1, blocks), keeps=keeps),
        "flood": Moment("messages", 0.03, draw.randint(1, floods), keeps=keeps),
        "drain": Moment("messages", 1, draw.randint(1, floods), keeps=keeps),
        "interrupted": Moment("messages", 0.3, draw.randint(1, floods), interrupts=True),
        "teardown": Moment("teardown", 8),
        "report": Moment("report", 1),
    }[phase]


def refuse_losses(folder):
    run_as_stored = json.loads((folder.path / "run.json").read_text())
    assert run_as_stored["finished_at"]
    assert run_as_stored["finished"].keys() == {cell["cell"] for cell in run_as_stored["cells"]}
    assert len(run_as_stored["cells"]) == CELLS
    for file in folder.path.glob("*.jsonl"):
        text = file.read_text()
        assert text.endswith("\n"), file
        assert all(isinstance(json.loads(line), dict) for line in text.splitlines()), file
    sent = Counter((row["cell"], row["seq"]) for row in folder.rows("sent.jsonl"))
    assert set(sent.values()) == {1}
    records = [(row["cell"], row["seq"], row["status"]) for row in folder.rows("records.jsonl")]
    assert sent.keys() == {(cell, seq) for cell, seq, _ in records}
    assert sent.keys() == {(cell, seq) for cell, seq, status in records if status == "ok"}
    assert not sent.keys() & {(row["cell"], row["seq"]) for row in folder.rows("abandoned.jsonl")}
    for account in folder.read_json("accounting.json"):
        ended = ("succeeded", "failed", "dead_lettered", "unanswered")
        assert account["sent"] == sum(account[name] for name in ended)
        assert account["unaccounted"] == 0
    refuse_wrong_figures(folder)


def refuse_wrong_figures(folder):
    """Expect each message of the plan in the figures once, and nothing else."""
    counted = Counter()
    with (folder.path / "cells.csv").open() as file:
        for row in csv.DictReader(file):
            counted[row["threads"], row["concurrency"]] += int(row["count"])
    planned = {(threads, n): MESSAGES_PER_CONCURRENCY * int(n) for threads in "12" for n in "24"}
    assert counted == planned
    warm_ups = Counter(row["warm_up"] for row in folder.rows("sent.jsonl"))
    assert warm_ups[False] == sum(planned.values())
    totals = folder.read_json("statistics.json")["totals"]
    assert (totals["downloads"], totals["warm_ups"]) == (warm_ups[False], warm_ups[True])


def refuse_leftovers(sweep):
    """Only emulators started with --keep may survive a killed teardown; they are stopped here."""
    running = sweep.left_running().items()
    assert {pid for pid, command in running if "emulator.keeper" in command} <= sweep.kept
    run(sweep.work, "emulator", "stop")
    deadline = time.monotonic() + 60
    while processes := sweep.left_running():
        assert time.monotonic() < deadline, processes
        time.sleep(0.2)
