"""`report.build`: everything again from the stored records, offline."""

import contextlib
import csv
import json

import pytest

from experiments.download.declaration import DOWNLOAD
from stampede import report
from stampede.errors import UsageError
from stampede.report.measured import metrics, spreads
from stampede.report.run import load
from stampede.report.summary import summarised
from stampede.runs import cells
from tests.unit.report.page_parser import Page

PICTURES = ("aggregate_throughput", "cold_starts", "overlap_timeline", "seconds", "throughput_per_function")
# Two cells are enough where it isn't the figures that matter.
SMALL = {"memories": (1024,), "concurrencies": (1, 5)}


def test_build_writes_every_file_and_returns_the_page(make_run, slides):
    folder = make_run(concurrencies=(1, 20))
    assert report.build(folder) == folder / "report.html"
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"{name}.{kind}" for name in PICTURES for kind in ("svg", "png")
    }
    assert (folder / "figures" / "seconds.png").read_bytes().startswith(b"\x89PNG")
    numbers = json.loads((folder / "statistics.json").read_text())
    assert [cell["count"] for cell in numbers["cells"]] == [10, 200, 10, 200]
    lines = (folder / "table.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("| 1,024 | 20 | this machine | 200 |")]) == 1


@pytest.mark.parametrize("name", ["report.html", "figures", "cells.csv"])
def test_a_run_of_somebody_else_changes_nothing_outside_of_its_folder(make_run, tmp_path, name):
    folder, outside = make_run(**SMALL), tmp_path / "outside"
    outside.mkdir()
    (outside / "holiday.png").write_text("precious")
    (folder / name).symlink_to(outside if name == "figures" else outside / "holiday.png")
    with pytest.raises(UsageError, match="is a link") if name == "figures" else contextlib.nullcontext():
        report.build(folder)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("holiday.png", "precious")]


def test_the_table_on_disk_and_in_the_page_say_the_same(built_run):
    folder = built_run()
    with (folder / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["count"]) for row in rows] == [10, 50, 100, 10, 50, 100]
    assert "From the saved query queries/download/methods.cwli" in Page((folder / "report.html").read_text()).text


def test_building_again_gives_the_same_bytes(make_run, slides):
    folder = make_run(**SMALL)
    report.build(folder)
    first = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    report.build(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == first


def test_the_saved_query_and_the_records_agree(make_run):
    run = load(make_run(failing={3}, retried={2}, duplicated={4}, lost={9}))
    summary = summarised(run)
    assert summary.origin == "the saved query queries/download/methods.cwli, run on log_events.jsonl"
    assert (summary.problems, summary.warnings) == ([], [])
    assert [row["count"] for row in summary.rows] == [cell.count for _, cell in sorted(spreads(run).items())]


def test_log_events_of_another_run_are_not_counted(make_run):
    folder = make_run()
    before = summarised(load(folder)).rows
    other_run = make_run("other-run")
    with (folder / "log_events.jsonl").open("a") as file:
        file.write((other_run / "log_events.jsonl").read_text())
    assert summarised(load(folder)).rows == before


def test_a_torn_last_log_event_is_a_warning_and_the_rest_is_counted(make_run):
    folder = make_run()
    path = folder / "log_events.jsonl"
    path.write_text(path.read_text()[:-20])  # the torn line is a REPORT line: no record is lost
    report.build(folder)
    text = Page((folder / "report.html").read_text()).text
    assert "log_events.jsonl, line 1280: the last line is incomplete" in text
    assert "in doubt" not in text


def test_a_torn_log_event_in_the_middle_is_a_warning_too(make_run):
    folder = make_run()
    path = folder / "log_events.jsonl"
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:30]  # a REPORT line
    path.write_text("\n".join(lines) + "\n")
    summary = summarised(load(folder))
    assert summary.warnings == ["log_events.jsonl, line 4: not JSON; left out."]
    assert summary.problems == []


def test_without_log_events_the_stored_cells_are_used_and_the_page_says_so(make_run):
    folder = make_run(**SMALL)
    report.build(folder)
    before = (folder / "cells.csv").read_text()
    (folder / "log_events.jsonl").unlink()
    report.build(folder)
    text = Page((folder / "report.html").read_text()).text
    assert (folder / "cells.csv").read_text() == before
    assert "log_events.jsonl is missing" in text
    assert "From the cells.csv that the run wrote." in text


def test_without_log_events_and_cells_the_records_are_counted(make_run):
    folder = make_run(**SMALL)
    (folder / "log_events.jsonl").unlink()
    report.build(folder)
    text = Page((folder / "report.html").read_text()).text
    assert "From records.jsonl, counted without the saved query." in text
    counted = cells.from_counted(spreads(load(folder)), metrics(load(folder)))
    assert cells.read(folder / "cells.csv", DOWNLOAD) == [cells.checked(row, DOWNLOAD) for row in counted]


def test_a_query_that_gives_no_table_is_named_and_the_records_are_shown(make_run, monkeypatch):
    folder = make_run(**SMALL)
    from stampede import insights

    def refuse(text, lines):
        raise insights.QueryError("no such command `frobnicate`", 2, 5)

    monkeypatch.setattr("stampede.report.summary.log_columns.answer", refuse)
    report.build(folder)
    text = Page((folder / "report.html").read_text()).text
    assert "The saved query queries/download/methods.cwli failed: line 2, column 5" in text
    assert "From records.jsonl" in text


def test_a_run_without_records_is_reported_in_words(make_run):
    folder = make_run(lost=set(range(100)))
    (folder / "figures").mkdir()
    (folder / "figures" / "download_seconds.svg").write_text("of an earlier build")
    (folder / "figures" / "seconds.png").write_text("of an earlier build")
    report.build(folder)
    assert (folder / "cells.csv").read_text().splitlines() == [",".join(cells.header(DOWNLOAD))]
    assert list((folder / "figures").iterdir()) == []
    assert "This run has no download on record" in Page((folder / "report.html").read_text()).text


def test_only_records_are_enough_for_a_page(tmp_path, make_run, drawn):
    whole = make_run()
    folder = tmp_path / "rescued"
    folder.mkdir()
    (folder / "records.jsonl").write_bytes((whole / "records.jsonl").read_bytes())
    report.build(folder)
    page = Page((folder / "report.html").read_text())
    for name in ("run.json", "sent.jsonl", "accounting.json"):
        assert f"{name} is missing." in page.text
    assert len([row for row in page.rows if len(row) == 12 and row[2] == "unknown target"]) == 6


def test_another_format_version_leaves_the_folder_alone(make_run):
    folder = make_run()
    (folder / "run.json").write_text(json.dumps({"format": 3}))
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(report.NoReport):
        report.build(folder)
    assert sorted(path.name for path in folder.iterdir()) == before
