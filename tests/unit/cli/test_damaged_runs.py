"""What the verbs say of a run in whose folder something was changed or removed: one line, with a way out that works."""

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.planning.plan import make_plan
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.contract import golden

NAMES = ", ".join(EXPERIMENTS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A finished local sweep of one message, whose folder was renamed and whose stack is gone."""

    def no_stack(_):
        raise targets.NoStackError("no applied stack found; deploy one")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(targets, "resolve", no_stack)
    folder = RunFolder.create(tmp_path / "results", "lost")
    plan = make_plan(EXPERIMENTS["download"], "local", ["memory_size=1024"], messages_per_concurrency=1)
    description = RunDescription(
        folder, "download", {"target": "local"}, plan=plan.as_dict(), cells=[cell.as_json() for cell in plan.cells]
    )
    description.write()
    change(folder, run_id="r", stampede_version="9.9")
    folder.append("sent.jsonl", [{"cell": "a", "seq": 0, "sent_at_ms": 1}])
    folder.append("records.jsonl", [{"cell": "a", "seq": 0, "status": "ok"}])
    folder.write_json("accounting.json", [{"cell": "a", "sent": 1, "succeeded": 1}])
    return folder


def change(folder, **values):
    folder.write_json("run.json", folder.read_json("run.json") | values)


@pytest.mark.parametrize("verb", [["drain", "--run"], ["sweep", "--resume"], ["report"]])
def test_an_experiment_that_this_version_lacks_is_refused_in_the_same_words(folder, capsys, verb):
    change(folder, experiment="x")
    assert main([*verb, "lost"]) == 2
    assert (
        f"results/lost/run.json: experiment 'x', but this Stampede has {NAMES}; use the version that wrote it (9.9)"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("verb", [["drain", "--run"], ["sweep", "--resume"]])
@pytest.mark.parametrize(
    ("name", "key"), [("sent.jsonl", "cell"), ("records.jsonl", "cell"), ("dead_letters.jsonl", "message_id")]
)
def test_a_line_without_its_message_is_one_line_before_anything_starts(folder, capsys, name, key, verb):
    folder.append(name, [{}])
    number = len((folder.path / name).read_text().splitlines())
    assert main([*verb, "lost"]) == 2
    assert capsys.readouterr().err == (
        f"stampede: results/lost/{name} is damaged (line {number}: {key} is missing); restore it, or start a new run\n"
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"plan": {"repeats": "x"}}, "repeats: expected `int`, got `str`"),
        ({"cells": []}, "it has 0 cells"),
        ({"cells": [{"cell": "a"}]}, "Object missing required field `repeat`"),
        ({"plan": {"swept": 5}}, "swept: expected `array`, got `int`"),
        ({"concurrency_value": 1.5}, "concurrency_value: must be a whole number from 1 to 100000, got 1.5"),
        ({"concurrency_value": 0}, "concurrency_value: must be a whole number from 1 to 100000, got 0"),
        ({"memory_size": "x"}, "memory_size: must be a whole number of MB from 128 to 10240, got 'x'"),
        ({"architecture": ["arm64"]}, "architecture: must be x86_64 or arm64, got ['arm64']"),
    ],
)
def test_a_plan_that_cannot_be_right_is_not_resumed(folder, capsys, values, words):
    described = folder.read_json("run.json")
    if not values.keys() & described.keys():
        described["cells"][0]["values"] |= values
        values = {"cells": described["cells"]}
    if "plan" in values:
        values = {"plan": described["plan"] | values["plan"]}
    change(folder, **values)
    assert main(["sweep", "--resume", "lost", "--dry-run"]) == 2
    assert capsys.readouterr().err == (
        f"stampede: --resume: results/lost/run.json: the plan is damaged ({words}); restore it, or start a new run\n"
    )


@pytest.mark.parametrize("verb", [["query", "summary", "--run"], ["sweep", "--resume"], ["drain", "--run"]])
def test_a_run_json_with_nothing_in_it_is_damaged(folder, capsys, verb):
    folder.write_json("run.json", {})
    assert main([*verb, "lost"]) == 2
    words = "lost/run.json is damaged (it is empty); restore it, or start a new run\n"
    assert capsys.readouterr().err.endswith(words)


def test_a_drain_refuses_a_cell_that_cannot_be_read(folder, capsys):
    [cell, *others] = folder.read_json("run.json")["cells"]
    del cell["block"]
    change(folder, cells=[cell, *others])
    assert main(["drain", "--run", "lost"]) == 2
    assert "run.json is damaged (" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"seed": 1}, "the plan is damaged (Object missing required field `target`); restore it, or start a new run"),
        ({}, "lost is a flood by hand, not a sweep; finish it with `stampede drain --run lost`"),
    ],
)
def test_a_damaged_plan_is_told_from_a_flood_by_hand(folder, capsys, plan, words):
    change(folder, plan=plan)
    assert main(["sweep", "--resume", "lost"]) == 2
    assert words in capsys.readouterr().err


def test_log_events_that_were_removed_are_to_be_restored_or_queried_as_columns(folder, capsys):
    assert main(["query", "summary", "--run", "lost"]) == 2
    found = "stampede: --run: run lost no longer has its log_events.jsonl; restore it from a copy"
    assert capsys.readouterr().err == f"{found}\n"
    (folder.path / "log_events.parquet").touch()
    assert main(["query", "summary", "--run", "lost"]) == 2
    columns = "query its columns with --logs results/lost/log_events.parquet"
    assert capsys.readouterr().err == f"{found}, or {columns}\n"


def as_of_today(folder):
    """Give a finished run of the first edition the run.json that it has today."""
    stored = folder.read_json("run.json")
    settings = [f"{name}={','.join(map(str, values))}" for name, values in stored["plan"]["swept"].items()]
    settings += [f"{name}={value}" for name, value in stored["plan"]["fixed"].items()]
    plan = make_plan(EXPERIMENTS["download"], "local", settings, messages_per_concurrency=12)
    cells = [cell.as_json() for cell in plan.cells]
    finished = {cell.name: {} for cell in plan.cells}
    change(folder, format=2, plan=plan.as_dict(), cells=cells, finished=finished)


@pytest.mark.parametrize("file", ["records.jsonl", "log_events.jsonl"])
def test_a_sweep_whose_figures_are_in_doubt_exits_as_its_report_does(tmp_path, file):
    folder = golden.unpack("download_killed", tmp_path)
    as_of_today(RunFolder(folder))
    verbs = (["report", str(folder)], ["sweep", "--resume", folder.name, "--results-dir", str(tmp_path)])
    assert [main(verb) for verb in verbs] == [0, 0]
    lines = (folder / file).read_text().splitlines(keepends=True)
    (folder / file).write_text("".join(lines[: len(lines) // 2]))
    assert [main(verb) for verb in verbs] == [1, 1]
