"""The file system experiment on the embedded AWS, with real Terraform, swept as a user sweeps it.

Nothing is mounted there: a folder stands in. `make test-slow` runs it.
"""

import csv
import itertools
import json
import os
import subprocess

import pytest

from tests.emulator.applied_stack import STAMPEDE

pytestmark = [pytest.mark.slow]

FILES = 20


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The table that a sweep over S3 and EFS printed, what it said, and its results folder."""
    work, state = tmp_path_factory.mktemp("filesystem"), tmp_path_factory.mktemp("state")
    command = [*STAMPEDE, "sweep", "filesystem", "--messages-per-concurrency", "3", "--format", "json"]
    for setting in (f"small_files={FILES}", "large_file_mb=1", "timeout_s=20"):
        command += ["--set", setting]
    environment = os.environ | {"STAMPEDE_STATE_DIR": str(state / "local")}
    done = subprocess.run(
        command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    [folder] = (work / "results").iterdir()
    return json.loads(done.stdout), done.stderr, folder


def test_every_storage_and_data_set_has_its_first_read_and_its_repeats(swept):
    rows = {(row["storage"], row["dataset"], row["read"]): row for row in swept[0] if row["count"]}
    counts = {}
    for storage, dataset in itertools.product(("s3", "efs"), ("large", "small")):
        counts |= {(storage, dataset, "first"): 1, (storage, dataset, "repeat"): 2}
    assert {key: row["count"] for key, row in rows.items()} == counts
    assert {row["source"] for (storage, *_), row in rows.items() if storage == "efs"} == {"this machine, a folder"}
    assert {(storage, row["method"]) for (storage, *_), row in rows.items()} == {
        ("s3", "download_file"),
        ("efs", "copy"),
    }


def test_the_records_say_what_was_copied_and_how(swept):
    records = [json.loads(line) for line in (swept[2] / "records.jsonl").read_text().splitlines()]
    assert {(record["dataset"], record["files"], record["bytes"]) for record in records} == {
        ("large", 1, 2**20),
        ("small", FILES, 2 * 550_000),
    }
    assert {record["storage"] for record in records if record["listing_seconds"] is not None} == {"s3"}
    assert {record["read_order"] for record in records} == {1, 2, 3}


def test_cells_that_differ_in_their_work_orders_share_an_apply_and_take_turns(swept):
    lines = swept[1].splitlines()
    assert sum(", interleaved in 3 rounds: terraform apply" in line for line in lines) == 2
    assert [line for line in lines if line.startswith("round ")] == 2 * [f"round {at} of 3" for at in (1, 2, 3)]
    assert sum("seeding what is missing" in line for line in lines) == 2


def test_the_published_figures_stand_beside_on_a_page_that_misses_nothing(swept):
    _, _, folder = swept
    page = (folder / "report.html").read_text()
    assert "stood in for efs" in page
    assert 'id="warnings"' not in page
    assert "The figures below are in doubt" not in page
    with (folder / "cells.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 8
    assert "AWS, published" in (folder / "table.md").read_text()
