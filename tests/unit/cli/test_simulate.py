"""`stampede simulate`: the columns, the forms, the same answer for the same seed, and what it refuses."""

import csv
import io
import json
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main

# A plan of four cells that are foreseen in milliseconds.
SMALL = ("download", "--set", "concurrency_value=10,5", "--messages-per-concurrency", "4")
COLUMNS = [
    *("memory_size_mb", "concurrency", "count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"),
    *("time_to_n_s", "share_at_n", "most_at_once", "drain_s", "peak_requests_per_s", "usd", "binds"),
]
PARAMETER = {
    "name": "s3_get_per_s",
    "value": 20,
    "low": 20,
    "high": 20,
    "unit": "requests/s",
    "known": "guessed",
    "source": "a test",
    "date": "2030-01-01",
}


@pytest.fixture
def simulate(capsys, monkeypatch, tmp_path):
    """A function that runs the verb in this process, away from the repository; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in ("TF_VAR_memory_size", "TF_VAR_concurrency_value"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        try:
            status = main(["simulate", *arguments])
        except SystemExit as left:
            status = left.code
        printed = capsys.readouterr()
        return SimpleNamespace(status=status, out=printed.out, err=printed.err)

    return run


def parameters_file(tmp_path, **changes):
    path = tmp_path / "own.json"
    path.write_text(json.dumps([PARAMETER | changes]))
    return str(path)


def in_csv(printed):
    return list(csv.DictReader(io.StringIO(printed.out)))


def in_json(printed):
    return json.loads(printed.out)


def test_csv_has_the_columns_of_the_table_then_the_models_in_the_tables_order(simulate):
    rows = in_csv(simulate(*SMALL, "--format", "csv"))
    assert list(rows[0]) == COLUMNS
    cells = [(row["memory_size_mb"], row["concurrency"], row["count"]) for row in rows]
    assert cells == [("1024", "5", "20"), ("1024", "10", "40"), ("2048", "5", "20"), ("2048", "10", "40")]


def test_json_has_the_ranges_and_own_parameters_replace_the_models(simulate, tmp_path):
    own = ("--parameters", parameters_file(tmp_path))
    usual, slower = (in_json(simulate(*SMALL, "--format", "json", *more))[0] for more in ((), own))
    assert set(COLUMNS) < set(slower)
    assert all(low <= slower[name] <= high for name, (low, high) in slower["ranges"].items())
    assert (slower["parameters_date"], slower["requests_limit_per_s"]) == ("2030-01-01", 20)
    assert slower["binds"] == "S3's GET rate: 20 a second for all"
    assert slower["avg_s"] > 2 * usual["avg_s"]
    assert slower["usd"] > 2 * usual["usd"]  # functions are billed for as long as they wait


def test_the_same_seed_has_the_same_answer_and_another_seed_another(simulate):
    first, again, other = (simulate(*SMALL, "--format", "csv", "--seed", seed).out for seed in ("3", "3", "4"))
    assert first == again
    assert first != other


def test_the_table_has_the_answer_above_it_and_fits_100_columns_but_for_wide(simulate):
    table, wide = (simulate(*SMALL, *more).out.splitlines() for more in ((), ("--wide",)))
    assert table[0].startswith("N = 10 is reached after 1 s; downloads take 12.6 to 12.7 s")
    assert max(map(len, table[1:])) <= 100
    rows, wide_rows = ([line.split() for line in lines if ",024 " in line] for lines in (table, wide))
    assert [row[:2] for row in rows] == [["1,024", "5"], ["1,024", "10"]]
    assert set(rows[0]) < set(wide_rows[0])


def test_an_n_that_is_not_reached_says_how_many_run_at_once(simulate):
    cell = ("function", "--set", "concurrency_value=100", "--set", "memory_size=1769")
    most = in_json(simulate(*cell, "--format", "json"))[0]["most_at_once"]
    assert simulate(*cell).out.startswith(f"At most {most} of N = 100 run at once")


def test_the_table_has_the_settings_that_differ_and_files_the_departing_variants_too(simulate):
    cell = ("download", "--set", "concurrency_value=2", "--set", "memory_size=2048", "--set", "method=stream")
    swept = (*cell, "--set", "object_size_mb=4,8")
    rows = in_csv(simulate(*swept, "--format", "csv"))
    assert [row["settings"] for row in rows] == ["object_size_mb=4", "object_size_mb=8"]
    assert [row["method"] for row in rows] == ["stream", "stream"]
    assert "2 object_size_mb=4 0.0466" in simulate(*swept).out


def test_repeats_of_a_cell_are_one_row_with_the_bill_of_all(simulate):
    cell = ("download", "--set", "concurrency_value=5", "--set", "memory_size=2048", "--format", "json")
    [once], [twice] = (in_json(simulate(*cell, "--repeats", repeats)) for repeats in ("1", "2"))
    assert (once["count"], twice["count"]) == (50, 100)
    assert twice["usd"] > 1.5 * once["usd"]


def test_first_and_later_operations_have_a_row_each_where_records_tell_them_apart(simulate):
    cell = ("filesystem", "--set", "storage=efs", "--set", "dataset=large", "--set", "memory_size=3008")
    first, repeat = in_json(simulate(*cell, "--format", "json"))
    assert [(row["read"], row["count"]) for row in (first, repeat)] == [("first", 1), ("repeat", 10)]
    assert first["avg_s"] > 10 * repeat["avg_s"]
    assert repeat["ranges"]["avg_s"][0] <= repeat["avg_s"] <= repeat["ranges"]["avg_s"][1]
    assert repeat["usd"] == pytest.approx(10 * first["usd"], rel=1e-3)
    [warmed] = in_json(simulate(*cell, "--warm-up-per-concurrency", "1", "--format", "json"))
    assert (warmed["read"], warmed["count"]) == ("repeat", 11)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_picture_is_drawn_and_has_the_same_bytes_again(simulate, tmp_path, ending):
    paths = [tmp_path / f"{name}.{ending}" for name in ("first", "again")]
    for path in paths:
        assert simulate(*SMALL, "--picture", str(path)).err.startswith(f"picture: {path}")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    if ending == "svg":
        text = paths[0].read_text()
        assert "predicted" in text
        assert "2,048 MB, N = 10" in text


REFUSED = {
    "another ending": ([*SMALL, "--picture", "x.pdf"], "must be a file that ends in .svg or .png, got 'x.pdf'"),
    "a folder for a picture": ([*SMALL, "--picture", "there.svg"], "must be a file in a folder that exists"),
    "no folder for the picture": ([*SMALL, "--picture", "no/x.svg"], "must be a file in a folder that exists"),
    "no parameters there": ([*SMALL, "--parameters", "no.json"], "--parameters: no.json: can't be read"),
    "a folder for parameters": ([*SMALL, "--parameters", "there.svg"], "--parameters: there.svg: can't be read"),
    "N in words": (
        ["download", "--set", "concurrency_value=many"],
        "must be a whole number from 1 to 100000, got 'many'",
    ),
    "N below 1": (["download", "--set", "concurrency_value=0"], "must be a whole number from 1 to 100000, got 0"),
    "memory in words": (
        ["download", "--set", "memory_size=big"],
        "memory_size: must be a whole number of MB from 128 to 10240, got 'big'",
    ),
    "a variable that isn't there": (
        ["download", "--set", "memory=1"],
        "no variable 'memory'; did you mean memory_size",
    ),
    "an experiment that isn't there": (["downlod"], "invalid choice: 'downlod'"),
    "no messages": (["download", "--messages-per-concurrency", "0"], "must be a whole number of 1 or more, got '0'"),
    "messages for weeks": (
        ["download", "--messages-per-concurrency", "1000000000"],
        "5,000,000,000 messages, but the model simulates at most 1,000,000 in one flood; use a smaller --messages-per",
    ),
    "a warm-up for weeks": (
        ["download", "--warm-up-per-concurrency", "1000000000"],
        "5,000,000,000 messages, but the model simulates at most 1,000,000 in one flood; use a smaller --warm-up-per",
    ),
    "processors that aren't there": (
        ["download", "--set", "architecture=mips"],
        "--set architecture: must be x86_64 or arm64, got 'mips'",
    ),
    "a seed below 0": (["download", "--seed", "-1"], "must be a whole number of 0 or more, got '-1'"),
    "a barrier that outlasts the timeout": (
        ["download", "--start-barrier-s", "60"],
        "a start barrier of 60 s and 3 s for the record don't fit into timeout_s 60",
    ),
    "pollers that aren't an object": (
        ["download", "--set", "provisioned_pollers=5"],
        "provisioned_pollers: must be an object of two whole numbers, such as {minimum=2,maximum=20}, got 5",
    ),
    "pollers the wrong way round": (
        ["download", "--set", "provisioned_pollers={minimum=90,maximum=50}"],
        "the maximum must not be below",
    ),
    "this machine": (
        ["download", "--target", "local"],
        "--target local: the model predicts sweeps on AWS only; leave it out, or measure this machine with `stampede",
    ),
    "crashes of more than half": (["download", "--crash-percent", "51"], "must be a percentage of 0 to 50, got '51'"),
    "a new account": (
        ["download", "--account-concurrency", "10"],
        "--account-concurrency 10: 0 can be reserved, because 100 must stay unreserved, but concurrency_value is 500",
    ),
    "memory of 0": (
        ["download", "--set", "memory_size=0"],
        "memory_size: must be a whole number of MB from 128 to 10240, got 0",
    ),
    "an object of nothing": (
        ["download", "--set", "object_size_mb=0"],
        "object_size_mb: must be a whole number of MiB, at least 1, got 0",
    ),
    "a timeout below 0": (
        ["download", "--set", "timeout_s=-1"],
        "timeout_s: must be a whole number of seconds from 1 to 900, got -1",
    ),
    "a bool that isn't one": (
        ["copy", "--set", "from_manifest=maybe"],
        "from_manifest: must be true or false, got 'maybe'",
    ),
    "a value beside those that infra/ allows": (
        ["download", "--set", "log_retention_days=8"],
        "--set log_retention_days: must be one of 1, 3, 5, 7",
    ),
    "what a host takes from its type": (
        ["copy_host", "--set", "memory_size=1024"],
        "--set memory_size: has no effect on copy_host; leave it out",
    ),
    "one value in two forms": (["download", "--set", "memory_size=1024,1024.0"], "a value is given twice"),
    "the seed of a key plan": (
        ["copy", "--set", "from_manifest=true", "--set", "data_seed=-1"],
        "data_seed: must be a whole number from 0 to",
    ),
    "a prefix that infra/ refuses": (
        ["download", "--set", "prefix=Stampede_X"],
        "prefix: must be 2 to 20 lower-case letters, digits and hyphens",
    ),
    "a message that comes back too soon": (
        ["download", "--set", "visibility_timeout_s=60"],
        "visibility_timeout_s: must be at least 6 x timeout_s = 360, got 60; leave it out",
    ),
    "N beyond a standard trigger": (
        ["download", "--set", "concurrency_value=1001"],
        "concurrency_value 1001: an SQS trigger in standard mode reaches 1000 at most; set provisioned_pollers",
    ),
    "N beyond all pollers": (
        ["download", "--set", "concurrency_value=100001"],
        "concurrency_value: must be a whole number from 1 to 100000, got 100001",
    ),
    "N beyond the pollers there are": (
        ["download", "--set", "concurrency_value=500", "--set", "provisioned_pollers={minimum=2,maximum=20}"],
        "reach 200 functions at once, but concurrency_value is 500; use --set provisioned_pollers",
    ),
    "N beyond the account": (
        ["download", "--account-concurrency", "500"],
        "--account-concurrency 500: 400 can be reserved, because 100 must stay unreserved, but",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_one_line_with_the_fix_and_exit_status_2(simulate, tmp_path, case):
    arguments, words = REFUSED[case]
    (tmp_path / "there.svg").mkdir()
    done = simulate(*arguments)
    assert words in done.err
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)


def test_an_experiment_without_a_model_is_refused_with_those_that_have_one(simulate, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "download", EXPERIMENTS["download"].with_(work=None))
    done = simulate(*SMALL)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(
        "stampede: download: there is no model of its operation; experiments with a model: filesystem"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"value": 0}, "own.json: s3_get_per_s: value must be a number above 0, got 0"),
        ({"low": -1}, "own.json: s3_get_per_s: low must be a number above 0, got -1"),
        ({"unit": ""}, "own.json: s3_get_per_s has no unit; add in which unit its value is\n"),
        ({"source": ""}, "own.json: s3_get_per_s has no source; add where its value is from\n"),
        ({"date": None}, "own.json: s3_get_per_s has no date; add of which year, month or day its value is\n"),
        ({"value": "20"}, "own.json: s3_get_per_s: value must be a number above 0, got '20'"),
        ({"date": "lately"}, "own.json: s3_get_per_s: date must be a year, month or day (2026-11-22), got 'lately'"),
        ({"name": "s3_gets_per_s"}, "own.json: the model has no parameter s3_gets_per_s; did you mean s3_get_per_s?"),
        (
            {"name": "nix"},
            "own.json: the model has no parameter nix; its names are in stampede/model/parameters.json and "
            "experiments/download/parameters.json\n",
        ),
    ],
)
def test_a_parameter_that_cant_be_is_refused_with_its_name_and_the_rule(simulate, tmp_path, changes, words):
    done = simulate(*SMALL, "--parameters", parameters_file(tmp_path, **changes))
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"--parameters: {words}" in done.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "--parameters: own.json: can't be read as JSON: "),
        (
            "\ufeff[]",
            "own.json: can't be read as JSON: it begins with a byte order mark; save it as UTF-8 without one\n",
        ),
        ("{}", "--parameters: own.json: must be a list of objects, one per parameter"),
        (json.dumps([PARAMETER, PARAMETER]), "--parameters: own.json: s3_get_per_s is given twice; keep one"),
    ],
)
def test_a_file_that_holds_no_parameters_is_refused(simulate, tmp_path, text, words):
    (tmp_path / "own.json").write_text(text)
    done = simulate(*SMALL, "--parameters", "own.json")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err
