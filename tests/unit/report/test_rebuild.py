"""Everything is rebuilt from the stored records, offline: complete, identical and safe."""

import shutil

import pytest

from experiments import EXPERIMENTS
from stampede import insights
from stampede.errors import UsageError
from stampede.report.rebuild import build, write_charts
from stampede.runs.folder import RunFolder
from tests.contract import synthetic
from tests.contract.pages import page_of, text_of
from tests.unit.report import handmade_run

unpainted = pytest.mark.usefixtures("unpainted")


@pytest.fixture
def folder(tmp_path):
    return synthetic.write(
        tmp_path / "run", EXPERIMENTS["download"], ("memory_size=1024", "concurrency_value=2")
    )


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_folder_gives_the_same_bytes_and_old_charts_are_removed(folder):
    build(folder)
    before = files(folder)
    assert {"report.html", "cells.csv", "statistics.json", "table.md"} < {
        path.name for path in before
    }
    for name in ("of_before.svg", "notes.txt"):
        (folder / "figures" / name).write_text("mine")
    build(folder)
    assert files(folder) == before | {folder / "figures/notes.txt": b"mine"}


@unpainted
def test_no_picture_is_written_or_deleted_through_a_link(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "holiday.png").write_text("precious")
    (folder / "figures").symlink_to(outside)
    with pytest.raises(UsageError, match="is a link"):
        build(folder)
    write_charts(RunFolder(folder), [])
    assert files(outside) == {outside / "holiday.png": b"precious"}


@unpainted
@pytest.mark.parametrize(
    ("name", "change", "problem", "warning"),
    [
        ("log_events", lambda text: text[:-9], "", "line 50: the last line is incomplete"),
        ("log_events", lambda text: text[9:], "", "line 1: not JSON"),
        ("records", lambda text: "", "has 24 downloads and records.jsonl 0", "no records"),
    ],
)
def test_damage_is_reported_at_the_top_of_the_page(folder, name, change, problem, warning):
    path = folder / f"{name}.jsonl"
    path.write_text(change(path.read_text()))
    rebuilt = build(folder)
    assert bool(rebuilt.problems) is bool(problem)
    for text in (" ".join(rebuilt.problems + rebuilt.warnings), text_of(page_of(folder))):
        assert problem in text and warning in text


@unpainted
def test_without_log_events_the_cells_of_the_run_stay_else_its_records_are_counted(folder):
    build(folder)
    cells = folder / "cells.csv"
    queried = cells.read_text()
    (folder / "log_events.jsonl").unlink()
    cells.write_text(queried.replace(",24,", ",25,"))
    assert "log_events.jsonl is missing" in build(folder).warnings[0]
    assert cells.read_text() == queried.replace(",24,", ",25,")
    cells.unlink()
    build(folder)
    assert cells.read_text()[:20] == queried[:20]


@unpainted
def test_a_query_that_fails_puts_the_figures_in_doubt(folder, monkeypatch):
    def refuse(*_):
        raise insights.QueryError("no such command", 2, 5)

    monkeypatch.setattr("stampede.report.saved_query.log_columns.answer", refuse)
    [problem] = build(folder).problems
    assert "download/methods.cwli failed: line 2, column 5" in problem


@unpainted
def test_records_alone_are_enough(folder, tmp_path):
    rescued = tmp_path / "rescued"
    rescued.mkdir()
    shutil.copy(folder / "records.jsonl", rescued)
    rebuilt = build(rescued)
    assert rebuilt.headline.startswith("Target unknown") and rebuilt.table.rows[0]["count"] == 24
    names = ("run.json", "accounting.json", "sent.jsonl", "log_events.jsonl")
    assert sorted(warning.split()[0] for warning in rebuilt.warnings) == sorted(names)


HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=y>&"


@unpainted
def test_no_text_of_a_run_becomes_markup(tmp_path):
    failed = handmade_run.error(
        0, 9, **dict.fromkeys(("error_type", "error_message", "sdk", "cell"), HOSTILE)
    )
    cost = {"total_usd": 1, "items": [{"service": HOSTILE, "what": HOSTILE, "usd": None}]}
    keys = {
        "run_id": HOSTILE,
        "versions": {"python": HOSTILE},
        "account": {"region": HOSTILE},
        "cost": cost,
    }
    made = handmade_run.write(tmp_path / "run", [failed], [1], **keys)
    build(made)
    built = page_of(made)  # a tag opened or closed by a text would break parsing
    assert not list(built.iter("img")) and text_of(built).count(HOSTILE) >= 8
