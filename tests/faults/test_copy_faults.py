"""The real program copies through a front with faults: what it reports as copied is there, row by
row. The tests of its package cover faults of a single row."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

from bench import programs
from bench.servers import front

BUCKET, MASTER = "stampede-copies", "masters/1"
TIMEOUT_S = 60
KEYS = {"AWS_ACCESS_KEY_ID": "program", "AWS_SECRET_ACCESS_KEY": "secret"}


class Place:
    """A front with a bucket and one master object, and a folder for the program's files."""

    def __init__(self, made, folder):
        self.front, self.folder = made, folder
        # A key other than the program's, and more attempts: the front's faults affect this
        # client too.
        self.s3 = boto3.client(
            "s3",
            region_name="us-east-1",
            endpoint_url=made.url,
            config=Config(retries={"total_max_attempts": 10}),
            aws_access_key_id="tests",
            aws_secret_access_key="tests",
        )
        self.s3.create_bucket(Bucket=BUCKET)
        self.put(MASTER)

    def put(self, key, body=b"a master"):
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    def copies(self):
        """The keys below copies/ in the front's store."""
        listed = self.s3.list_objects_v2(Bucket=BUCKET, Prefix="copies/")
        return {entry["Key"] for entry in listed.get("Contents", [])}

    def settled(self):
        """The copies once the last calls of a killed program are carried out."""
        there = None
        while there != (now := self.copies()):
            there = now
            time.sleep(0.5)
        return there

    def start(self, rows, *options, **environment):
        (self.folder / "manifest.csv").write_text("".join(f"{row}\n" for row in rows))
        usual = (
            f"copy --region us-east-1 --source-bucket {BUCKET} "
            f"--destination-bucket {BUCKET} --destination-prefix copies/ --manifest manifest.csv "
            "--failed failed.jsonl"
        )
        return subprocess.Popen(
            [programs.transfer(), *usual.split(), *options],
            cwd=self.folder,
            env=os.environ | (environment or KEYS) | {"AWS_ENDPOINT_URL": self.front.url},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def copy(self, rows, *options, **environment):
        """Runs the program; returns its summary, its stderr and the rows of its file of failed
        objects, after checking that the counts add up and every failed row is in the file once."""
        with self.start(rows, *options, **environment) as process:
            try:
                stdout, stderr = process.communicate(timeout=TIMEOUT_S)
            finally:
                process.kill()
        lines = map(json.loads, (self.folder / "failed.jsonl").read_text().splitlines())
        failed = [failure for line in lines for failure in line["failed_objects"]]
        summary = json.loads(stdout)
        assert process.returncode == (1 if failed else 0), stderr
        assert len({failure["line"] for failure in failed}) == len(failed)
        if summary["planned"] is not None:
            assert summary["failed"] == len(failed)
            done = summary["copied"] + summary["already_there"] + summary["failed"]
            assert len(rows) == summary["planned"] == done
        return summary, stderr, failed


@pytest.fixture
def place(tmp_path):
    """Starts a front with these settings: place(limit_per_s=5)."""
    with contextlib.ExitStack() as fronts:
        yield lambda **options: Place(fronts.enter_context(front(**options)), tmp_path)


def test_every_row_is_copied_or_named_once_whatever_answers_are_lost(place):
    made = place(lose_answers=0.1, reset=0.1, limit_per_s=500)
    # one master per row, so that rows don't affect each other
    for n in range(40):
        made.put(f"masters/2015/{n}")
    made.put("copies/taken", b"something else")
    good = {f"copies/2015/{n}": f"masters/2015/{n},copies/2015/{n}" for n in range(40)}
    bad = {
        f"{MASTER},copies/%zz": "MalformedRow",
        "masters/missing,copies/1": "NoSuchKey",
        f"{MASTER},{MASTER}": "RowRefused",
        f"{MASTER},copies/taken": "ObjectDiffers",
    }
    rows = [*good.values(), *bad]

    summary, _, failed = made.copy(rows, "--retry-attempts", "12", "--pace", "fixed")

    # If the object existed before, the lost answer may have been that of a copy.
    assert summary["copied"] + summary["already_there"] == len(good)
    assert {rows[failure["line"] - 1]: failure["error_type"] for failure in failed} == bad
    assert made.copies() == {*good, "copies/taken"}
    met = made.front.requests()
    assert min(met["lost"], met["reset"], summary["retries"]) > 0


def test_the_next_program_copies_what_a_killed_one_or_expired_credentials_left(place):
    made = place(expire_after=60)
    wanted = {f"copies/{n}": f"{MASTER},copies/{n}" for n in range(100)}
    rows = list(wanted.values())
    with made.start(rows, "--calls-per-s", "100", "--parallel-limit", "8") as process:
        while len(made.copies()) < 10:
            time.sleep(0.01)
            assert process.poll() is None
        process.kill()
    there = made.settled()
    assert 10 <= len(there) < len(rows)

    summary, words, failed = made.copy(rows, "--retry-attempts", "2", "--parallel-limit", "8")
    assert (summary["planned"], summary["failed"]) == (None, 0)
    assert "transfer copy: NoCredentials: " in words
    assert {failure["error_type"] for failure in failed} == {"NotBegun"}
    not_begun = {failure["destination"] for failure in failed}
    assert not_begun >= wanted.keys() - made.copies()
    # A row may have been there already: of many, the credentials expire before the last.
    assert not_begun & made.copies() <= there
    there = made.copies()

    # Rows already there take three requests each, so these credentials expire several times, each
    # time for at most two calls.
    summary, _, failed = made.copy(
        rows, "--parallel-limit", "2", AWS_CONFIG_FILE=str(renewing(made.folder))
    )
    assert (summary["already_there"], failed) == (len(there), [])
    assert made.copies() == wanted.keys()
    assert made.front.requests()["expired"] > 0


def renewing(folder: Path) -> Path:
    """A configuration with new credentials for every request for them."""
    script = folder / "credentials.py"
    script.write_text(
        "import json, uuid\n"
        'keys = {"Version": 1, "AccessKeyId": "k", "SecretAccessKey": "s"}\n'
        'print(json.dumps(keys | {"SessionToken": uuid.uuid4().hex}))\n'
    )
    config = folder / "config"
    config.write_text(f"[default]\ncredential_process = {sys.executable} {script}\n")
    return config
