"""The copy by the real program, before a front that misbehaves: what it says it copied is what is there, row by row."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import boto3
import pytest
from botocore.config import Config

from bench import programs
from bench.servers import Front, front

BUCKET, MASTER = "stampede-copies", "masters/1"
TIMEOUT_S = 60


@dataclass
class Copied:
    """What one run of the program said: exit status, summary, stderr, and the rows of its file of failed objects."""

    status: int
    summary: dict[str, Any]
    stderr: str
    failed: list[dict[str, Any]]

    def planned_as_accounted(self) -> int:
        """The rows planned, once the account of them adds up, and every failed one is in the file once."""
        counts = {name: self.summary[name] for name in ("planned", "copied", "already_there", "failed")}
        assert counts["planned"] == counts["copied"] + counts["already_there"] + counts["failed"]
        assert len({failure["line"] for failure in self.failed}) == len(self.failed) == counts["failed"]
        assert self.status == (1 if self.failed else 0), self.stderr
        return counts["planned"]


@dataclass
class Place:
    """A front with a bucket and one master, and a folder for the program's files."""

    front: Front
    folder: Path

    def __post_init__(self) -> None:
        # Another key than the program's, and patience: the front's faults meet this client too.
        keys = {"aws_access_key_id": "tests", "aws_secret_access_key": "tests", "region_name": "us-east-1"}
        patient = Config(retries={"total_max_attempts": 10})
        self.s3 = boto3.client("s3", endpoint_url=self.front.url, config=patient, **keys)
        self.s3.create_bucket(Bucket=BUCKET)
        self.put(MASTER)

    def put(self, key: str, body: bytes = b"a master") -> None:
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    def copies(self) -> set[str]:
        """The keys below copies/ in the front's store."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="copies/")
        return {entry["Key"] for page in pages for entry in page.get("Contents", [])}

    def start(self, rows: list[str], *options: str, **environment: str) -> subprocess.Popen:
        manifest = self.folder / "manifest.csv"
        manifest.write_text("".join(f"{row}\n" for row in rows))
        usual = {
            "--endpoint-url": self.front.url,
            "--region": "us-east-1",
            "--source-bucket": BUCKET,
            "--destination-bucket": BUCKET,
            "--destination-prefix": "copies/",
            "--manifest": str(manifest),
            "--failed": str(self.folder / "failed.jsonl"),
        }
        command = [programs.transfer(), "copy", *itertools.chain.from_iterable(usual.items()), *options]
        keys = {"AWS_ACCESS_KEY_ID": "program", "AWS_SECRET_ACCESS_KEY": "secret"}
        return subprocess.Popen(
            command, env=os.environ | (environment or keys), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def copy(self, rows: list[str], *options: str, **environment: str) -> Copied:
        with self.start(rows, *options, **environment) as process:
            try:
                stdout, stderr = process.communicate(timeout=TIMEOUT_S)
            finally:
                process.kill()
        lines = [json.loads(line) for line in (self.folder / "failed.jsonl").read_text().splitlines()]
        return Copied(
            process.returncode,
            json.loads(stdout),
            stderr,
            [failure for line in lines for failure in line["failed_objects"]],
        )


@pytest.fixture
def place(tmp_path):
    """Starts a front with its settings: place(limit_per_s=5)."""
    with contextlib.ExitStack() as fronts:
        yield lambda **options: Place(fronts.enter_context(front(**options)), tmp_path)


def row(source: str, destination: str) -> str:
    return f"{quote(source)},{quote(destination)}"


def numbered(count: int) -> dict[str, str]:
    """Rows of the master, by their destination."""
    return {f"copies/2015/01/{n}.mp4": row(MASTER, f"copies/2015/01/{n}.mp4") for n in range(count)}


def test_of_rows_of_every_kind_each_is_copied_or_named_once_whatever_answers_get_lost(place):
    made = place(lose_answers=0.1, reset=0.1, deny_prefix=f"{BUCKET}/copies/denied/")
    odd = ["a b", "a+b", "100%", "%2B", "é/日本/😀", "&?#=;", "ü" * 508]  # the source of the last has 1,024 bytes
    names = [*odd, *(f"2015/{n}" for n in range(40))]
    for name in names:  # a master each, so that what a row meets depends on no other
        made.put(f"masters/{name}")
    made.put("copies/same")
    made.put("copies/taken", b"something else")
    good = {f"copies/{name}": row(f"masters/{name}", f"copies/{name}") for name in names}
    bad = {
        "nonsense": "MalformedRow",
        f"{MASTER},copies/%zz": "MalformedRow",
        f"{MASTER},copies/1,many": "MalformedRow",
        row("masters/missing", "copies/1"): "NoSuchKey",
        row(MASTER, "copies/denied/1"): "AccessDenied",
        row("copies/same", "copies/same"): "RowRefused",
        row(MASTER, "copies/taken"): "ObjectDiffers",
        row(MASTER, "copies/" + "x" * 1018): "RowRefused",
    }
    rows = [*good.values(), row(MASTER, "copies/same"), *bad]

    ended = made.copy(rows, "--retry-attempts", "12", "--pace", "fixed")

    assert ended.planned_as_accounted() == len(rows)
    # Of an object that was there before, an answer that got lost could have been that of a copy.
    assert ended.summary["copied"] + ended.summary["already_there"] == len(good) + 1
    assert {rows[failure["line"] - 1]: failure["error_type"] for failure in ended.failed} == bad
    assert ended.summary["malformed"] == 3
    assert made.copies() == {*good, "copies/same", "copies/taken"}
    met = made.front.requests()
    assert min(met["lost"], met["reset"], ended.summary["retries"]) > 0


@pytest.mark.parametrize("pace", ["fixed", "adaptive"])
def test_far_above_the_limit_a_fixed_pace_fails_objects_with_the_reason_and_an_adaptive_one_none(place, pace):
    made, wanted = place(limit_per_s=100), numbered(250)
    rows = list(wanted.values())

    ended = made.copy(rows, "--retry-attempts", "2", "--parallel-limit", "100", "--pace", pace)

    assert ended.planned_as_accounted() == len(rows)
    assert ended.summary["slowdowns"] > 0
    assert {failure["error_type"] for failure in ended.failed} == ({"SlowDown"} if pace == "fixed" else set())
    assert made.copies() == wanted.keys() - {failure["destination"] for failure in ended.failed}
    assert ended.summary["copied"] == len(made.copies())


def test_credentials_that_expire_for_good_end_the_run_and_the_next_one_copies_what_is_left(place):
    made, wanted = place(expire_after=30), numbered(50)
    rows = list(wanted.values())

    first = made.copy(rows, "--retry-attempts", "2", "--parallel-limit", "8")
    assert (first.status, first.summary["planned"], first.summary["failed"]) == (1, None, 0)
    assert "transfer copy: NoCredentials: " in first.stderr
    assert first.summary["copied"] == len(made.copies()) == 30
    assert {failure["error_type"] for failure in first.failed} == {"NotBegun"}
    assert {failure["destination"] for failure in first.failed} == wanted.keys() - made.copies()

    # 30 rows that are there are three requests each: such credentials expire several times, for two calls at most.
    second = made.copy(rows, "--parallel-limit", "2", AWS_CONFIG_FILE=str(renewing(made.folder)))
    assert second.planned_as_accounted() == len(rows)
    assert (second.summary["copied"], second.summary["already_there"], second.failed) == (20, 30, [])
    assert made.copies() == wanted.keys()
    assert made.front.requests()["expired"] > 0


def renewing(folder: Path) -> Path:
    """A configuration whose credentials are new ones every time they are asked for."""
    script = folder / "credentials.py"
    script.write_text(
        "import json, uuid\n"
        'keys = {"Version": 1, "AccessKeyId": "k", "SecretAccessKey": "s"}\n'
        'print(json.dumps(keys | {"SessionToken": uuid.uuid4().hex}))\n'
    )
    config = folder / "config"
    config.write_text(f"[default]\ncredential_process = {sys.executable} {script}\n")
    return config


def test_a_program_that_is_killed_in_mid_copy_and_started_again_copies_what_is_left(place):
    made, wanted = place(), numbered(100)
    rows = list(wanted.values())
    with made.start(rows, "--calls-per-s", "100") as process:
        while len(made.copies()) < 10:
            time.sleep(0.01)
            assert process.poll() is None
        process.kill()
    there = made.copies()
    assert 10 <= len(there) < len(rows)

    ended = made.copy(rows)

    assert ended.planned_as_accounted() == len(rows)
    # Calls that were under way when their client was killed may reach the front after the listing.
    assert len(there) <= ended.summary["already_there"] < len(rows)
    assert made.copies() == wanted.keys()


def test_a_source_bucket_that_is_missing_ends_the_run_in_one_line_with_nothing_copied(place):
    made = place()

    ended = made.copy(list(numbered(20).values()), "--source-bucket", "nowhere")

    assert (ended.status, ended.summary["planned"], ended.summary["copied"]) == (1, None, 0)
    assert {failure["error_type"] for failure in ended.failed} == {"NotBegun"}
    assert len(ended.failed) == 20
    assert "transfer copy: NoSuchBucket: " in ended.stderr
    assert made.copies() == set()
