"""What to type next, after an interruption or in a folder of one's own."""

from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from stampede.cli import command_line, start
from stampede.cli.command_line import main
from stampede.cli.verbs import sweep
from stampede.emulator import ministack
from stampede.errors import RunError
from stampede.planning.plan import make_plan, resume_command
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A local run in a folder that isn't the default, without any message; its stack is gone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ministack, "running", lambda _: None)
    made = RunFolder.create(tmp_path / "my runs", "r")
    made.write_json("run.json", {"run_id": "r", "target": "local", "experiment": "download"})
    return made


def test_a_run_that_sent_nothing_is_named_with_what_resumes_it(folder, capsys):
    assert main(["drain", "--results-dir", "my runs"]) == 2
    output = capsys.readouterr().err
    assert "run r in my runs sent no messages" in output
    assert "`stampede sweep --resume r --results-dir 'my runs'`" in output


def test_a_query_over_an_interrupted_local_run_says_that_its_lines_are_gone(folder, capsys):
    assert main(["query", "errors", "--run", "r", "--results-dir", "my runs"]) == 2
    assert (
        "`stampede drain --run r --results-dir 'my runs'` fetches them while its stack is there"
        in capsys.readouterr().err
    )


def test_drain_names_the_cells_whose_lines_are_gone(folder, capsys, monkeypatch):
    def no_stack(_):
        raise targets.NoStackError("no applied stack found")

    monkeypatch.setattr(targets, "resolve", no_stack)
    folder.append("sent.jsonl", [{"cell": cell, "seq": 0, "sent_at_ms": 1} for cell in "ab"])
    folder.append("records.jsonl", [{"cell": "a", "seq": 0, "status": "ok"}])
    folder.write_json("accounting.json", [{"cell": "a"}])
    assert main(["drain", "--run", "r", "--results-dir", "my runs"]) == 1
    assert "never drained: b; their log lines are gone" in " ".join(capsys.readouterr().err.split())


def test_an_emulator_that_hangs_isn_t_taken_for_a_running_one(monkeypatch, capsys):
    hung = SimpleNamespace(pid=7, endpoint_url="http://e", log_file="e.log", answers=lambda: False)
    monkeypatch.setattr(ministack, "running", lambda _: hung)
    assert main(["emulator", "start"]) == 2
    assert "process 7 doesn't answer" in capsys.readouterr().err


def test_ctrl_c_outside_of_a_verb_has_no_traceback(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(start.standard_streams, "prepare", lambda: None)
    monkeypatch.setattr(start.signals, "listen", lambda: None)
    monkeypatch.setattr(command_line, "main", interrupted)
    assert (start.main(), capsys.readouterr().err) == (130, "stampede: interrupted\n")


@pytest.mark.parametrize("end", [KeyboardInterrupt(), OSError(28, "No space left on device"), RunError("no report")])
@pytest.mark.parametrize("done", [1, 2])
def test_a_sweep_that_ends_early_names_what_goes_on_with_it(folder, done, end):
    folder.write_json("run.json", {"finished": {str(number): {} for number in range(done)}})
    plan = make_plan(
        EXPERIMENTS["download"], "local", ["memory_size=1024", "concurrency_value=1,2"], messages_per_concurrency=10
    )
    end.__notes__ = []
    with pytest.raises(type(end)), sweep._saying_how_to_go_on(plan, folder):
        raise end
    report = f"every cell is measured; `stampede report '{folder.path}'` builds the report"
    # The sweep itself has said how to resume it where a cell was cut off, but not before its stack is open.
    resume = [f"`{resume_command(plan, folder.as_argument)}` resumes the run"] if isinstance(end, OSError) else []
    assert end.__notes__ == ([report] if done == 2 else resume)
