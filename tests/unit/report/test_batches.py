"""Batches of the queue: an invocation is one operation, whatever it took along, and each of its
messages counts."""

import json

import pytest

from stampede.report.analysis import as_dict
from stampede.report.cells import as_text
from stampede.report.run import load
from stampede.report.saved_query import answered
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import ORIGIN_MS, analysed
from tests.unit.report.recompute import mismatches

CELL = "memory_size=1024,concurrency_value=2,batch_size=5"
PLACE = {
    "package": "thumbnail",
    "architecture": "x86_64",
    "payload": 0,
    "batch_size": 5,
    "batching_window_s": 0,
}


def batch(number, start_ms, seconds, size, failed=()):
    """The records of the messages of one invocation."""
    for index in range(size):
        ends_ms = start_ms + int(seconds * 1000)
        record = {
            "concurrency_limit": 2,
            "elapsed_seconds": seconds,
            "memory_size": 1024,
            "cell": CELL,
            "seq": 5 * number + index,
            "message_id": f"{number}-{index}",
            "request_id": f"request-{number}",
            "cold_start": 0,
            "attempt": 1,
            "started_at_ms": ORIGIN_MS + start_ms,
            "finished_at_ms": ORIGIN_MS + ends_ms,
            "bytes": 2,
            "status": "ok",
            "round": 0,
            "warm_up": 0,
            **PLACE,
            "start": "warm",
            "batch": size,
            "batch_index": index,
        }
        if index in failed:
            del record["elapsed_seconds"]
            record |= {
                "status": "error",
                "error_type": "PartialFailure",
                "error_message": "one of them",
            }
        yield record


@pytest.fixture
def folder(tmp_path):
    """Two invocations at once of five and three messages, then one of two, of which a message
    fails."""
    records = [*batch(0, 0, 1.0, 5), *batch(1, 0, 2.0, 3), *batch(2, 2500, 0.5, 2, failed=[1])]
    return handmade_run.write(tmp_path / "run", records, experiment="function")


@pytest.fixture
def figures(folder):
    analysis = analysed(folder)
    assert analysis.successes == (9, 10)
    [figures] = [figures for figures in analysis.cells.values() if figures.count]
    return figures


def test_seconds_and_overlap_are_those_of_invocations(figures):
    assert (figures.count, figures.seconds["median_s"], figures.seconds["mean_s"]) == (
        3,
        1.0,
        pytest.approx(3.5 / 3),
    )
    assert figures.overlap.peak == 2
    assert figures.cell["batch_size"] == 5


def test_the_time_of_a_message_is_its_share_of_its_batch(figures):
    assert figures.metrics["message_s"] == pytest.approx(3.5 / 10)
    assert (figures.counts["succeeded"], figures.counts["errors"]) == (9, 1)


def test_another_program_and_the_saved_query_count_invocations_as_well(folder):
    (folder / "statistics.json").write_text(as_text(as_dict(analysed(folder), "", [])))
    assert mismatches(folder) == []
    lines = (folder / "records.jsonl").read_text().splitlines()
    events = [
        {"timestamp": ORIGIN_MS, "message": json.dumps({"run_id": "handmade", **json.loads(line)})}
        for line in lines
    ]
    handmade_run.write_lines(folder / "log_events.jsonl", events)
    asked = answered(load(folder))
    assert asked.problems == [] and sum(row["count"] for row in asked.rows) == 3
