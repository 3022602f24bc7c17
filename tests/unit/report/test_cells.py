"""What is counted of each cell: by hand, and in the stored runs by a program of its own."""

import json
import tarfile
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.report.analysis import analyse, as_dict
from stampede.report.cells import as_text, counted_rows
from stampede.report.run import load
from tests.contract import synthetic
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import error, lasting, record
from tests.unit.report.recompute import mismatches

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def counted(folder):
    """The content of statistics.json, which is written."""
    content = as_dict(analyse(load(folder)), "", [])
    (folder / "statistics.json").write_text(as_text(content))
    return content


def only_cell(tmp_path, records):
    [cell] = counted(handmade_run.write(tmp_path / "run", records))["cells"]
    return cell


@pytest.mark.parametrize("archive", sorted(GOLDEN.glob("*.tar.gz")), ids=lambda path: path.name.partition(".")[0])
def test_every_number_of_a_stored_run_is_what_another_program_counts(archive, tmp_path):
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    counted(folder)
    assert mismatches(folder) == []


def test_the_other_program_counts_rounds_and_repeats_alike_and_notices_a_wrong_number(tmp_path):
    settings = ["dataset=small", "storage=s3", "threads=1,30"]
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"], settings, rounds=2, repeats=5)
    content = counted(folder)
    assert {cell["rounds"] for cell in content["cells"]} == {10}
    assert mismatches(folder) == []
    content["cells"][1]["seconds"]["p25_s"] *= 1.000001
    (folder / "statistics.json").write_text(as_text(content))
    [wrong] = mismatches(folder)
    assert wrong.startswith("statistics.cells[1].seconds.p25_s: ")


def test_only_first_successes_are_measured_and_all_else_is_counted_apart(tmp_path):
    records = [
        error(0, 400),
        record(500, 900, attempt=2),
        record(900, 1900, attempt=3),  # a duplicate
        record(0, 500, seq=1),
        record(0, 9000, seq=2, warm_up=1),
        error(0, 9000, seq=3, warm_up=1),
        record(0, 100, seq=4, cell="memory_size=1024,concurrency_value=1", memory_size=512),  # foreign
        error(0, 100, cell=None, memory_size=None),
    ]
    plan = {"memory_size": [1024], "concurrency_value": [1, 5]}
    content = counted(handmade_run.write(tmp_path / "run", records, plan))
    cell, empty = content["cells"]
    counts = {"sent": 3, "count": 2, "duplicates": 1, "warm_ups": 2, "warm_up_errors": 1, "retried": 1, "succeeded": 2}
    assert counts.items() <= cell.items()
    assert (cell["seconds"]["min_s"], cell["seconds"]["max_s"]) == (0.4, 0.5)
    assert (empty["count"], empty["sent"], empty["overlap"]) == (0, 0, None)
    assert content["totals"]["records"] == 7


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        # Full from 400 to 1000 and from 1100 to 1400.
        (
            [(0, 1000), (400, 1400), (1100, 1500)],
            {"peak": 2, "mean": 1.6, "share_at_n": 0.6, "time_to_n_s": 0.4, "elapsed_s": 1.5, "aggregate_per_s": 16},
        ),
        # One that ends when another starts doesn't overlap it.
        ([(0, 500), (500, 1000)], {"peak": 1, "share_at_n": 0, "time_to_n_s": None, "reached": 0}),
    ],
)
def test_what_ran_at_once_is_counted_from_start_to_end(spans, expected, tmp_path):
    overlap = only_cell(tmp_path, [record(*span, n=2, seq=seq) for seq, span in enumerate(spans)])["overlap"]
    assert {name: overlap[name] for name in expected} == pytest.approx(expected)


def test_a_late_message_of_another_cell_is_counted_where_it_ran_beside_others(tmp_path):
    first = [record(0, 1000, n=n, round=at, seq=at) for n, at in ((1, 1), (5, 1))]
    beside = [record(start, start + 500, n=n, round=1, seq=9, attempt=2) for n, start in ((1, 900), (5, 5000))]
    own, other = counted(handmade_run.write(tmp_path / "run", first + beside))["cells"]
    assert (own["overlap"]["intruders"], other["overlap"]["intruders"]) == (0, 1)
    assert (own["overlap"]["peak"], other["overlap"]["peak"]) == (2, 2)


def test_operations_of_which_a_part_was_done_before_are_counted_and_not_compared(tmp_path):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["copy"], ["parallel_limit=10"])
    rows = [json.loads(line) for line in (folder / "records.jsonl").open()]
    for row in rows:
        failed = 20 if row["seq"] == 3 else 19
        row |= {"already_there": int(row["seq"] < 3), "planned": 40, "failed": failed}
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [figures] = analyse(load(folder)).cells.values()
    assert (figures.count, len(figures.sample)) == (12, 8)
    counted(folder)
    assert mismatches(folder) == []


def test_the_rows_of_the_saved_query_have_every_success(tmp_path):
    records = [*lasting([0.5, 1.0]), record(2000, 4000, seq=1, attempt=2), record(0, 9000, seq=2, warm_up=1)]
    [row] = counted_rows(load(handmade_run.write(tmp_path / "run", records)))
    assert (row["memory_size_mb"], row["count"], row["avg_s"], row["max_s"]) == (1024, 3, pytest.approx(3.5 / 3), 2)
