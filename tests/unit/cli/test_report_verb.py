"""`stampede report`, and the verbs' errors about damaged run folders: one line with a way out that
works."""

import json
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.planning.plan import make_plan
from stampede.report.charts import Chart
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.contract import synthetic

ONE_CELL = ("memory_size=1024", "concurrency_value=1,2")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run in results/r1 with one finished and one unfinished cell."""
    monkeypatch.setattr(Chart, "svg", '<svg width="1pt" height="1pt" viewBox="0 0 1 1"></svg>')
    monkeypatch.setattr(Chart, "png", b"")
    return synthetic.write(
        tmp_path / "results" / "r1", EXPERIMENTS["download"], ONE_CELL, unmeasured=1
    )


def test_a_report_prints_the_table_the_answer_and_the_missing_parts(run, stampede):
    done = stampede("report", "r1")
    assert (done.status, "this machine" in done.out, "in doubt" in done.err) == (0, True, False)
    assert "Local test, not AWS: a download of 64 MiB takes" in done.out
    assert "results/r1/report.html" in done.err
    assert "1 of 2 planned cells" in done.err and "sweep download --resume r1" in done.err
    rows = json.loads(stampede("report", str(run), "--format", "json").out)
    assert [row["count"] for row in rows if row["source"] == "this machine"] == [0, 24]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("r1 --output x.html", "--output"),
        ("r1 r1 --format csv", "--format csv"),
        ("r1 r1 r1", "twice"),
        ("r1 --fail-on slower", "--fail-on"),
        ("results", "results"),
    ],
)
def test_an_impossible_report_is_refused_in_one_line_and_nothing_is_written(
    run, arguments, words, tmp_path, stampede
):
    before = sorted(tmp_path.rglob("*"))
    done = stampede("report", *arguments.split())
    assert (done.status, words in done.err, done.err.count("\n")) == (2, True, 1)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("last_s", "status"), [(1.02, 0), (1.5, 3)])
def test_the_status_tells_a_job_that_the_last_run_is_slower(
    run, stampede, tmp_path, last_s, status
):
    for day, takes_s in enumerate((1.0, 1.1, last_s)):
        folder = tmp_path / "results" / f"day{day}"
        synthetic.write(
            folder, EXPERIMENTS["download"], ONE_CELL, takes=lambda demand, s=takes_s: s, day=day
        )
    runs = [f"day{day}" for day in range(3)]
    done = stampede("report", *runs, "--fail-on", "slower")
    assert (done.status, "slower" in done.out) == (status, bool(status)), done.err
    assert Path("history.html").exists()
    assert stampede("report", *runs).status == 0
    done = stampede("report", *runs[:2], "--output", "c.html")
    assert (done.status, "times as fast" in done.out, Path("c.html").exists()) == (0, True, True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A finished local sweep of one message, in a renamed folder and without its stack."""

    def no_stack(_):
        raise targets.NoStackError("no applied stack found", "deploy one")

    monkeypatch.setattr(targets, "resolve", no_stack)
    folder = RunFolder.create(tmp_path / "results", "lost")
    plan = make_plan(
        EXPERIMENTS["download"], "local", ["memory_size=1024"], messages_per_concurrency=1
    )
    cells = [cell.as_json() for cell in plan.cells]
    RunDescription(
        folder, "download", {"target": "local"}, plan=plan.as_dict(), cells=cells
    ).write()
    change(folder, run_id="r", stampede_version="9.9")
    folder.append("sent.jsonl", [{"cell": "a", "seq": 0, "sent_at_ms": 1}])
    folder.append("records.jsonl", [{"cell": "a", "seq": 0, "status": "ok"}])
    folder.write_json("accounting.json", [{"cell": "a", "sent": 1, "succeeded": 1}])
    return folder


def change(folder, **values):
    folder.write_json("run.json", folder.read_json("run.json") | values)


@pytest.fixture
def refused(folder, stampede):
    """A function that returns the line with which a verb refuses."""

    def run(*command):
        done = stampede(*command)
        assert (done.status, done.err.count("\n")) == (2, 1), done.err
        return done.err

    return run


@pytest.mark.parametrize("verb", ["drain --run", "sweep --resume", "report"])
def test_an_unknown_experiment_is_refused_with_the_version_to_use(folder, refused, verb):
    change(folder, experiment="x")
    line = refused(*verb.split(), "lost")
    assert "lost/run.json: experiment 'x'" in line and "(9.9)" in line


@pytest.mark.parametrize("verb", ["drain --run", "sweep --resume"])
def test_a_stored_line_without_its_message_is_refused_before_anything_starts(folder, refused, verb):
    folder.append("sent.jsonl", [{}])
    assert "lost/sent.jsonl is damaged (line 2: must have" in refused(*verb.split(), "lost")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"plan": {"repeats": "x"}}, "repeats"),
        ({"plan": {}}, "`stampede drain --run lost`"),
        ({"cells": []}, "0 cells"),
        ({"format": 1}, "`stampede report results/lost`"),
    ],
)
def test_an_invalid_plan_is_not_resumed(folder, refused, values, words):
    if values.get("plan"):
        values = {"plan": folder.read_json("run.json")["plan"] | values["plan"]}
    change(folder, **values)
    assert words in refused("sweep", "--resume", "lost", "--dry-run")


def test_a_sweep_resumes_only_with_its_stored_plan_and_all_its_events(refused):
    options = ("--seed", "1", "--set", "a=1", "--warm-up-per-concurrency", "0")
    line = refused("sweep", "--resume", "lost", *options)
    assert "--set and --warm-up-per-concurrency and --seed" in line
    assert "has no log_events.jsonl" in refused("query", "summary", "--run", "lost")


def test_a_sweep_with_doubtful_figures_exits_as_its_report(tmp_path, stampede):
    folder = RunFolder(
        synthetic.write(tmp_path / "results" / "r", EXPERIMENTS["download"], ONE_CELL)
    )
    sent = folder.path / "sent.jsonl"
    sent.write_text(sent.read_text().replace("}\n", ', "sent_at_ms": 1}\n'))
    verbs = (["report", "r"], ["sweep", "--resume", "r"])
    assert [stampede(*verb).status for verb in verbs] == [0, 0]
    events = list(folder.rows("log_events.jsonl"))
    folder.rewrite("log_events.jsonl", events[: len(events) // 2])
    assert [stampede(*verb).status for verb in verbs] == [1, 1]
