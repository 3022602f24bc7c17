"""The commands to type next, after an interruption or in another folder."""

from types import SimpleNamespace

import pytest

from stampede.cli.command_line import main
from stampede.cli.verbs import sweep
from stampede.emulator import ministack
from stampede.errors import RunError
from stampede.runs.folder import RunFolder
from tests.unit.plans import plan


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A local run without messages in a folder that isn't the default; its stack is gone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ministack, "running", lambda _: None)
    made = RunFolder.create(tmp_path / "my runs", "r")
    made.write_json("run.json", {"run_id": "r", "target": "local", "experiment": "download"})
    return made


def test_a_hanging_emulator_does_not_count_as_running(monkeypatch, capsys):
    hung = SimpleNamespace(pid=7, endpoint_url="http://e", log_file="e.log", answers=lambda: False)
    monkeypatch.setattr(ministack, "running", lambda _: hung)
    assert main(["emulator", "start"]) == 2
    assert "process 7" in capsys.readouterr().err


@pytest.mark.parametrize(
    "end", [KeyboardInterrupt(), OSError(28, "No space left on device"), RunError("no report")]
)
@pytest.mark.parametrize("done", [1, 2])
def test_a_sweep_that_ends_early_names_the_commands_that_continue_it(folder, done, end):
    folder.write_json("run.json", {"finished": {str(number): {} for number in range(done)}})
    two, end.__notes__ = plan("memory_size=1024 concurrency_value=1,2", target="local"), []
    with pytest.raises(type(end)), sweep._saying_how_to_go_on(two, folder):
        raise end
    # The sweep itself has said how to resume it where a cell was cut off, but not before its stack
    # is open.
    command = "report" if done == 2 else "--resume" if isinstance(end, OSError) else ""
    assert [command in note for note in end.__notes__] == [True] * bool(command)
