"""`stampede simulate` and the dry run of a sweep: their columns and forms, the same answer for the same seed, and what
they refuse."""

import csv
import io
import json
import shlex

import pytest

from experiments import EXPERIMENTS
from stampede.cell import FORMAT, Cell

# A plan of four cells that are foreseen in milliseconds.
SMALL = ("download", "--set", "concurrency_value=10,5", "--messages-per-concurrency", "4")
COLUMNS = [
    *("memory_size_mb", "concurrency", "count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"),
    *("time_to_n_s", "share_at_n", "most_at_once", "drain_s", "peak_requests_per_s", "usd", "binds"),
]
PARAMETER = {"name": "s3_get_per_s", "value": 20, "low": 20, "high": 20, "unit": "requests/s", "known": "guessed"}
PARAMETER |= {"source": "a test", "date": "2030-01-01"}


@pytest.fixture
def simulate(stampede, monkeypatch):
    for name in ("TF_VAR_memory_size", "TF_VAR_concurrency_value"):
        monkeypatch.delenv(name, raising=False)
    return lambda *arguments: stampede("simulate", *arguments)


@pytest.fixture
def rows(simulate):
    def run(*arguments):
        return json.loads(simulate(*arguments, "--format", "json").out)

    return run


def test_csv_and_json_have_the_columns_of_the_table_then_the_models_in_the_tables_order(simulate, rows):
    printed = list(csv.DictReader(io.StringIO(simulate(*SMALL, "--format", "csv").out)))
    assert list(printed[0]) == COLUMNS
    cells = [(row["memory_size_mb"], row["concurrency"], row["count"]) for row in printed]
    assert cells == [("1024", "5", "20"), ("1024", "10", "40"), ("2048", "5", "20"), ("2048", "10", "40")]
    first = rows(*SMALL)[0]
    assert set(COLUMNS) < set(first)
    assert all(low <= first[name] <= high for name, (low, high) in first["ranges"].items())


def test_own_parameters_replace_the_models(rows, tmp_path):
    (tmp_path / "own.json").write_text(json.dumps([PARAMETER]))
    usual, slower = rows(*SMALL)[0], rows(*SMALL, "--parameters", "own.json")[0]
    assert (slower["parameters_date"], slower["requests_limit_per_s"]) == ("2030-01-01", 20)
    assert slower["binds"] == "S3's GET rate: 20 a second for all"
    assert slower["avg_s"] > 2 * usual["avg_s"]
    assert slower["usd"] > 2 * usual["usd"]  # functions are billed for as long as they wait


def test_the_same_seed_has_the_same_answer_and_another_seed_another(rows):
    first, again, other = (rows(*SMALL, "--seed", seed) for seed in ("3", "3", "4"))
    assert first == again != other


def test_the_table_has_the_answer_above_it_and_fits_100_columns_but_for_wide(simulate, rows):
    table, wide = (simulate(*SMALL, *more).out.splitlines() for more in ((), ("--wide",)))
    assert table[0].startswith("N = 10 is reached after 1 s; downloads take 12.6 to 12.7 s; the sweep takes ")
    assert " USD; the bottleneck is " in table[0] and table[1] == ""
    assert max(map(len, table[1:])) <= 100
    shown, wide_shown = ([line.split() for line in lines if ",024 " in line] for lines in (table, wide))
    assert [row[:2] for row in shown] == [["1,024", "5"], ["1,024", "10"]]
    assert set(shown[0]) < set(wide_shown[0])
    cell = ("function", "--set", "concurrency_value=100", "--set", "memory_size=1769")
    most = rows(*cell)[0]["most_at_once"]
    assert simulate(*cell).out.startswith(f"At most {most} of N = 100 run at once")


def test_settings_that_differ_and_departing_variants_are_told(simulate, rows):
    settings = ("concurrency_value=2", "memory_size=2048", "method=stream", "object_size_mb=4,8")
    swept = ("download", *(word for setting in settings for word in ("--set", setting)))
    told = [(row["settings"], row["method"]) for row in rows(*swept)]
    assert told == [("object_size_mb=4", "stream"), ("object_size_mb=8", "stream")]
    assert "2 object_size_mb=4 0.0466" in simulate(*swept).out


def test_repeats_of_a_cell_are_one_row_with_the_bill_of_all(rows):
    cell = ("download", "--set", "concurrency_value=5", "--set", "memory_size=2048")
    [once], [twice] = (rows(*cell, "--repeats", repeats) for repeats in ("1", "2"))
    assert (once["count"], twice["count"]) == (50, 100)
    assert twice["usd"] > 1.5 * once["usd"]


def test_first_and_later_operations_have_a_row_each_where_records_tell_them_apart(rows):
    cell = ("filesystem", "--set", "storage=efs", "--set", "dataset=large", "--set", "memory_size=3008")
    first, repeat = rows(*cell)
    assert [(row["read"], row["count"]) for row in (first, repeat)] == [("first", 1), ("repeat", 10)]
    assert first["avg_s"] > 10 * repeat["avg_s"]
    assert repeat["ranges"]["avg_s"][0] <= repeat["avg_s"] <= repeat["ranges"]["avg_s"][1]
    assert repeat["usd"] == pytest.approx(10 * first["usd"], rel=1e-3)
    [warmed] = rows(*cell, "--warm-up-per-concurrency", "1")
    assert (warmed["read"], warmed["count"]) == ("repeat", 11)


def test_a_gibibyte_takes_what_the_bandwidth_quota_gives_after_the_burst(rows):
    cell = ("download", "--set", "concurrency_value=2", "--set", "method=go_ranges", "--set", "memory_size=6144")
    [usual], [fast] = rows(*cell), rows(*cell, "--bandwidth-quota")
    least_s = (2**30 - 300 * 2**20) * 8 / 1812.5e6
    assert least_s < fast["avg_s"] < 1.45 * least_s < usual["avg_s"]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_picture_is_drawn_and_has_the_same_bytes_again(simulate, tmp_path, ending):
    paths = [tmp_path / f"{name}.{ending}" for name in ("first", "again")]
    for path in paths:
        assert simulate(*SMALL, "--picture", str(path)).err.startswith(f"picture: {path}")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    if ending == "svg":
        assert "predicted" in paths[0].read_text() and "2,048 MB, N = 10" in paths[0].read_text()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("download --picture x.pdf", "must be a file that ends in .svg or .png, got 'x.pdf'"),
        ("download --picture folder.svg", "must be a file in a folder that exists"),
        ("download --parameters no.json", "--parameters: no.json: can't be read"),
        ("download --target local", "leave it out, or measure this machine with `stampede sweep download`"),
        ("download --crash-percent 51", "must be a percentage of 0 to 50, got '51'"),
        ("download --account-concurrency 500", "--account-concurrency 500: 400 can be reserved, because 100"),
        ("download --messages-per-concurrency 1000000000", "the model simulates at most 1,000,000 in one flood"),
    ],
)
def test_wrong_input_is_one_line_with_the_fix_and_exit_status_2(simulate, tmp_path, command, words):
    (tmp_path / "folder.svg").mkdir()
    done = simulate(*shlex.split(command))
    assert (done.status, done.out, done.err.count("\n"), words in done.err) == (2, "", 1, True), done.err


def test_an_experiment_without_a_model_is_refused_with_those_that_have_one(simulate, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "download", EXPERIMENTS["download"].with_(work=None))
    done = simulate(*SMALL)
    assert (done.status, "there is no model of its operation; experiments with a model: filesystem" in done.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([PARAMETER | {"value": 0}], "s3_get_per_s: value must be a number above 0, got 0"),
        ([PARAMETER | {"unit": ""}], "s3_get_per_s has no unit; add"),
        ([PARAMETER | {"name": "s3_gets_per_s"}], "has no parameter s3_gets_per_s; docs/model.md"),
        ([PARAMETER, PARAMETER], "s3_get_per_s is given twice; keep one"),
        ({}, "must be a list of objects, one per parameter"),
    ],
)
def test_a_parameter_that_cant_be_is_refused_with_its_name_and_the_rule(simulate, tmp_path, rows, words):
    (tmp_path / "own.json").write_text(json.dumps(rows))
    done = simulate(*SMALL, "--parameters", "own.json")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--parameters: own.json: " in done.err and words in done.err


def record(elapsed_s=0.3, **changes):
    record = {"cell": "a", "seq": 0, "concurrency_limit": 1, "elapsed_seconds": elapsed_s, "memory_size": 1769}
    record |= {"warm_up": 0, "status": "ok", "started_at_ms": 1_795_000_000_000, "init_seconds": None}
    return record | {"client_cpu_seconds": 0.1} | changes


@pytest.fixture
def measured(tmp_path):
    """A function that stores a first run of one's own function."""

    def store(records, packages=(), **run):
        folder = tmp_path / "results" / "r"
        folder.mkdir(parents=True, exist_ok=True)
        cells = [Cell(path, {"package": path}, ()).as_json() for path in packages]
        described = {"experiment": "function", "target": "aws", "format": FORMAT, "cells": cells} | run
        (folder / "run.json").write_text(json.dumps(described))
        (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))

    return store


def test_of_what_a_run_measured_processing_goes_with_the_memory_and_waiting_does_not(rows, measured):
    slower = [record(3.0, concurrency_limit=10), record(9.0, warm_up=1), record(9.0, status="error")]
    measured([*slower, *(record() for _ in range(5))])
    chosen = ("--set", "memory_size=884,1769", "--set", "concurrency_value=1")
    printed = rows("function", "--run", "results/r", *chosen)
    seconds = {row["memory_size_mb"]: row["avg_s"] for row in printed if row["start"] == "warm"}
    # 0.1 CPU-s and 0.2 s of waiting; half of a vCPU takes twice as long for the former.
    assert seconds == {1769: pytest.approx(0.3, rel=0.01), 884: pytest.approx(0.4, rel=0.01)}


@pytest.mark.parametrize(
    ("experiment", "run", "records", "words"),
    [
        ("download", {}, [], "--run: the model knows what an operation of download takes; leave it out"),
        ("function", {"experiment": "copy"}, [], "--run: r is a run of copy; name one of function"),
        ("function", {}, [record()], "has fewer than two successful invocations in a cell; name another run"),
    ],
)
def test_a_run_that_says_nothing_of_it_is_refused(simulate, measured, experiment, run, records, words):
    measured(records, **run)
    done = simulate(experiment, "--run", "r")
    assert (done.status, words in done.err) == (2, True)


def test_the_rows_name_the_package_that_the_run_measured_and_of_several_one_must_be_given(
    simulate, rows, measured, tmp_path
):
    packages = {name: str(tmp_path / name) for name in ("mine", "other")}
    for name in packages:
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.py").write_text("def handler(event, context): pass\n")
    chosen = ("function", "--run", "r", "--set", "handler=app.handler", "--set", "concurrency_value=1")
    measured([record()] * 5, packages.values())
    done = simulate(*chosen)
    assert (done.status, "has 2 values of package" in done.err) == (2, True)
    assert {row["package"] for row in rows(*chosen, "--set", f"package={packages['other']}")} == {"other"}
    measured([record()] * 5, [packages["mine"]])
    assert {row["package"] for row in rows(*chosen)} == {"mine"}
    measured([record()] * 5, ["/not/there"])
    assert "the package /not/there, which isn't there any more" in simulate("function", "--run", "r").err


THREE = ("download", "--target", "aws", "--set", "memory_size=2048", "--set", "concurrency_value=1,10,2", "--dry-run")


def test_a_dry_run_has_what_varies_in_columns_in_the_order_of_the_report_and_the_rest_above(stampede):
    lines = stampede("sweep", *THREE, "--repeats", "2").out.splitlines()
    assert lines[0].startswith("3 cells, each 2 times; in all of them: memory_size=2048, object_size_mb=1024")
    header = next(at for at, line in enumerate(lines) if line.endswith(" bottleneck"))
    assert "memory_size" not in " ".join(lines[1:])
    assert [line.split()[0] for line in lines[header + 2 : header + 5]] == ["1", "2", "10"]
    printed = json.loads(stampede("sweep", *THREE, "--repeats", "2", "--format", "json").out)
    assert [(row["concurrency_value"], row["cell"][-1]) for row in printed] == [
        (n, repeat) for n in (1, 2, 10) for repeat in "12"
    ]
    head = stampede("sweep", "copy", "--dry-run", "--format", "csv").out.splitlines()[0]
    assert head == "cell,parallel_limit,warm_up_messages,messages,rounds,share_at_n,avg_s,binds"
