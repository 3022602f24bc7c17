"""What the tests of this folder share: they don't see the emulator that other tests of their
process have started. A run's folder, and a stack on a clock that only sleeping moves."""

import pytest

from loader.drain import drain, wait_for_round
from stampede.emulator import stack
from stampede.runs.folder import RunFolder
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws


@pytest.fixture(scope="session")
def idle_state(tmp_path_factory):
    """The state folder of a machine where no emulator runs and nothing is deployed."""
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
    """A stack as AWS may behave; drains and floods of this process go by its clock and into its
    queue."""
    stack = SimulatedAws("aws", dict(OUTPUTS))
    go_by_clock_of(stack, monkeypatch)
    return stack


def go_by_clock_of(stack, monkeypatch, *functions):
    """Let what drains, floods, and these `functions` go by the clock of a stack."""
    monkeypatch.setattr("time.time", lambda: EPOCH_MS / 1000 + stack.now_s)
    monkeypatch.setattr("loader.flood.send", stack.take)
    for function in (drain, wait_for_round, *functions):
        monkeypatch.setattr(function, "__kwdefaults__", function.__kwdefaults__ | stack.clocked)
