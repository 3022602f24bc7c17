"""One run at a time for each stack, and a note of which run it is."""

import json
import subprocess
import sys

import pytest

from stampede.emulator import ministack, stack
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM
from stampede.planning import checks
from stampede.stacks import stack_lock

HOLD = """
import sys
from pathlib import Path
from stampede.emulator import stack
stack.STATE_DIR = Path(sys.argv[1])
from stampede.stacks.stack_lock import holding
with holding("local", "sweep") as note:
    note("20260101T000000Z")
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def state_dir(tmp_path, monkeypatch):
    monkeypatch.setattr(stack, "STATE_DIR", tmp_path)
    return tmp_path


@pytest.fixture
def other_process(state_dir):
    """A process that holds the local stack."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, state_dir],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "holds\n"
    yield process
    process.kill()
    process.communicate()


def test_verb_and_doctor_refuse_a_second_run_with_the_name_of_the_first_until_that_ends(
    other_process,
):
    whose = f"of run 20260101T000000Z .process {other_process.pid}. is using the local stack"
    with pytest.raises(UsageError, match=whose) as refusal, stack_lock.holding("local", "flood"):
        pass
    finding = checks.free_stack("local")
    assert finding.status == PROBLEM and finding.found in str(refusal.value)
    other_process.kill()
    other_process.wait()
    assert checks.free_stack("local").status == OK
    with stack_lock.holding("local", "flood"):
        pass


def test_the_doctor_finds_the_local_stack_that_a_sweep_would_refuse(state_dir, monkeypatch):
    (state_dir / "infra").mkdir()
    instances = [{"attributes": "a"}, {"attributes": "b", "status": "tainted"}]
    queues = {"mode": "managed", "type": "aws_sqs_queue", "instances": instances}
    outputs = {"experiment": {"value": "copy"}}
    state = {
        "outputs": outputs,
        "resources": [queues, {"mode": "data", "type": "aws_region", "instances": [{}]}],
    }
    (state_dir / "infra" / "terraform.tfstate").write_text(json.dumps(state))
    monkeypatch.setattr(stack, "FOLDER", state_dir)
    assert stack.applied_queues() == stack.replaced_queues("download") == ["a", "b"]
    assert stack.replaced_queues("copy") == ["b"]
    monkeypatch.setattr(ministack, "running", lambda _: "an emulator")
    finding = checks.free_stack("local")
    assert finding.status == PROBLEM and "2 resources" in finding.found
    assert "emulator stop" in finding.way_out
