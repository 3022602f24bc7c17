"""The counts of each cell: by hand, and in the stored runs by an independent program."""

import json

import pytest

from experiments import EXPERIMENTS
from stampede.report.analysis import as_dict
from stampede.report.cells import as_text, counted_rows
from stampede.report.run import load
from stampede.report.saved_query import answered
from tests.contract import golden, synthetic
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import ORIGIN_MS, analysed, cell_id, error, record
from tests.unit.report.recompute import mismatches


def counted(folder):
    """The content of statistics.json, written to the folder; an independent program agrees with
    it."""
    content = as_dict(analysed(folder), "", [])
    (folder / "statistics.json").write_text(as_text(content))
    assert mismatches(folder) == []
    return content


@pytest.mark.parametrize("name", golden.NAMES)
def test_the_figures_of_a_stored_run_are_what_another_program_counts(name, tmp_path):
    counted(golden.unpack(name, tmp_path))


def test_rounds_and_repeats_are_counted_and_a_wrong_number_is_noticed(tmp_path):
    settings = ["dataset=small", "storage=s3", "threads=1,30"]
    folder = synthetic.write(
        tmp_path / "run", EXPERIMENTS["filesystem"], settings, rounds=2, repeats=5
    )
    content = counted(folder)
    assert {cell["rounds"] for cell in content["cells"]} == {10}
    content["cells"][1]["seconds"]["p25_s"] *= 1.000001
    (folder / "statistics.json").write_text(as_text(content))
    [wrong] = mismatches(folder)
    assert ".seconds.p25_s: " in wrong


def test_partly_repeated_operations_are_counted_but_not_compared(tmp_path):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["copy"], ["parallel_limit=10"])
    part = {"planned": 40, "failed": 19}
    changes = [*[part | {"already_there": 1}] * 3, part | {"failed": 20}, *[part] * 8]
    synthetic.change_records(folder, lambda row: changes[row["seq"]])
    counted(folder)
    [figures] = analysed(folder).cells.values()
    assert (figures.count, len(figures.sample)) == (12, 8)


def test_only_first_successes_are_measured_and_all_else_is_counted_apart(tmp_path):
    records = [
        error(0, 400),
        record(500, 900, attempt=2),
        record(900, 1900, attempt=3),  # a duplicate
        record(0, 500, seq=1),
        record(0, 9000, seq=2, warm_up=1),
        error(0, 9000, seq=3, warm_up=1),
        record(0, 100, seq=4, cell=cell_id(1), memory=512),  # foreign
        error(0, 100, cell=None, memory_size=None),  # of no cell
    ]
    folder = handmade_run.write(tmp_path / "run", records, [1, 5])
    cell, empty = counted(folder)["cells"]
    counts = {
        "sent": 3,
        "count": 2,
        "duplicates": 1,
        "warm_ups": 2,
        "warm_up_errors": 1,
        "retried": 1,
        "succeeded": 2,
    }
    assert counts.items() <= cell.items()
    assert (cell["seconds"]["min_s"], cell["seconds"]["max_s"]) == (0.4, 0.5)
    assert (empty["count"], empty["errors"], empty["overlap"]) == (0, 0, None)
    # The saved query counts every success.
    by_memory = {
        row["memory_size_mb"]: (row["count"], row["max_s"]) for row in counted_rows(load(folder))
    }
    assert by_memory[1024] == (3, 1)


def test_concurrency_is_counted_from_start_to_end(tmp_path):
    """Full from 400 to 1000 and from 1100 to 1400; an operation that ends as another starts doesn't
    overlap it."""
    spans = [(0, 1000), (400, 1400), (1100, 1500), (1500, 2000)]
    records = [record(*span, n=2, seq=seq, round=1) for seq, span in enumerate(spans)]
    # A late message of another cell, which ran during this cell's round.
    records += [record(1900, 2100, n=5, round=1, attempt=2)]
    overlap = counted(handmade_run.write(tmp_path / "run", records))["cells"][0]["overlap"]
    expected = {
        "peak": 2,
        "share_at_n": 1 / 2.1,
        "time_to_n_s": 0.4,
        "elapsed_s": 2.1,
        "intruders": 1,
        "floods": 1,
        "aggregate_per_s": 5 * 8 / 2.1,
    }
    assert {name: overlap[name] for name in expected} == pytest.approx(expected)


def test_what_failed_adds_nothing_to_the_throughput_of_all(tmp_path):
    records = [record(0, 1000, n=2), error(0, 1000, n=2, seq=1, bytes=1_000_000)]
    [cell] = counted(handmade_run.write(tmp_path / "run", records))["cells"]
    assert (cell["overlap"]["peak"], cell["overlap"]["aggregate_per_s"]) == (2, 8)


def test_an_invocation_is_one_operation_whatever_it_took_along_and_each_of_its_messages_counts(
    tmp_path,
):
    """Five and three messages at once, then two, of which one fails."""
    batches, records = [(0, 1000, 5), (0, 2000, 3), (2500, 3000, 2)], []
    place = {"cell": "batches", "package": "thumbnail", "architecture": "x86_64", "payload": 0}
    place |= {"batch_size": 5, "batching_window_s": 0, "start": "warm", "n": 2}
    for number, (start_ms, end_ms, size) in enumerate(batches):
        for index in range(size):
            own = {"seq": 5 * number + index, "batch": size, "batch_index": index}
            made = error if (number, index) == (2, 1) else record
            own |= {"elapsed_seconds": (end_ms - start_ms) / 1000} if made is record else {}
            records.append(made(start_ms, end_ms, **place, **own))
    folder = handmade_run.write(tmp_path / "run", records, experiment="function")
    [cell] = counted(folder)["cells"]
    assert [cell["seconds"][name] for name in ("min_s", "median_s", "max_s")] == [0.5, 1, 2]
    expected = {"count": 3, "succeeded": 9, "errors": 1, "sent": 10}
    assert expected.items() <= cell.items() and cell["overlap"]["peak"] == 2
    metrics = [cell["metrics"][name] for name in ("message_s", "per_s")]
    assert metrics == pytest.approx([3.5 / 10, 3 / 3.5])
    events = [{"timestamp": ORIGIN_MS, "message": json.dumps(row)} for row in records]
    handmade_run.write_lines(folder / "log_events.jsonl", events)
    asked = answered(load(folder))
    assert asked.problems == [] and sum(row["count"] for row in asked.rows) == 3
