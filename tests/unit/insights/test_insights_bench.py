"""The measurement's own parts: the same events for the same seed, and two sides that give the same table."""

import json

import pytest

from bench import insights
from bench.errors import BenchError


@pytest.fixture
def logs(tmp_path):
    insights.write_events(tmp_path / "log_events.jsonl", 1_200)
    return tmp_path / "log_events.jsonl"


def test_the_same_seed_writes_the_same_events(logs, tmp_path):
    insights.write_events(tmp_path / "again.jsonl", 1_200)
    insights.write_events(tmp_path / "other.jsonl", 1_200, seed=1)
    assert (tmp_path / "again.jsonl").read_bytes() == logs.read_bytes() != (tmp_path / "other.jsonl").read_bytes()


def test_a_line_is_as_long_and_as_formed_as_an_exported_record(logs):
    lines = logs.read_text().splitlines()
    record = json.loads(json.loads(lines[7])["message"])
    assert 750 <= sum(map(len, lines)) / len(lines) <= 850
    assert list(record)[:4] == ["concurrency_limit", "download_time_seconds", "memory_size", "experiment_tag"]
    assert {"sink", "client_cpu_seconds", "retries"} <= record.keys()


def test_both_sides_give_the_same_table(logs):
    theirs = insights.plain_python(logs)
    assert len(theirs) == 12
    insights._compare(insights.ours(logs), theirs)
    [[size_bytes]] = insights.stored(logs)
    assert size_bytes < logs.stat().st_size / 5
    insights._compare(insights.of_run(logs), theirs)


def test_sides_that_disagree_are_no_measurement(logs):
    theirs = insights.plain_python(logs)
    with pytest.raises(BenchError, match="disagree"):
        insights._compare([(*row[:-1], row[-1] * 1.001) for row in theirs], theirs)


def test_the_time_of_compiling_is_measured_for_the_first_query_and_for_later_ones(logs):
    report = insights.in_child("compile", logs)
    first_ms, later_ms = report["rows"][0]
    assert 0 < later_ms < first_ms < report["seconds"] * 1000
