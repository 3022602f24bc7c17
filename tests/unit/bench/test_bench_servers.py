"""Servers and programs of a measurement: each serves, or is refused, and none outlives it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from bench import programs
from bench.child import run_child
from bench.servers import BUCKET, client, front, place, running
from stampede.emulator.ministack import free_port
from stampede.errors import RunError


def python(script):
    return [sys.executable, "-c", script]


def test_a_client_of_s3_is_slowed_down_above_the_limit_and_the_front_says_how_often():
    with front(limit_per_s=0.001) as store, front() as free:
        for made, answers in ((free, ["copied", "copied"]), (store, ["SlowDown", "SlowDown"])):
            with place(made.url) as at:
                s3 = at.client()
                s3.put_object(Bucket=BUCKET, Key="a b+ä%", Body=b"x")
                assert [copied(s3, number) for number in range(2)] == answers
                assert at.stored("") == 1 + answers.count("copied")
                asked = made.requests()
                assert (asked["copy"], asked["put"]) == (answers.count("copied"), 1)
                assert (asked["slow_down"] >= 2) is (made is store)


def copied(s3, number):
    try:
        s3.copy_object(Bucket=BUCKET, Key=f"c/{number}", CopySource={"Bucket": BUCKET, "Key": "a b+ä%"})
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "copied"


def test_no_server_outlives_a_bench_that_fails_or_is_killed():
    with pytest.raises(KeyboardInterrupt), front() as made:
        raise KeyboardInterrupt
    with pytest.raises(OSError, match="refused"):
        made.requests()
    port = free_port()
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    script = f"""
import time
from bench.servers import running
with running({command}, "http://127.0.0.1:{port}") as pid:
    print(pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(python(script), stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return " Z " not in Path(f"/proc/{pid}/stat").read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (python("print('port taken'); raise SystemExit(4)"), "ended with status 4: port taken$"),
        (python("import time; time.sleep(60)"), "doesn't answer: it printed nothing$"),
    ],
    ids=["ending", "silent"],
)
def test_a_server_that_does_not_serve_is_given_up_with_its_last_words(command, message):
    with pytest.raises(RunError, match=message):
        running(command, f"http://127.0.0.1:{free_port()}", start_timeout_s=1).__enter__()


def test_a_program_is_fetched_once_and_one_that_can_not_be_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    for name, script in (("mvn", "echo '[ERROR] no artifact'; exit 3"), ("go", 'echo "$@" >> "$GOBIN/versitygw"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(RunError, match=r"ended with status 3: \[ERROR\] no artifact$"):
        programs.elasticmq_jars()
    assert list((tmp_path / "cache" / "bench").glob("*elastic*")) == []
    for _ in range(2):
        assert Path(programs.installed(programs.VERSITYGW)).read_text() == f"install {programs.VERSITYGW}\n"


def test_cpu_and_peak_memory_are_those_of_the_child_and_its_children():
    ballast = b"\x01" * (200 * 2**20)  # this process is far larger than the child
    work = "import time\nx = b'\\x01' * (30 * 2**20); del x\nwhile time.process_time() < 0.3: pass\nprint('done')"
    printed, used = run_child(python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"))
    assert 0.3 <= used["cpu_s"] < 2
    assert printed == "done\n"
    assert 30 < run_child(python(work))[1]["peak_mb"] < 100
    assert len(ballast) == 200 * 2**20


@pytest.mark.parametrize(
    ("command", "timeout_s", "message"),
    [
        (["/nowhere/client"], 60, "client ended with status 1: .*No such file or directory: .*nowhere"),
        (python("raise SystemExit('no such bucket')"), 60, "ended with status 1: no such bucket"),
        (python("import time; time.sleep(60)"), 0.3, "didn't finish within 0.3 s"),
    ],
    ids=["missing", "failing", "hanging"],
)
def test_a_client_that_fails_or_hangs_is_no_measurement(command, timeout_s, message):
    with pytest.raises(RunError, match=message):
        run_child(command, timeout_s)


def test_a_client_of_a_measurement_reaches_its_endpoint_alone():
    assert client("sqs", "http://127.0.0.1:9").meta.endpoint_url == "http://127.0.0.1:9"
