"""`stampede simulate` and the dry run of a sweep: their columns and forms, the same answer for the same seed, and what
they refuse."""

import csv
import io
import json

import pytest

from stampede.cell import FORMAT, Cell

# A plan of four cells that are foreseen in milliseconds.
SMALL = "download --set concurrency_value=10,5 --messages-per-concurrency 4"
FUNCTION = "function --run r --set handler=app.handler --set concurrency_value=1"
COLUMNS = ["memory_size_mb", "concurrency", "count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"]
PARAMETER = {"name": "s3_get_per_s", "value": 20, "low": 20, "high": 20, "unit": "requests/s", "known": "guessed"}
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
    cells = [(row["memory_size_mb"], row["concurrency"], row["count"]) for row in printed]
    assert cells == [("1024", "5", "20"), ("1024", "10", "40"), ("2048", "5", "20"), ("2048", "10", "40")]
    first = rows(SMALL)[0]
    assert first.keys() >= {*printed[0], "method", "ranges"}
    assert all(low <= first[name] <= high for name, (low, high) in first["ranges"].items())


def test_own_parameters_replace_the_models_and_a_seed_decides(rows, tmp_path):
    (tmp_path / "own.json").write_text(json.dumps([PARAMETER]))
    usual, slower = rows(SMALL)[0], rows(f"{SMALL} --parameters own.json")[0]
    assert (slower["parameters_date"], slower["requests_limit_per_s"]) == ("2030-01-01", 20)
    assert slower["binds"] == "S3's GET rate: 20 a second for all"
    assert slower["avg_s"] > 2 * usual["avg_s"] and slower["usd"] > 2 * usual["usd"]
    first, again, other = (rows(f"{SMALL} --seed {seed}") for seed in (3, 3, 4))
    assert first == again != other


def test_the_table_has_the_answer_above_it_and_fits_100_columns(simulate):
    first, sweep, empty, *table = simulate(SMALL).out.splitlines()
    assert first.startswith("10 at once after 1 s; a download 12.7 s; 40 done in 55 s; 0.0111 USD; limit: the func")
    assert "1,024 MB, N = 10; the sweep of 4 cells takes " in sweep and " and costs " in sweep and empty == ""
    assert max(map(len, table)) <= 100
    assert [line.split()[:2] for line in table if "1,024" in line] == [["1,024", "5"], ["1,024", "10"]]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "download --set concurrency_value=500",
            "500 at once after 99 s; a download 12.9 s (p99 14.2); 5,000 done in 186 s; 1.34 USD; "
            "limit: the trigger's ramp (with provisioned_pollers=50: 1 s)",
        ),
        ("download --set concurrency_value=500 --repeats 2", "5,000 done in 186 s; 1.34 USD; limit"),
        ("download --set concurrency_value=60 --set provisioned_pollers=6", "limit: the function's network, 75 MiB/s"),
        ("download --set concurrency_value=60 --set maximum_concurrency=6", "never 60 at once, 6 at most; a download"),
        ("download --set concurrency_value=2 --set timeout_s=5", "; no download succeeds; 0 of 20 done in 283 s; "),
        ("download --set concurrency_value=1 --crash-percent 50", "; a download 12.5 s; 10 done in 18 min 18 s; "),
        # A poller asks ten times a second at most: of messages this short the model doesn't know what it does.
        ("function --set concurrency_value=100", "never 100 at once, 54 at most; an invocation 0.260 s (p99 0.326); "),
        ("function --set concurrency_value=100", "limit: the trigger's ramp\n"),
        ("function --set concurrency_value=1", "limit: the function's processors, 0.58 vCPU at 1024 MB (with memory_"),
        ("function --set concurrency_value=1", "memory_size=2048: 0.151 s)\n"),
        ("function --set concurrency_value=1 --set memory_size=1700", "0.96 vCPU at 1700 MB\n"),  # 4 % are no help
        (
            "copy --set parallel_limit=1",
            "a copy run 437 s; 5 done in 36 min 32 s; 0.0684 USD; limit: waiting for answers, 433 ms",
        ),
    ],
)
def test_the_answer_is_of_the_largest_n_and_names_what_mends_its_limit(simulate, command, words):
    command += "" if "memory_size" in command else " --set memory_size=1024"
    assert words in simulate(command).out.partition("\nThis is for ")[0] + "\n"


def test_settings_that_differ_and_departing_variants_are_told(simulate, rows):
    settings = ("concurrency_value=2", "memory_size=2048", "method=stream", "object_size_mb=4,8")
    swept = " ".join(["download", *(f"--set {setting}" for setting in settings)])
    table = [(row["settings"], row["method"]) for row in rows(swept)]
    assert table == [("object_size_mb=4", "stream"), ("object_size_mb=8", "stream")]
    assert "object_size_mb=4" in simulate(swept).out and " stream" not in simulate(swept).out.partition("\n\n")[2]


def test_repeats_of_a_cell_are_one_row_and_first_and_later_operations_have_one_each(rows):
    cell = "download --set concurrency_value=5 --set memory_size=2048"
    [once], [twice] = (rows(f"{cell} --repeats {repeats}") for repeats in (1, 2))
    assert (once["count"], twice["count"]) == (50, 100)
    assert twice["usd"] > 1.5 * once["usd"]
    cell = "filesystem --set storage=efs --set dataset=large --set memory_size=3008"
    first, repeat = rows(cell)
    assert [(row["read"], row["count"]) for row in (first, repeat)] == [("first", 1), ("repeat", 10)]
    assert first["avg_s"] > 10 * repeat["avg_s"]
    assert repeat["ranges"]["avg_s"][0] <= repeat["avg_s"] <= repeat["ranges"]["avg_s"][1]
    assert repeat["usd"] == pytest.approx(10 * first["usd"], rel=1e-3)
    [warmed] = rows(f"{cell} --warm-up-per-concurrency 1")
    assert (warmed["read"], warmed["count"]) == ("repeat", 11)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_picture_is_drawn_and_has_the_same_bytes_again(simulate, tmp_path, ending):
    paths = [tmp_path / f"{name}.{ending}" for name in ("first", "again")]
    for path in paths:
        assert simulate(f"{SMALL} --picture {path}").err.startswith(f"picture: {path}")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert ending == "png" or "2,048 MB, N = 10" in paths[0].read_text()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("download --picture x.pdf", ".svg or .png"),
        ("download --parameters no.json", "--parameters: no.json: can't be read"),
        ("download --target local", "'aws'"),
        ("download --crash-percent 51", "0 to 50, got '51'"),
        ("download --account-concurrency 500", "--account-concurrency 500: 400 can be reserved"),
        ("download --messages-per-concurrency 1000000000", "at most 1,000,000"),
        ("download --messages-per-s 80", "--messages-per-s: is for a function of your own, and not for download"),
        *((f"function --messages-per-s {rate}", f"a second above 0, got '{rate}'") for rate in ("0", "-1", "nan", "x")),
        ("download --run r", "--run: is for a function of your own, and not for download"),
    ],
)
def test_wrong_input_is_one_line_with_the_fix_and_exit_status_2(simulate, command, words):
    done = simulate(command)
    assert (done.status, done.out, done.err.count("\n"), words in done.err) == (2, "", 1, True), done.err


@pytest.mark.parametrize(
    ("change", "words"),
    [({"value": 0}, "`$[0].value`"), ({"name": "s3_gets_per_s"}, "no parameter s3_gets_per_s")],
)
def test_a_parameter_that_cant_be_is_refused_with_its_name_and_the_rule(simulate, tmp_path, change, words):
    (tmp_path / "own.json").write_text(json.dumps([PARAMETER | change]))
    done = simulate(f"{SMALL} --parameters own.json")
    assert (done.status, done.err.count("\n"), words in done.err) == (2, 1, True)


def record(elapsed_s=0.3, **changes):
    record = {"cell": "a", "seq": 0, "concurrency_limit": 1, "elapsed_seconds": elapsed_s, "memory_size": 1769}
    record |= {"warm_up": 0, "status": "ok", "started_at_ms": 1_795_000_000_000, "init_seconds": None}
    return record | {"client_cpu_seconds": 0.1} | changes


@pytest.fixture
def measured(tmp_path):
    """A function that stores a first run of one's own function."""

    def store(records, package=None, batch_size=1, **run):
        folder = tmp_path / "results" / "r"
        folder.mkdir(parents=True, exist_ok=True)
        cells = [Cell("a", {"package": package, "batch_size": batch_size}, ()).as_json()]
        described = {"experiment": "function", "target": "aws", "format": FORMAT, "cells": cells} | run
        (folder / "run.json").write_text(json.dumps(described))
        (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))

    return store


def test_of_what_a_run_measured_processing_goes_with_the_memory_and_waiting_does_not(rows, measured):
    slower = [record(3.0, concurrency_limit=10), record(9.0, warm_up=1), record(9.0, status="error")]
    measured([*slower, *(record() for _ in range(5))])
    printed = rows("function --run results/r --set memory_size=884,1769 --set concurrency_value=1")
    seconds = {row["memory_size_mb"]: row["avg_s"] for row in printed if row["start"] == "warm"}
    # 0.1 CPU-s and 0.2 s of waiting; half of a vCPU takes twice as long for the former.
    assert seconds == {1769: pytest.approx(0.3, rel=0.01), 884: pytest.approx(0.4, rel=0.01)}


def test_an_invocation_is_predicted_with_the_batches_that_the_run_measured_or_those_that_are_set(
    rows, simulate, measured
):
    batch = [record(2.0, batch_size=5, batch=3, batch_index=index) for index in range(3)]
    measured([*(batch * 5), record(9.0, batch_size=10), record(9.0, batch_size=10)], batch_size=5)
    command = "function --run results/r --set memory_size=1769 --set concurrency_value=1"
    printed = rows(command)
    assert [(row["batch_size"], row["avg_s"]) for row in printed] == [(5, pytest.approx(2.0, rel=0.05))] * len(printed)
    assert sum(row["count"] for row in printed) == 11, "invocations"
    swept = simulate(f"{command} --set batch_size=1,10")
    assert "an invocation with 5 messages, which is taken to last as long" in swept.err


@pytest.mark.parametrize(
    ("settings", "line", "busy"),
    [
        ("concurrency_value=10,100", "80/s of 0.2 s each: 16 at once on average; N = 10 would queue", [1.6, 0.16]),
        ("concurrency_value=2,16", "; N = 2 and N = 16 would queue", [8, 1]),  # 16 are busy all the time, on average
        ("concurrency_value=17", "16 at once on average; no N here would queue", [0.94]),
        ("concurrency_value=5 --set batch_size=5", "80/s in batches of 5, 0.2 s each: 3.2 at once on ", [0.64]),
        ("concurrency_value=20 --set maximum_concurrency=2", "16 at once on average; N = 20 would queue", [8]),
        ("concurrency_value=1 --set timeout_s=1 --set memory_size=128", "80/s: no invocation succeeds", [None]),
    ],
)
def test_a_load_keeps_as_many_busy_as_come_within_the_seconds_of_one(simulate, rows, measured, settings, line, busy):
    measured([record(0.2)] * 5)
    command = f"function --run r --messages-per-s 80 --set {settings}"
    command += "" if "memory_size" in settings else " --set memory_size=1769"
    assert line in simulate(command).out.partition("\n")[0]
    by_n = {row["concurrency"]: row["busy"] and round(row["busy"], 2) for row in rows(command)}
    assert list(by_n.values()) == busy


def test_a_run_of_another_experiment_or_of_too_few_records_is_refused(simulate, measured):
    for stored, words in (({"experiment": "copy"}, "is a run of copy"), ({}, "fewer than two successful")):
        measured([record()], **stored)
        done = simulate("function --run r")
        assert (done.status, words in done.err) == (2, True)


def test_the_rows_name_the_package_that_the_run_measured_or_the_one_that_is_set(rows, measured, tmp_path):
    packages = {name: str(tmp_path / name) for name in ("mine", "other")}
    for name in packages:
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.py").write_text("def handler(event, context): pass\n")
    measured([record()] * 5, packages["mine"])
    assert {row["package"] for row in rows(FUNCTION)} == {"mine"}
    assert {row["package"] for row in rows(f"{FUNCTION} --set package={packages['other']}")} == {"other"}


def test_a_dry_run_has_what_is_swept_in_columns_in_the_order_of_the_report_and_the_rest_above(stampede):
    plan = [
        "--target",
        "aws",
        "--set",
        "memory_size=2048",
        "--set",
        "concurrency_value=1,10,2",
        "--repeats",
        "2",
        "--dry-run",
    ]
    lines = stampede("sweep", "download", *plan).out.splitlines()
    assert lines[0].startswith("3 cells, each 2 times; in all of them: object_size_mb=1024")
    header = next(at for at, line in enumerate(lines) if line.endswith(" binds"))
    assert [line.split()[:2] for line in lines[header + 2 : header + 5]] == [["2048", n] for n in ("1", "2", "10")]
    printed = json.loads(stampede("sweep", "download", *plan, "--format", "json").out)
    cells = [(row["concurrency_value"], row["cell"][-1]) for row in printed]
    assert cells == [(n, repeat) for n in (1, 2, 10) for repeat in "12"]
    head = stampede("sweep", "copy", "--dry-run", "--format", "csv").out.splitlines()[0]
    assert head == "cell,parallel_limit,warm_up_messages,messages,rounds,share_at_n,avg_s,binds"
