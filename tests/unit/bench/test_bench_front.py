"""The front that throttles, as tests and measurements start it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from bench import programs
from bench.errors import BenchError
from bench.front import front


def s3(url):
    once = Config(retries={"mode": "standard", "total_max_attempts": 1})
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=url, config=once, **keys)


def test_a_client_of_s3_is_slowed_down_above_the_limit_and_the_status_page_says_how_often():
    with front(limit_per_s=0.001, burst=5) as made:
        client = s3(made.url)
        client.create_bucket(Bucket="bench")
        client.put_object(Bucket="bench", Key="a b+ä%", Body=b"x")
        answers = []
        for number in range(6):
            try:
                client.copy_object(Bucket="bench", Key=f"c/{number}", CopySource={"Bucket": "bench", "Key": "a b+ä%"})
                answers.append("copied")
            except ClientError as error:
                answers.append(error.response["Error"]["Code"])
        there = [entry["Key"] for entry in client.list_objects_v2(Bucket="bench")["Contents"]]
        status = made.status()
    assert answers == ["copied"] * 4 + ["SlowDown"] * 2
    assert there == ["a b+ä%", "c/0", "c/1", "c/2", "c/3"]
    # 6 with the PUT and the LIST
    assert (status["accepted"], status["slow_downs"], status["requests"]["copy"]) == (6, 2, 4)


def test_a_wrong_option_is_said_in_the_fronts_own_words():
    with pytest.raises(
        BenchError, match=r"^front exited immediately with status 2: front: --lose-answers .* at most 1$"
    ):
        front(lose_answers=7).__enter__()


def test_the_front_ends_with_a_parent_that_is_killed_without_the_kernels_help():
    script = f"""
        import subprocess, time
        front = subprocess.Popen([{programs.front()!r}], stdout=subprocess.PIPE)
        front.stdout.readline()
        print(front.pid, flush=True)
        time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running(pid)


def running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return " Z " not in Path(f"/proc/{pid}/stat").read_text()
