"""The method `crt`: the AWS Common Runtime's client gets the right bytes, and its faults have their records."""

import hashlib
import sys
import time
import zlib
from importlib.metadata import version

import pytest

from common.deadline import GRACE_S, MARGIN_S
from tests.fakes.s3 import ALWAYS
from tests.unit.functions.download.test_download_record import ERROR_KEYS, OK_KEYS
from tests.unit.functions.lambda_sandbox import order

MIB = 2**20
OBJECT = 35 * MIB + 5  # three ranges of 16 MiB


@pytest.fixture
def crt(monkeypatch, sandbox):
    """Return a function that starts a sandbox with METHOD=crt."""

    def start():
        monkeypatch.setenv("METHOD", "crt")
        return sandbox()

    return start


def failure(function, folder, remaining_s=60, **changes):
    [record], failed = function.invoke(order(**changes), remaining_s=remaining_s)
    assert list(record) == ERROR_KEYS, record
    assert (record["method"], record["sink"], failed) == ("crt", "tmp", [record["message_id"]])
    assert list(folder.iterdir()) == []
    return record


def test_without_the_package_the_record_says_what_is_missing(start_s3, sandbox, sandbox_environment, monkeypatch):
    s3 = start_s3(MIB)
    monkeypatch.setenv("METHOD", "crt")
    monkeypatch.setitem(sys.modules, "awscrt", None)  # as if it weren't installed
    record = failure(sandbox(), sandbox_environment)
    assert record["error_type"] == "SettingsError"
    assert "METHOD=crt needs the package awscrt" in record["error_message"]
    assert "crt-requirements.txt" in record["error_message"]
    assert s3.requests == []


@pytest.mark.parametrize("object_bytes", [0, 1, OBJECT])
def test_the_right_bytes_arrive_in_the_file(start_s3, crt, sandbox_environment, object_bytes):
    s3 = start_s3(object_bytes)
    function = crt()
    for checksum in (f"sha256:{hashlib.sha256(s3.body).hexdigest()}", f"crc32:{zlib.crc32(s3.body):08x}"):
        [record], failed = function.invoke(order(object_bytes=object_bytes, checksum=checksum))
        assert (failed, record["status"], record["bytes"]) == ([], "ok", object_bytes), record
        assert list(record) == OK_KEYS
        assert record["first_byte_seconds"] is None  # the runtime tells of an answer when its whole range is there
        assert record["client_cpu_seconds"] > 0
        # What the server saw; an empty object takes a second request, without a range.
        requests = {0: 2, 1: 1, OBJECT: 3}[object_bytes]
        assert (record["retries"], record["requests"], len(s3.requests)) == (0, requests, requests)
        s3.requests.clear()
    assert list(sandbox_environment.iterdir()) == []


def test_a_slow_down_that_passes_shows_as_retries(start_s3, crt):
    s3 = start_s3(OBJECT, slow_down_gets=2)
    [record], _ = crt().invoke(order(object_bytes=OBJECT))
    assert (record["status"], record["retries"], record["requests"]) == ("ok", 2, 5), record
    assert len(s3.requests) == 5
    assert record["sdk"] == f"awscrt {version('awscrt')}"


def test_a_body_cut_once_is_fetched_again(start_s3, crt):
    s3 = start_s3(OBJECT, cut_bodies=1)
    [record], _ = crt().invoke(order(checksum=f"crc32:{zlib.crc32(s3.body):08x}"))
    assert (record["status"], record["bytes"]) == ("ok", OBJECT), record
    assert (record["retries"], record["requests"], len(s3.requests)) == (1, 4, 4)


@pytest.mark.parametrize(
    ("faults", "error_type"),
    [
        ({"slow_down_gets": ALWAYS}, "SlowDown"),
        ({"status": 500, "error_code": "InternalError"}, "S3Error"),
        ({"cut_bodies": ALWAYS}, "ConnectionCut"),
    ],
)
def test_what_fails_on_every_try_is_an_error_after_the_runtimes_own_six(
    start_s3, crt, sandbox_environment, faults, error_type
):
    s3 = start_s3(MIB, **faults)
    record = failure(crt(), sandbox_environment)
    assert (record["error_type"], len(s3.requests)) == (error_type, 6)
    assert (record["requests"], record["retries"]) == (6, 5)
    assert (record["retry_mode"], record["retry_attempts"]) == ("crt", 6)


def test_a_server_that_ignores_ranges_is_an_error(start_s3, crt, sandbox_environment):
    start_s3(OBJECT, ignore_range=True)
    record = failure(crt(), sandbox_environment)
    assert record["error_type"] == "S3Error"
    assert "is for another range" in record["error_message"]


def test_a_server_that_is_not_there_is_an_error(crt, sandbox_environment):
    record = failure(crt(), sandbox_environment)  # the sandbox's endpoint is a port that nothing listens on
    assert record["error_type"] == "NoConnection"


@pytest.mark.parametrize(
    ("status", "code", "error_type"), [(403, "AccessDenied", "AccessDenied"), (404, "NoSuchKey", "NoSuchKey")]
)
def test_an_answer_that_no_retry_helps_has_the_same_record(
    start_s3, crt, sandbox_environment, status, code, error_type
):
    start_s3(MIB, status=status, error_code=code)
    record = failure(crt(), sandbox_environment)
    assert record["error_type"] == error_type
    assert str(status) in record["error_message"]


def test_an_object_replaced_in_mid_download_is_an_error(start_s3, crt, sandbox_environment):
    start_s3(OBJECT * 2, replace_after_gets=1)
    assert failure(crt(), sandbox_environment)["error_type"] == "ObjectChanged"


def test_another_checksum_is_an_error(start_s3, crt, sandbox_environment):
    start_s3(OBJECT)
    assert failure(crt(), sandbox_environment, checksum="crc32:00000000")["error_type"] == "ChecksumMismatch"


def test_a_download_that_would_outlast_the_function_is_stopped(start_s3, crt, sandbox_environment):
    s3 = start_s3(OBJECT, trickle_bytes=64 * 1024)
    function = crt()
    began_s = time.monotonic()
    record = failure(function, sandbox_environment, remaining_s=MARGIN_S + 0.7)
    assert time.monotonic() - began_s < 0.7 + GRACE_S + 2
    assert record["error_type"] == "DeadlineExceeded"
    s3.faults.trickle_bytes = None
    [record], _ = function.invoke(order(object_bytes=OBJECT))
    assert record["status"] == "ok", record


def test_missing_credentials_are_an_error(start_s3, crt, sandbox_environment, monkeypatch):
    s3 = start_s3(MIB)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert failure(crt(), sandbox_environment)["error_type"] == "NoCredentials"
    assert s3.requests == []
