"""Everything again from the stored records, offline: whole, the same, and safe."""

import contextlib
import json
import shutil

import pytest

from experiments import EXPERIMENTS
from stampede import insights
from stampede.errors import UsageError
from stampede.report import page
from stampede.report.rebuild import build
from tests.contract import synthetic
from tests.contract.pages import page_of, text_of
from tests.unit.report import handmade_run

ONE_CELL = ("memory_size=1024", "concurrency_value=2")


@pytest.fixture
def folder(tmp_path):
    return synthetic.write(tmp_path / "run", EXPERIMENTS["download"], ONE_CELL)


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_folder_gives_the_same_bytes_and_no_picture_of_before_stays(folder):
    build(folder)
    before = files(folder)
    assert {"report.html", "cells.csv", "statistics.json", "table.md"} < {path.name for path in before}
    (folder / "figures/of_before.svg").write_text("stale")
    (folder / "figures/notes.txt").write_text("mine")
    build(folder)
    assert files(folder) == before | {folder / "figures/notes.txt": b"mine"}


@pytest.mark.parametrize("name", ["report.html", "cells.csv", "figures"])
@pytest.mark.usefixtures("unpainted")
def test_nothing_is_written_through_a_link(folder, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "holiday.png").write_text("precious")
    (folder / name).symlink_to(outside if name == "figures" else outside / "holiday.png")
    with pytest.raises(UsageError, match="is a link") if name == "figures" else contextlib.nullcontext():
        build(folder)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("holiday.png", "precious")]


def lines_of(folder, name, change):
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(change(path.read_text().splitlines())))


@pytest.mark.parametrize(
    ("name", "change", "problems", "warnings"),
    [
        (
            "log_events",
            lambda lines: [*lines, lines[0][:-9]],
            "",
            "log_events.jsonl, line 101: the last line is incomplete",
        ),
        ("log_events", lambda lines: [lines[0][:9], *lines[1:]], "", "log_events.jsonl, line 1: not JSON"),
        ("log_events", lambda lines: lines[:-4], "has 23 downloads and records.jsonl 24", ""),
        ("records", lambda lines: [], "has 24 downloads and records.jsonl 0", "This run has no records."),
    ],
)
@pytest.mark.usefixtures("unpainted")
def test_what_is_damaged_is_said_at_the_top_of_the_page(folder, name, change, problems, warnings):
    lines_of(folder, name, change)
    rebuilt = build(folder)
    text = text_of(page_of(folder))
    for texts, words in ((rebuilt.problems, problems), (rebuilt.warnings, warnings)):
        assert words in " ".join(texts) and bool(texts) == bool(words)
        assert words in text


@pytest.mark.usefixtures("unpainted")
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
    assert cells.read_text().splitlines()[1].split(",")[:3] == queried.splitlines()[1].split(",")[:3]


@pytest.mark.usefixtures("unpainted")
def test_a_query_that_fails_puts_the_figures_in_doubt(folder, monkeypatch):
    def refuse(*_):
        raise insights.QueryError("no such command", 2, 5)

    monkeypatch.setattr("stampede.report.saved_query.log_columns.answer", refuse)
    [problem] = build(folder).problems
    assert "download/methods.cwli failed: line 2, column 5" in problem


@pytest.mark.usefixtures("unpainted")
def test_records_alone_are_enough(folder, tmp_path):
    rescued = tmp_path / "rescued"
    rescued.mkdir()
    shutil.copy(folder / "records.jsonl", rescued)
    rebuilt = build(rescued)
    assert rebuilt.headline.startswith("Target unknown") and rebuilt.table.rows[0]["count"] == 24
    names = ("run.json", "accounting.json", "sent.jsonl", "log_events.jsonl")
    assert sorted(warning.split()[0] for warning in rebuilt.warnings) == sorted(names)


HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=y>&"


@pytest.mark.usefixtures("unpainted")
def test_no_text_of_a_run_becomes_markup(tmp_path):
    failed = handmade_run.error(0, 9, error_type=HOSTILE, error_message=HOSTILE, sdk=HOSTILE, cell=HOSTILE)
    account = [{"cell": HOSTILE, "sent": 5}]
    cost = {"total_usd": 1, "items": [{"service": HOSTILE, "what": HOSTILE, "usd": None}]}
    keys = {"run_id": HOSTILE, "versions": {"python": HOSTILE}, "account": {"region": HOSTILE}, "cost": cost}
    made = handmade_run.write(tmp_path / "run", [failed], {"memory_size": [1024], "concurrency_value": [1]}, **keys)
    (made / "accounting.json").write_text(json.dumps(account))
    build(made)
    built = page_of(made)  # whole: what a text closed or opened would end its parsing
    assert not list(built.iter("img")) and "<script>alert" not in (made / "report.html").read_text()
    assert text_of(built).count(HOSTILE) >= 8


def test_large_records_stay_beside_the_page(folder, monkeypatch):
    monkeypatch.setattr(page, "LARGEST_EMBEDDED_BYTES", 1000)
    assert page._records(folder, "one").address == "records.jsonl"
