"""`stampede report` at the prompt: the table on stdout, and on stderr what stands against relying on it."""

from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from tests.contract import synthetic
from tests.unit.report import synthetic_run


@pytest.fixture
def run(tmp_path):
    """A run of one cell in tmp_path/results/r1."""
    settings = synthetic_run.Synthetic(memories=(1024,), concurrencies=(1,))
    return synthetic_run.write(tmp_path / "results" / "r1", settings)


def test_a_runs_id_stands_for_its_folder(run, capsys):
    assert main(["report", "r1", "--results-dir", str(run.parent)]) == 0
    printed = capsys.readouterr()
    assert "this machine" in printed.out
    assert "in doubt" not in printed.err and "incomplete data" not in printed.err
    assert f"report: {run}/report.html" in printed.err.replace("\n", "")


def test_what_the_page_says_of_doubtful_and_missing_data_stands_on_stderr_too(run, capsys):
    lines = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(lines[2:]) + "broken\n")
    assert main(["report", str(run)]) == 1
    err = capsys.readouterr().err
    assert "the figures are in doubt: 1,024 MB, N = 1: " in err
    assert "incomplete data: records.jsonl, line " in err


def test_a_run_that_has_only_sent_messages_has_a_report(tmp_path, capsys):
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1" / "sent.jsonl").write_text('{"cell": "a", "seq": 0}\n')
    assert main(["report", str(tmp_path / "r1")]) == 1
    assert "incomplete data: This run has no records" in capsys.readouterr().err


def test_an_output_for_one_run_is_refused(run, capsys):
    assert main(["report", str(run), "--output", "x.html"]) == 2
    assert capsys.readouterr().err.startswith("stampede: --output: is for the comparison of two runs")


def test_a_file_of_a_run_is_refused_with_its_folder(run, capsys):
    assert main(["report", str(run / "run.json")]) == 2
    assert capsys.readouterr().err.endswith(f"run.json is a file; name the folder of its run: {run}\n")


@pytest.mark.parametrize(
    ("name", "make", "kind"), [("figures", Path.touch, "file"), ("report.html", Path.mkdir, "folder")]
)
def test_what_stands_where_the_report_is_written_is_named(run, capsys, name, make, kind):
    make(run / name)
    assert main(["report", str(run)]) == 1
    err = capsys.readouterr().err
    assert f"{run / name} can't be written: " in err and err.endswith(f"; remove or rename that {kind}\n")


def test_a_comparison_has_no_other_format_than_its_page(run, capsys):
    assert main(["report", str(run), str(run), "--format", "csv"]) == 2
    assert capsys.readouterr().err.startswith("stampede: --format csv: is for one run; ")


def test_a_comparison_prints_its_answer_and_what_is_missing(run, tmp_path, capsys):
    settings = synthetic_run.Synthetic(memories=(1024,), concurrencies=(1,), seed=2)
    other = synthetic_run.write(run.parent / "r2", settings)
    (other / "accounting.json").unlink()
    assert main(["report", str(run), str(other), "--output", str(tmp_path / "c.html")]) == 0
    printed = capsys.readouterr()
    missing, *_ = printed.err.splitlines()
    assert printed.out.startswith("Too few measurements to tell whether B is faster or slower (by 10 % or more) than A")
    assert missing == "incomplete data: B: accounting.json is missing."


def test_runs_of_different_experiments_are_refused_in_one_line(run, tmp_path, capsys):
    other_run = synthetic.write(tmp_path / "other", EXPERIMENTS["copy"], ["parallel_limit=1"])
    page = tmp_path / "x.html"
    assert main(["report", str(run), str(other_run), "--output", str(page)]) == 2
    printed = capsys.readouterr()
    assert printed.err == ("stampede: runs of download and copy can’t be compared; name runs of one experiment\n")
    assert not page.exists()


@pytest.mark.parametrize(
    ("output", "rule"), [("c.pdf", "ends in .html"), ("nowhere/c.html", "in a folder that exists"), ("c", ".html")]
)
def test_a_comparison_is_an_html_file_in_a_folder_that_exists(output, rule, run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(run), str(run), "--output", output])
    err = capsys.readouterr().err
    assert "--output" in err and rule in err and err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("results", "results is the folder of the runs; name one: results/RUN_ID, see `ls results`"),
        ("nope", "results/RUN_ID: there is no run 'nope' in results; `ls results` lists the runs"),
    ],
)
def test_what_is_no_run_is_refused_with_the_folder_of_the_runs(argument, words, run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", argument]) == 2
    assert capsys.readouterr().err == f"stampede: {words}\n"


def test_the_command_that_finishes_a_run_names_its_results_folder(tmp_path, capsys):
    folder = synthetic_run.write(
        tmp_path / "r1", synthetic_run.Synthetic(memories=(1024,), concurrencies=(1, 2), unfinished=1)
    )
    assert main(["report", str(folder)]) == 0
    assert f"--resume {folder.name} --results-dir {folder.parent}" in " ".join(capsys.readouterr().err.split())
