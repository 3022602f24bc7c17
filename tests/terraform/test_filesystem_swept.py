"""The file system experiment on the embedded AWS, with real Terraform, swept as a user sweeps it.

Nothing is mounted there: a folder stands in. `make test-slow` runs it.
"""

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
    """The rows that a sweep over S3 and EFS printed, and its results folder."""
    work, state = tmp_path_factory.mktemp("filesystem"), tmp_path_factory.mktemp("state")
    command = [
        *STAMPEDE,
        "sweep",
        "filesystem",
        "--messages-per-concurrency",
        "3",
        "--format",
        "json",
    ]
    for setting in (f"small_files={FILES}", "large_file_mb=1", "timeout_s=20"):
        command += ["--set", setting]
    environment = os.environ | {"STAMPEDE_STATE_DIR": str(state / "local")}
    done = subprocess.run(
        command,
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    [folder] = (work / "results").iterdir()
    assert done.stderr.count("round 3 of 3") == 2, (
        "cells that differ in their work orders share an apply"
    )
    return json.loads(done.stdout), folder


def test_every_storage_and_data_set_has_its_first_read_and_its_repeats(swept):
    rows = {(row["storage"], row["dataset"], row["read"]): row for row in swept[0] if row["count"]}
    counts = {}
    for storage, dataset in itertools.product(("s3", "efs"), ("large", "small")):
        counts |= {(storage, dataset, "first"): 1, (storage, dataset, "repeat"): 2}
    assert {key: row["count"] for key, row in rows.items()} == counts
    assert {row["source"] for (storage, *_), row in rows.items() if storage == "efs"} == {
        "this machine, a folder"
    }
    assert {(storage, row["method"]) for (storage, *_), row in rows.items()} == {
        ("s3", "download_file"),
        ("efs", "copy"),
    }


def test_the_records_say_what_was_copied_and_how(swept):
    records = [json.loads(line) for line in (swept[1] / "records.jsonl").read_text().splitlines()]
    assert {(record["dataset"], record["files"], record["bytes"]) for record in records} == {
        ("large", 1, 2**20),
        ("small", FILES, 2 * 550_000),
    }
    assert {record["storage"] for record in records if record["listing_seconds"] is not None} == {
        "s3"
    }
    assert {record["read_order"] for record in records} == {1, 2, 3}
    page = (swept[1] / "report.html").read_text()
    assert "stood in for efs" in page and 'id="warnings"' not in page
    assert "AWS, published" in (swept[1] / "table.md").read_text()
