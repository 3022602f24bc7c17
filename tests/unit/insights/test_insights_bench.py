"""The measurement's own parts: a run as it is stored, and two sides that give the same table."""

import json

import pytest

from bench import insights
from bench.errors import BenchError
from bench.plain_summary import plain_python
from stampede.insights import log_columns
from stampede.runs.folder import RunFolder

RECORDS = 13_320


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / insights.RUN_ID
    insights.write_run(run, RECORDS, platform_lines=False)
    return run / insights.LOG_EVENTS


def test_a_line_is_as_long_and_as_formed_as_an_exported_record(logs):
    lines = logs.read_text().splitlines()
    record = json.loads(json.loads(lines[7])["message"])
    assert 750 <= sum(map(len, lines)) / len(lines) <= 850
    assert list(record)[:4] == ["concurrency_limit", "download_time_seconds", "memory_size", "experiment_tag"]
    assert {"sink", "client_cpu_seconds", "retries"} <= record.keys()


def test_both_sides_give_the_same_table_of_every_record_and_others_are_no_measurement(logs):
    log_columns.store(RunFolder(logs.parent), at_end=True)
    tables = {}
    for side in ("lines", "columns", "plain_python"):
        figures = insights.in_child(side, logs.parent, tables)
        assert min(figures.values()) > 0
    peer = plain_python(logs)
    assert (len(peer), sum(row[2] for row in peer)) == (12, RECORDS)
    for table in tables.values():
        insights.check_same(table, peer)
    for other in ([(*row[:-1], row[-1] * 1.001) for row in peer], peer[1:]):
        with pytest.raises(BenchError, match="disagree"):
            insights.check_same(other, peer)


def test_a_report_counts_only_with_every_record(monkeypatch):
    monkeypatch.setattr(insights, "RECORDS", 1_332)
    [entry], setting = insights.whole_report(1)
    assert entry.ours > 0 and "1,332 records" in setting
    monkeypatch.setattr(insights, "_compared", lambda name, ours, run, runs, tables: _report_of_none(run))
    with pytest.raises(BenchError, match=r"counted 0 of 1,332 records"):
        insights.whole_report(1)


def _report_of_none(run):
    (run / "statistics.json").write_text('{"cells": []}')
    return None, ""
