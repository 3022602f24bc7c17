"""`stampede simulate` and the dry run of a sweep: their columns and formats, and the same answer
for the same seed."""

import csv
import io
import json

import pytest

from experiments.download import checks as download_checks
from stampede.cell import FORMAT, Cell

# A plan of two cells that is predicted in milliseconds.
SMALL = "download --set concurrency_value=10,5 --set memory_size=2048 --messages-per-concurrency 4"
FUNCTION = "function --run r --set concurrency_value=1"
COLUMNS = ["memory_size_mb", "concurrency", "count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"]
PARAMETER = {
    "name": "s3_get_per_s",
    "value": 20,
    "low": 20,
    "high": 20,
    "unit": "requests/s",
    "known": "guessed",
}
PARAMETER |= {"source": "a test", "date": "2030-01-01"}


@pytest.fixture
def simulate(stampede, monkeypatch):
    for name in ("TF_VAR_memory_size", "TF_VAR_concurrency_value"):
        monkeypatch.delenv(name, raising=False)
    return lambda command: stampede("simulate", *command.split())


@pytest.fixture
def rows(simulate):
    return lambda command: json.loads(simulate(f"{command} --format json").out)


def test_csv_and_json_begin_with_the_columns_of_the_report_and_json_has_ranges(simulate, rows):
    printed = list(csv.DictReader(io.StringIO(simulate(f"{SMALL} --format csv").out)))
    assert list(printed[0])[: len(COLUMNS)] == COLUMNS
    assert [(row["memory_size_mb"], row["concurrency"], row["count"]) for row in printed] == [
        ("2048", "5", "20"),
        ("2048", "10", "40"),
    ]
    first = rows(SMALL)[0]
    assert first.keys() >= {*printed[0], "method", "ranges"}
    assert all(low <= first[name] <= high for name, (low, high) in first["ranges"].items())


def test_own_parameters_replace_the_models_and_the_seed_decides(rows, simulate, tmp_path):
    def written(**change):
        (tmp_path / "own.json").write_text(json.dumps([PARAMETER | change]))
        return f"{SMALL} --parameters own.json"

    usual, slower = rows(SMALL)[0], rows(written())[0]
    assert (slower["parameters_date"], slower["requests_limit_per_s"]) == ("2030-01-01", 20)
    assert slower["avg_s"] > 2 * usual["avg_s"] and slower["usd"] > 2 * usual["usd"]
    for change, words in (({"value": 0}, "value"), ({"name": "s3_gets_per_s"}, "s3_gets_per_s")):
        done = simulate(written(**change))
        assert (done.status, done.err.count("\n"), words in done.err) == (2, 1, True)
    first, again, other = (rows(f"{SMALL} --seed {seed}") for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "download --set concurrency_value=500",
            "limit: the trigger's ramp (with provisioned_pollers=50: 1 s)",
        ),
        (
            "download --set concurrency_value=60 --set maximum_concurrency=6",
            "never 60 at once, 6 at most",
        ),
        (
            "download --set concurrency_value=2 --set timeout_s=5",
            "no downloads succeed; 0 of 20 done",
        ),
        (
            "function --set concurrency_value=1",
            "limit: the function's processors, 0.58 vCPU at 1024 MB (with memory_",
        ),
        (
            "download --set concurrency_value=9 --set provisioned_pollers={minimum=9,maximum=9}",
            "USD without provisioned pollers",
        ),
    ],
)
def test_the_answer_is_for_the_largest_n_and_names_a_remedy_for_its_limit(simulate, command, words):
    assert words in simulate(f"{command} --set memory_size=1024").out.partition("\nThis is for ")[0]


def test_repeats_of_a_cell_are_one_row_and_first_and_later_operations_have_one_each(rows):
    cell = "download --set concurrency_value=5 --set memory_size=2048 --set object_size_mb=8,16"
    twice = rows(f"{cell} --repeats 2")
    assert {row["settings"] for row in twice} == {"object_size_mb=8", "object_size_mb=16"}
    assert [row["count"] for row in twice] == [100, 100]
    cell = "filesystem --set storage=efs --set dataset=large --set memory_size=3008"
    first, repeat = rows(cell)
    assert [(row["read"], row["count"]) for row in (first, repeat)] == [
        ("first", 1),
        ("repeat", 10),
    ]
    assert first["avg_s"] > 10 * repeat["avg_s"]
    assert "mount" in first["binds"] and "processor" in repeat["binds"]
    [warmed] = rows(f"{cell} --warm-up-per-concurrency 1")
    assert warmed["read"] == "repeat"


def test_rows_of_unequal_work_show_the_amount(simulate):
    """At one request at a time the storage classes have other numbers of slices."""
    command = "express --set operation=upload --set object_bytes=10000 --set parallel_limit=1"
    assert "slices" in simulate(command).out
    assert "slices" in simulate(f"{command} --format csv").out


def test_a_plan_that_the_checks_refuse_is_not_simulated_but_an_unbuilt_one_is(
    simulate, monkeypatch, tmp_path
):
    monkeypatch.setattr(download_checks, "ROOT", tmp_path)
    for settings, words in {
        "method=download_file --set ephemeral_storage_mb=512": "ephemeral_storage_mb",
        "concurrency_value=501 --account-concurrency 600": "500 can be reserved",
        "concurrency_value=500 --account-concurrency 600 --set method=go_ranges": "",
    }.items():
        done = simulate(f"{SMALL} --set {settings}".replace("--set concurrency_value=10,5", ""))
        assert done.status == (2 if words else 0) and words in done.err


def test_a_chart_has_the_same_bytes_each_time(simulate, tmp_path):
    for name in ("first", "again"):
        assert simulate(f"{SMALL} --picture {name}.svg").status == 0
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "again.svg").read_bytes() != b""


def record(elapsed_s=0.3, **changes):
    record = {
        "cell": "a",
        "seq": 0,
        "concurrency_limit": 1,
        "elapsed_seconds": elapsed_s,
        "memory_size": 1769,
    }
    record |= {
        "warm_up": 0,
        "status": "ok",
        "started_at_ms": 1_795_000_000_000,
        "init_seconds": None,
    }
    return record | {"client_cpu_seconds": 0.1} | changes


@pytest.fixture
def measured(tmp_path):
    """A function that stores a first run of a user's function."""

    def store(records, package=None, batch_size=1, **run):
        folder = tmp_path / "results" / "r"
        folder.mkdir(parents=True, exist_ok=True)
        cells = [Cell("a", {"package": package, "batch_size": batch_size}, ()).as_json()]
        described = {
            "experiment": "function",
            "target": "aws",
            "format": FORMAT,
            "cells": cells,
        } | run
        (folder / "run.json").write_text(json.dumps(described))
        (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))

    return store


def test_measured_cpu_time_scales_with_memory_and_waiting_does_not(rows, measured):
    slower = [
        record(3.0, concurrency_limit=10),
        record(9.0, warm_up=1),
        record(9.0, status="error"),
    ]
    measured([*slower, *(record() for _ in range(5))])
    seconds = {
        row["memory_size_mb"]: row["avg_s"]
        for row in rows(f"{FUNCTION} --set memory_size=884,1769")
    }
    # 0.1 CPU-s and 0.2 s of waiting; half of a vCPU takes twice as long for the former.
    assert seconds == {1769: pytest.approx(0.3, rel=0.01), 884: pytest.approx(0.4, rel=0.01)}


def test_an_invocation_is_predicted_with_the_measured_batches_or_the_set_ones(
    rows, simulate, measured
):
    batch = [record(2.0, batch_size=5, batch=3, batch_index=index) for index in range(3)]
    measured([*(batch * 5), record(9.0, batch_size=10), record(9.0, batch_size=10)], batch_size=5)
    printed = rows(f"{FUNCTION} --set memory_size=1769")
    assert [(row["batch_size"], row["avg_s"]) for row in printed] == [
        (5, pytest.approx(2.0, rel=0.05))
    ] * len(printed)
    assert sum(row["count"] for row in printed) == 11, "invocations"
    assert simulate(f"{FUNCTION} --set batch_size=1,10").status == 0


@pytest.mark.parametrize(
    ("settings", "line", "busy"),
    [
        ("concurrency_value=10,100", "16 at once on average; N = 10 would queue", [1.6, 0.16]),
        (
            "concurrency_value=5 --set batch_size=5",
            "in batches of 5, 0.2 s each: 3.2 at once",
            [0.64],
        ),
        ("concurrency_value=20 --set maximum_concurrency=2", "N = 20 would queue", [8]),
    ],
)
def test_a_load_keeps_rate_times_duration_functions_busy(
    simulate, rows, measured, settings, line, busy
):
    measured([record(0.2)] * 5)
    command = f"function --run r --messages-per-s 80 --set memory_size=1769 --set {settings}"
    assert line in simulate(command).out.partition("\n")[0]
    by_n = {row["concurrency"]: round(row["busy"], 2) for row in rows(command)}
    assert list(by_n.values()) == busy


def test_a_run_of_another_experiment_or_of_too_few_records_is_refused(simulate, measured):
    for stored, words in (({"experiment": "copy"}, "copy"), ({}, "fewer than two")):
        measured([record()], **stored)
        done = simulate("function --run r")
        assert (done.status, words in done.err) == (2, True)


def test_a_record_of_an_impossible_time_is_refused(simulate, measured):
    measured([record() | {"started_at_ms": -(10**18)}] * 2)
    done = simulate("function --run r")
    assert (done.status, "impossible time" in done.err) == (2, True)


def test_a_dry_run_has_columns_for_swept_values_in_the_reports_order_and_the_rest_above(
    stampede,
):
    settings = ["--set", "memory_size=2048", "--set", "concurrency_value=1,10,2"]
    plan = ["download", "--target", "aws", *settings, "--repeats", "2", "--dry-run"]
    text = "3 cells, each 2 times; in all of them: object_size_mb=1024"
    assert stampede("sweep", *plan).out.startswith(text)
    printed = json.loads(stampede("sweep", *plan, "--format", "json").out)
    cells = [(row["concurrency_value"], row["cell"][-1]) for row in printed]
    assert cells == [(n, repeat) for n in (1, 2, 10) for repeat in "12"]
