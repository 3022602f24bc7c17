"""`stampede report` at the prompt: the table on stdout, and on stderr what stands against relying on it."""

import json
import sys
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.report.charts import Chart
from tests.contract import synthetic

ONE_CELL = ("memory_size=1024", "concurrency_value=1,2")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of two cells in results/r1 of the folder from which the command is given, of which one wasn't finished."""
    monkeypatch.setattr(Chart, "svg", '<svg width="1pt" height="1pt" viewBox="0 0 1 1"></svg>')
    monkeypatch.setattr(Chart, "png", b"")
    monkeypatch.chdir(tmp_path)
    return synthetic.write(tmp_path / "results" / "r1", EXPERIMENTS["download"], ONE_CELL, unmeasured=1)


def test_a_run_prints_its_table_and_its_answer_and_what_is_missing(run, capsys):
    assert main(["report", "r1"]) == 0
    printed = capsys.readouterr()
    assert "this machine" in printed.out and "in doubt" not in printed.err
    words = " ".join(printed.err.split())
    assert "Local test, not AWS: a download takes" in printed.out + words
    assert "report: results/r1/report.html" in words
    assert "incomplete data: 1 of 2 planned cells" in words and "sweep download --resume r1" in words
    assert main(["report", str(run), "--format", "json"]) == 0
    assert [row["count"] for row in json.loads(capsys.readouterr().out) if row["source"] == "this machine"] == [0, 24]


def test_figures_in_doubt_end_with_1(run, capsys):
    (run / "records.jsonl").write_text((run / "records.jsonl").read_text().replace("}", "", 2))
    assert main(["report", "r1"]) == 1
    err = capsys.readouterr().err
    assert "the figures are in doubt: 1,024 MB, N = 2: " in err and "incomplete data: records.jsonl, line 1" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["r1", "--output", "x.html"], "--output: is for the comparison of two runs"),
        (["r1", "r1", "--format", "csv"], "--format csv: is for one run"),
        (["r1", "r1", "--output", "c.pdf"], "ends in .html"),
        (["r1", "r1", "--output", "nowhere/c.html"], "in a folder that exists"),
        (["results/r1/run.json"], "name the folder of its run: results/r1"),
        (["results"], "results is the folder of the runs"),
        (["nope"], "there is no run 'nope' in results"),
    ],
)
def test_what_can_not_be_done_is_refused_in_a_line_and_nothing_is_written(run, arguments, words, tmp_path, capsys):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit, match="2"):  # argparse exits, and main gives its status
        sys.exit(main(["report", *arguments]))
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "make", "kind"), [("figures", Path.touch, "file"), ("report.html", Path.mkdir, "folder")]
)
def test_what_stands_where_the_report_is_written_is_named(run, capsys, name, make, kind):
    make(run / name)
    assert main(["report", "r1"]) == 1
    err = capsys.readouterr().err
    assert f"{name} can't be written: " in err and err.endswith(f"; remove or rename that {kind}\n")


def test_a_comparison_prints_its_answer_and_what_is_missing(run, capsys):
    other = synthetic.write(run.parent / "r2", EXPERIMENTS["download"], ONE_CELL)
    (other / "accounting.json").unlink()
    assert main(["report", "r1", "r2", "--output", "c.html"]) == 0
    printed = capsys.readouterr()
    assert "in the only common cell: 1.00 times as fast" in printed.out
    assert "incomplete data: B: accounting.json is missing." in printed.err and Path("c.html").exists()
