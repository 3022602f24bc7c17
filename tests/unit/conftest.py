"""What the tests of this folder share: they don't see the emulator that other tests of their process have started."""

import pytest

from stampede.emulator import stack


@pytest.fixture(scope="session")
def idle_state(tmp_path_factory):
    """The state folder of a machine where no emulator runs and nothing is deployed."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def _no_emulator(monkeypatch, idle_state):
    monkeypatch.setattr(stack, "STATE_DIR", idle_state)
    monkeypatch.setattr(stack, "FOLDER", idle_state / "local")
    monkeypatch.setenv("STAMPEDE_STATE_DIR", str(idle_state))
