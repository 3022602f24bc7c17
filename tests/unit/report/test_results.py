"""The table of results: the place of each row, its neighbours, and its marks."""

import csv

import pytest

from experiments import EXPERIMENTS
from stampede.cell import Cell
from stampede.report import published
from stampede.report.findings import STAND_IN_RAN
from stampede.report.results import comparisons, results
from tests.contract import synthetic
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import analysed, lasting, record

EXPRESS = EXPERIMENTS["express"]


def results_of(folder):
    return results(analysed(folder))


@pytest.fixture
def downloads(tmp_path):
    """Three downloads at once where four may run, and one with another memory size."""
    records = [record(0, 1000, n=4, seq=seq) for seq in range(3)]
    return handmade_run.write(tmp_path / "run", [*records, record(0, 2000, memory=2048)])


def heads(table):
    return [field.heading for field in table.read]


def test_a_published_row_stands_below_the_cell_that_it_is_of(tmp_path):
    table = results_of(handmade_run.write(tmp_path / "run", lasting([12.0], n=500, memory=2048)))
    rows = [(row["is_measured"], row["avg_s"], row["concurrency"]) for row in table.rows]
    assert rows == [(True, 12.0, 500), (False, 13.21, 500)]
    [bandwidth] = [field for field in table.fields if field.unit == "Mbit/s"]
    assert [bandwidth.text(row) for row in table.rows] == ["0.667", "650"]  # of 1 MB, and of 1 GiB
    assert "compare Mbit/s" in " ".join(table.caption)


def test_a_published_row_of_another_number_of_objects_says_how_many_and_stands_there_once(tmp_path):
    settings = [
        "operation=download",
        "storage_class=standard",
        "object_bytes=10000",
        "object_count=50,60",
    ]
    rows = results_of(
        synthetic.write(tmp_path / "run", EXPRESS, [*settings, "parallel_limit=1"])
    ).rows
    assert [(row["is_measured"], row["object_count"]) for row in rows] == [
        (True, 50),
        (False, 77577),
        (True, 60),
    ]


def test_the_published_means_are_those_of_the_tables():
    places = (
        ("upload", "standard", 10_000),
        ("download", "express", 100_000_000),
        ("count", "standard", 10_000),
    )
    cells = [Cell.at(EXPRESS.axes, (*place, 1, 50, 1, "any_zone", 2048, 1)) for place in places]
    rows = [row for own in cells for row in published.every_cell(EXPRESS) if row.stands_beside(own)]
    assert [row.figures["avg_s"] for row in rows] == [849.47, 79.81, 75.91]


def test_rows_are_told_apart_by_what_differs_and_the_caption_has_the_rest(downloads):
    table = results_of(downloads)
    assert heads(table)[:2] == ["memory", "N"] and "method" not in heads(table)
    assert "download_file" in table.caption[0]
    only = handmade_run.write(downloads.parent / "only", [record(0, 9)])
    assert heads(results_of(only))[0] == "N"


def test_a_peak_below_n_is_marked_and_files_have_every_coordinate(downloads):
    table = results_of(downloads)
    [peak] = [field for field in table.fields if field.name == "most_at_once"]
    marks = [(peak.text(row), peak.look(row)) for row in table.rows if row["is_measured"]]
    assert marks == [("3", "short"), ("1", "")]
    row = next(csv.DictReader(table.csv().splitlines()))
    assert (
        row.items()
        >= {"memory_size_mb": "1024", "concurrency": "4", "sink": "tmp", "median_s": "1"}.items()
    )
    assert "| 1,024 | 4 | AWS, us-east-1 | 1.00 |" in table.markdown()


def test_a_comparison_says_what_its_interval_allows_and_why_there_is_none(tmp_path):
    takes = {"download_file": 2.0, "ranges": 1.0, "stream": 4.0}
    settings = [
        "memory_size=1024",
        "concurrency_value=2",
        f"method={','.join(takes)}",
        "sink=memory",
    ]
    keys = {"takes": lambda demand: takes[demand.cell.values["method"]]}
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["download"], settings, **keys)
    synthetic.change_records(
        folder, lambda row: {"bytes": row["bytes"] + (row["method"] == "stream")}
    )
    analysis = analysed(folder)
    table = comparisons(analysis.findings, analysis.experiment)
    [row] = table.rows
    assert (row["what"], row["level"]) == ("ranges against download_file", "faster") and 1.8 < row[
        "ratio"
    ] < 2.2
    assert "Not compared: 1 pair" in " ".join(table.caption)


def test_a_stand_in_is_named_and_not_compared(tmp_path):
    settings = ["storage=s3,efs", "dataset=small"]
    analysis = analysed(
        synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"], settings, per_n=40)
    )
    sources = {
        row["storage"]: row["source"] for row in results(analysis).rows if row["is_measured"]
    }
    assert sources == {"s3": "this machine", "efs": "this machine, a folder"}
    assert {
        row.why for row in analysis.findings if row.subject["storage"] != row.baseline["storage"]
    } == {STAND_IN_RAN}
