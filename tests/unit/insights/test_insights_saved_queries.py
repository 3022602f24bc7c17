"""Every saved query of the download experiment, over events as they come from Lambda."""

from pathlib import Path

import numpy
import pytest

from stampede.insights import check, evaluate, with_filters
from stampede.insights.commands.compilation import compile_query
from stampede.insights.evaluation import _LONG_SQL
from stampede.insights.events.source import Source
from stampede.insights.language.parsing import parse
from tests.unit.insights.download_log import FIRST_MS, event, record, report
from tests.unit.insights.nearest_rank import percentile

QUERIES = Path(__file__).parents[3] / "queries"
FILES = sorted(path for name in ("common", "download") for path in (QUERIES / name).glob("*.cwli"))

TIMES = {
    (1024, 1): [12.25, 13.5, 12.75, 14.0, 13.125],
    (1024, 5): [15.5, 14.25, 16.0],
    (2048, 1): [12.0, 12.5],
}


def saved(name: str) -> str:
    return next(path for path in FILES if path.stem == name).read_text()


def run_events() -> list[dict]:
    """A run of ten successes and two errors, with platform lines, an unrelated line and a record of another run."""
    events, place = [], 0
    for (memory_mb, concurrency), times in TIMES.items():
        for time_s in times:
            start = FIRST_MS + place * 1_000
            end = start + round(time_s * 1000)
            request = f"request-{place}"
            line = record(
                concurrency_limit=concurrency,
                download_time_seconds=time_s,
                memory_size=memory_mb,
                seq=place,
                message_id=f"m-{place}",
                sandbox_id=f"s-{place % 2}",
                cold_start=int(place < 2),
                started_at_ms=start,
                finished_at_ms=end,
            )
            events += [
                event(f"START RequestId: {request} Version: $LATEST\n", start),
                event(line, end),
                event(f"END RequestId: {request}\n", end + 1),
                event(report(request, time_s * 1000, memory_mb, 600 + place, 250.5 if place < 2 else None), end + 2),
            ]
            place += 1
    for attempt in (1, 2):
        failed = record(download_time_seconds=None, status="error", attempt=attempt, message_id="m-bad", seq=99)
        failed |= {"started_at_ms": FIRST_MS + attempt, "finished_at_ms": FIRST_MS + attempt * 100}
        failed |= {"error_type": "NoSuchKey", "error_message": f"attempt {attempt} failed"}
        events.append(event(failed, FIRST_MS + attempt * 100))
    events.append(event(record(run_id="run-b", download_time_seconds=99.0), FIRST_MS + 5))
    events.append(event("[INFO] not a record {at all}", FIRST_MS + 6))
    return events


def ask(name: str, **filters: str) -> list[dict]:
    return evaluate(with_filters(saved(name), filters), run_events()).rows


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_saved_query_compiles_and_opens_with_a_comment(path):
    assert path.read_text().startswith("# ")
    check(path.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_column_of_a_saved_query_has_an_alias(path):
    columns = evaluate(path.read_text(), run_events()).columns
    assert columns and all(column.replace("_", "").isalnum() for column in columns)


def test_these_are_the_saved_queries():
    names = {"cold_starts", "errors", "methods", "overlap", "published", "reports", "speed", "summary"}
    names |= {"billed", "billing", "durations", "failures", "memory"}
    assert {path.stem for path in FILES} == names


def test_summary_gives_the_published_table():
    result = evaluate(with_filters(saved("summary"), {"run_id": "run-a"}), run_events())
    columns = "memory_size_mb,concurrency,count,min_s,p25_s,avg_s,p75_s,max_s"
    assert ",".join(result.columns) == columns
    expected = [
        {
            "memory_size_mb": memory_mb,
            "concurrency": concurrency,
            "count": len(times),
            "min_s": min(times),
            "p25_s": percentile(times, 25),
            "avg_s": numpy.mean(times),
            "p75_s": percentile(times, 75),
            "max_s": max(times),
        }
        for (memory_mb, concurrency), times in sorted(TIMES.items())
    ]
    assert result.rows == [pytest.approx(row, rel=1e-12) for row in expected]


def test_methods_compares_methods_of_downloading_and_what_they_took():
    methods = [("crt", 0.9, 0), ("ranges", 0.3, 2), ("ranges", 0.5, 1)]
    took = [
        record(method=method, sink="tmp", client_cpu_seconds=cpu_s, retries=retries, bytes=2**30)
        for method, cpu_s, retries in methods
    ]
    rows = evaluate(saved("methods"), [event(line, FIRST_MS) for line in took]).rows
    assert [(row["method"], row["count"], row["retries"]) for row in rows] == [("crt", 1, 0), ("ranges", 2, 3)]
    assert [row["cpu_s_per_gib"] for row in rows] == pytest.approx([0.9, 0.4])


def test_summary_without_a_filter_sees_every_run():
    row = ask("summary")[0]
    assert (row["count"], row["max_s"]) == (6, 99)


def test_published_parses_the_line_and_keeps_one_concurrency_memory_and_tag():
    times = TIMES[1024, 1]
    assert ask("published", run_id="run-a") == [
        pytest.approx(
            {
                "count": 5,
                "avg_s": numpy.mean(times),
                "min_s": 12.25,
                "max_s": 14,
                "p25_s": percentile(times, 25),
                "p75_s": percentile(times, 75),
            },
            rel=1e-12,
        )
    ]


def test_published_can_be_edited_to_another_cell():
    text = saved("published").replace("publishedConcurrency = 1", "publishedConcurrency = 5")
    assert evaluate(text, run_events()).rows[0]["count"] == 3


def test_published_leaves_out_another_tag():
    text = saved("published").replace('"experiment 01"', '"debug"')
    assert evaluate(text, run_events()).rows == [{"count": 0, "p25_s": 0, "p75_s": 0}]


def test_speed_is_bits_over_seconds_in_decimal_megabits():
    row = ask("speed", run_id="run-a")[-1]
    fastest = 1_073_741_824 * 8 / 1_000_000 / 12.0
    assert row["count"] == 2
    assert row["max_mbit_s"] == pytest.approx(fastest)
    assert row["max_mbit_s"] / 1.048576 == pytest.approx(1024 * 8 / 12.0)


def test_overlap_adds_up_to_all_the_time_worked():
    rows = ask("overlap", run_id="run-a")
    worked_s = sum(sum(times) for times in TIMES.values()) + 0.099 + 0.198
    assert sum(row["busy_s"] for row in rows) == pytest.approx(worked_s)
    assert sum(row["finished"] for row in rows) == 12
    assert all(row["mean_overlap"] == pytest.approx(row["busy_s"] / 10) for row in rows)
    assert [row["logged_in"] for row in rows] == sorted(row["logged_in"] for row in rows)
    assert rows[0]["logged_in"] == "2025-01-12 16:40:00.000"


def test_cold_starts_are_set_against_warm_ones():
    cold, warm = ask("cold_starts", run_id="run-a")[:2]
    assert (cold["cold"], cold["count"], cold["sandboxes"], cold["p50_s"]) == (1, 2, 2, 12.25)
    assert (warm["cold"], warm["count"], warm["max_s"]) == (0, 3, 14)


def test_errors_are_counted_by_type_with_an_example():
    assert ask("errors", run_id="run-a") == [
        {
            "type": "NoSuchKey",
            "errors": 2,
            "messages": 1,
            "highest_attempt": 2,
            "first_started_at_ms": FIRST_MS + 1,
            "last_finished_at_ms": FIRST_MS + 200,
            "example": "attempt 2 failed",
        }
    ]


def test_reports_come_from_the_platform_lines():
    small, large = ask("reports")
    assert (small["memory_size_mb"], small["invocations"], small["cold_starts"]) == (1024, 8, 2)
    assert small["avg_ms"] == pytest.approx(numpy.mean([*TIMES[1024, 1], *TIMES[1024, 5]]) * 1000)
    assert (small["max_memory_used_mb"], small["max_init_ms"]) == (607, 250.5)
    assert large["memory_size_mb"] == 2048
    assert "avg_init_ms" not in large


@pytest.mark.parametrize("path", sorted(QUERIES.rglob("*.cwli")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_statement_of_a_saved_query_is_short_enough_to_be_planned_well(path):
    pipeline = compile_query(parse(path.read_text()), now_s=0)
    statement, _ = pipeline.sql(Source("events"), fragments=False, first_fields=False)
    assert len(statement) < 0.8 * _LONG_SQL
