"""What `sweep --dry-run` prints: a row a cell in the order of the report, with a column for what varies."""

import csv
import io
import json
import re

import pytest

from stampede.cli.command_line import main

THREE = ("--target", "aws", "--set", "memory_size=2048", "--set", "concurrency_value=1,10,2")


@pytest.fixture
def dry_run(capsys):
    def run(*arguments):
        assert main(["sweep", *arguments, "--dry-run"]) == 0
        return capsys.readouterr()

    return run


def test_the_table_has_what_varies_in_columns_in_the_order_of_the_report_and_the_rest_above(dry_run):
    lines = dry_run("download", *THREE).out.splitlines()
    assert lines[0] == "3 cells, in the order of the table; they run in an order shuffled by --seed 1"
    assert lines[1].startswith("the same in all cells: memory_size=2048, object_size_mb=1024")
    header = lines.index("") + 2
    assert "memory_size" not in " ".join(lines[2:])
    assert lines[header].split()[-1] == "bottleneck"
    assert [line.split()[0] for line in lines[header + 2 : header + 5]] == ["1", "2", "10"]


def test_large_counts_have_separators_and_long_sweeps_hours_in_the_table_alone(dry_run):
    cells = ("download", "--set", "concurrency_value=500", "--set", "memory_size=2048", "--target", "aws")
    many = (*cells, "--messages-per-concurrency", "40", "--warm-up-per-concurrency", "2")
    table = dry_run(*many, "--repeats", "40").out
    assert " 1,000 " in table and " 20,000 " in table
    assert re.search(r"duration: about \d+ h \d+ min for 40 cells", table)
    [row] = json.loads(dry_run(*many, "--format", "json").out)
    assert (row["warm_up_messages"], row["messages"]) == (1000, 20_000)


def test_repeats_are_one_row_in_the_table_and_a_row_each_for_programs(dry_run):
    table = dry_run("download", *THREE, "--repeats", "2").out
    assert table.startswith("3 cells, each 2 times, in the order")
    rows = json.loads(dry_run("download", *THREE, "--repeats", "2", "--format", "json").out)
    assert [(row["concurrency_value"], row["cell"][-1]) for row in rows] == [
        (n, repeat) for n in (1, 2, 10) for repeat in "12"
    ]


def test_csv_has_the_names_of_cells_their_coordinates_and_what_json_has(dry_run):
    rows = list(csv.DictReader(io.StringIO(dry_run("copy", "--format", "csv").out)))
    assert list(rows[0]) == [
        "cell",
        "parallel_limit",
        "warm_up_messages",
        "messages",
        "rounds",
        "share_at_n",
        "avg_s",
        "binds",
    ]


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (("--messages-per-concurrency", "3"), True),
        (("--messages-per-concurrency", "5", "--repeats", "2"), False),
        (("--set", "operation=count"), False),
    ],
)
def test_too_few_measurements_for_a_conclusion_are_said_before_the_sweep(dry_run, options, warned):
    done = dry_run("express", *options)
    line = (
        "measurements: 3 in the smallest cell; the report draws a conclusion about a size from 10 on; "
        "raise --messages-per-concurrency or --repeats"
    )
    assert (line in done.err.splitlines()) is warned


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--set", "memory_size=512"), "--set"),
        (("--repeats", "1"), "--repeats"),
        (("--seed", "1"), "--seed"),
        (
            ("--messages-per-concurrency", "3", "--start-barrier-s", "5"),
            "--messages-per-concurrency and --start-barrier-s",
        ),
        (("--warm-up-per-concurrency", "0"), "--warm-up-per-concurrency"),
    ],
)
def test_a_run_is_resumed_with_its_stored_plan_or_not_at_all(options, named, capsys):
    assert main(["sweep", "download", "--resume", "20261122T120000Z", *options]) == 2
    assert capsys.readouterr().err == (
        f"stampede: --resume: runs the stored plan; leave {named} out, or start a new sweep\n"
    )
