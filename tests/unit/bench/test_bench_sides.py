"""One run of a side: a child that is measured whole, a function as Lambda runs it. Each did its work or is refused."""

import sys

import pytest

from bench import sides
from bench.child import run_child
from bench.errors import BenchError
from bench.servers import Place
from tests.fakes import s3 as fake_s3

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
OBJECT = {"BUCKET_NAME": fake_s3.BUCKET, "FILE_NAME": fake_s3.KEY, "EXPERIMENT": "download"}


def python(script):
    return [sys.executable, "-c", script]


@pytest.fixture
def place(tmp_path):
    with fake_s3.FakeS3(2**20) as s3:
        yield Place(s3.url, tmp_path, KEYS | {"AWS_ENDPOINT_URL": s3.url})


def download(place, method, **order):
    if method.startswith("go_"):
        return sides.go(place, order, METHOD=method, **OBJECT)
    return sides.python(place, "download", order, METHOD=method, **OBJECT)


def test_cpu_and_peak_memory_are_those_of_the_child_and_its_children():
    ballast = b"\x01" * (200 * 2**20)  # this process is far larger than the child
    work = "import time\nx = b'\\x01' * (30 * 2**20); del x\nwhile time.process_time() < 0.3: pass"
    used = run_child(python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"))
    assert 0.3 <= used["cpu_s"] < 2
    assert 30 < run_child(python(work))["peak_mb"] < 100
    assert len(ballast) == 200 * 2**20


@pytest.mark.parametrize(
    ("command", "timeout_s", "message"),
    [
        (["/nowhere/client"], 60, "status 127: can't be started: No such file or directory"),
        (python("raise SystemExit('no such bucket')"), 60, "exited with status 1: no such bucket"),
        (python("import time; time.sleep(60)"), 0.3, "didn't finish within 0.3 s"),
    ],
    ids=["missing", "failing", "hanging"],
)
def test_a_client_that_fails_or_hangs_is_no_measurement(command, timeout_s, message):
    with pytest.raises(BenchError, match=message):
        run_child(command, timeout_s)


@pytest.mark.parametrize("method", ["stream", "go_stream"])
def test_a_function_runs_once_in_a_process_of_its_own_and_its_record_is_what_is_told(place, method):
    record = download(place, method, object_bytes=2**20)
    assert (record["method"], record["bytes"], record["run_id"]) == (method, 2**20, "bench")
    assert 0 < record["download_time_seconds"] < record["wall_s"]
    assert record["cpu_s"] > 0 and record["peak_mb"] > 1
    assert list(place.folder.iterdir()) == []


@pytest.mark.parametrize("method", ["stream", "go_stream"])
@pytest.mark.parametrize(
    ("order", "message"),
    [({"object_bytes": 5}, "SizeMismatch"), ({"checksum": f"crc32:{0:08x}"}, "ChecksumMismatch")],
)
def test_a_function_that_got_something_else_is_no_measurement(place, method, order, message):
    with pytest.raises(BenchError, match=f"^the function failed: {message}: "):
        download(place, method, **order)


@pytest.mark.parametrize("log", ["", '{"status": "ok"}\n{"status": "ok"}\n'])
def test_none_or_two_records_are_no_measurement(log):
    with pytest.raises(BenchError, match=r"wrote [02] records"):
        sides._checked(log)


def test_a_program_that_ends_before_it_was_asked_for_more_is_no_measurement(place, monkeypatch):
    monkeypatch.setattr(sides.programs, "transfer", lambda: "true")
    with pytest.raises(BenchError, match=r"^true exited with status 0"):
        sides.go(place, {}, **OBJECT)
