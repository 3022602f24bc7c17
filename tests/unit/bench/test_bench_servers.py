"""Servers and programs of a measurement: each serves, or is refused, and none is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from bench import programs
from bench.errors import BenchError
from bench.servers import front, running
from stampede.emulator.ministack import free_port

SILENT = [sys.executable, "-c", "import time; time.sleep(60)"]


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
    assert (status["accepted"], status["slow_downs"], status["requests"]["copy"]) == (5, 2, 4)  # 5 with the PUT


def test_a_wrong_option_is_said_in_the_fronts_own_words():
    with pytest.raises(
        BenchError, match=r"^front exited immediately with status 2: front: --lose-answers .* at most 1$"
    ):
        front(lose_answers=7).__enter__()


RUN = """
import sys, time
from pathlib import Path
from bench.servers import running
with running(sys.argv[3:], Path(sys.argv[1]), sys.argv[2]) as pid:
    print(pid, flush=True)
    time.sleep(60)
"""
START = """
import subprocess, sys, time
front = subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE)
front.stdout.readline()
print(front.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("script", [RUN, START], ids=["with the kernel's help", "without it"])
def test_no_server_outlives_a_bench_that_is_killed(tmp_path, script):
    port = free_port()
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    if script == START:
        command = [programs.front(), "--port", str(port)]
    arguments = [str(tmp_path), f"http://127.0.0.1:{port}/", *command]
    with subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


def test_a_server_is_stopped_when_the_block_fails():
    with pytest.raises(KeyboardInterrupt), front() as made:
        raise KeyboardInterrupt
    with pytest.raises(OSError, match="refused"):
        made.status()


@pytest.mark.parametrize(
    ("command", "patience_s", "message"),
    [
        ([sys.executable, "-c", "print('port taken'); raise SystemExit(4)"], 60, "with status 4: port taken$"),
        (SILENT, 0.3, "didn't answer at .* within 0.3 s: it printed nothing$"),
    ],
    ids=["ending", "silent"],
)
def test_a_server_that_does_not_serve_is_given_up_with_its_last_words(tmp_path, command, patience_s, message):
    with pytest.raises(BenchError, match=message):
        running(command, tmp_path, f"http://127.0.0.1:{free_port()}/", start_timeout_s=patience_s).__enter__()


def test_a_program_is_fetched_once_and_one_that_can_not_be_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(BenchError, match=r"^mvn is missing; install Apache Maven"):
        programs.elasticmq_jars()
    for name, script in (("mvn", "echo '[ERROR] no artifact'; exit 3"), ("go", 'echo "$@" >> "$GOBIN/versitygw"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(BenchError, match=r"failed with status 3: \[ERROR\] no artifact$"):
        programs.elasticmq_jars()
    assert list((tmp_path / "cache" / "bench").glob("*elastic*")) == []
    for _ in range(2):
        package, version = programs.VERSITYGW
        assert Path(programs.versitygw()).read_text() == f"install {package}@{version}\n"


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return " Z " not in Path(f"/proc/{pid}/stat").read_text()
