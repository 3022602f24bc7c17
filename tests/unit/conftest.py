"""Common fixtures: an idle state folder, so that no test sees the emulator of another; a run's
folder; and a stack on a clock that only sleeping moves."""

import pytest

from loader import drain, executions
from stampede import polling
from stampede.emulator import stack
from stampede.runs.folder import RunFolder
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws


@pytest.fixture(scope="session")
def idle_state(tmp_path_factory):
    """A state folder without an emulator or a stack."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def _no_emulator(monkeypatch, idle_state):
    monkeypatch.setattr(stack, "STATE_DIR", idle_state)
    monkeypatch.setattr(stack, "FOLDER", idle_state / "local")
    monkeypatch.setenv("STAMPEDE_STATE_DIR", str(idle_state))


@pytest.fixture
def folder(tmp_path):
    """The folder of the run "r"."""
    return RunFolder.create(tmp_path, "r")


@pytest.fixture
def aws(monkeypatch):
    """A simulated stack; drains and floods of this process use its clock and its queue."""
    stack = SimulatedAws("aws", dict(OUTPUTS))
    go_by_clock_of(stack, monkeypatch)
    return stack


def go_by_clock_of(stack, monkeypatch):
    """Have drains, floods and everything that polls use the clock of a stack."""
    monkeypatch.setattr("time.time", lambda: EPOCH_MS / 1000 + stack.now_s)
    monkeypatch.setattr("loader.sqs.sending.send", stack.take)
    for module in (drain, executions, polling):
        replace_sleep(monkeypatch, module, stack.sleep, stack.clock)
