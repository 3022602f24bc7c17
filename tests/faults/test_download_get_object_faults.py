"""The methods over GetObject, `stream` and `ranges`: every sink gets the right bytes, every fault its record."""

import hashlib
import os
import threading
import time
import zlib
from types import SimpleNamespace

import botocore
import pytest

from common.deadline import MARGIN_S
from common.s3_client import ATTEMPTS
from tests.fakes.s3 import ALWAYS
from tests.unit.functions.download.test_download_record import ERROR_KEYS, OK_KEYS
from tests.unit.functions.lambda_sandbox import ERROR_TYPES, order

MIB = 2**20
PART = 16 * MIB  # the smallest range
OBJECT = 2 * PART + 3 * MIB + 5
GET_OBJECT = [(method, sink) for method in ("stream", "ranges") for sink in ("discard", "memory", "tmp")]
each_method_and_sink = pytest.mark.parametrize(("method", "sink"), GET_OBJECT)
each_method = pytest.mark.parametrize("method", ["stream", "ranges"])


@pytest.fixture
def start_method(monkeypatch, sandbox):
    """Return a function that sets method and sink, and starts a sandbox; retries wait for a moment only."""
    monkeypatch.setattr("common.get_object.pause_s", lambda tries: 0.01 * tries)

    def start(method, sink="", parallel=4):
        monkeypatch.setenv("METHOD", method)
        monkeypatch.setenv("SINK", sink)
        monkeypatch.setenv("RANGE_PARALLEL", str(parallel))
        return sandbox()

    return start


def failure(function, folder, remaining_s=60, **changes):
    """Invoke once, check what every failure has in common, and return the record."""
    [record], failed = function.invoke(order(**changes), remaining_s=remaining_s)
    assert list(record) == ERROR_KEYS
    assert record["error_type"] in ERROR_TYPES, record
    assert record["error_message"].isprintable()
    assert failed == [record["message_id"]]
    assert list(folder.iterdir()) == [], "a temporary file was left"
    assert not [thread for thread in threading.enumerate() if thread.name in ("download", "range")]
    return record


def success(function, **changes):
    [record], failed = function.invoke(order(**changes))
    assert (failed, record["status"]) == ([], "ok"), record
    assert list(record) == OK_KEYS
    return record


def requests_of(method, object_bytes):
    return 1 if method == "stream" else max(1, -(-object_bytes // PART))


def checksum_of(s3, method, sink):
    """Return the strongest checksum that this method and sink can compute."""
    if (method, sink) == ("ranges", "discard"):
        return f"crc32:{zlib.crc32(s3.body):08x}"
    return f"sha256:{hashlib.sha256(s3.body).hexdigest()}"


@each_method_and_sink
@pytest.mark.parametrize("object_bytes", [0, 1, PART, PART + 1, OBJECT])
def test_the_right_bytes_arrive_in_every_sink(start_s3, start_method, sandbox_environment, method, sink, object_bytes):
    s3 = start_s3(object_bytes)
    record = success(start_method(method, sink), object_bytes=object_bytes, checksum=checksum_of(s3, method, sink))
    assert (record["method"], record["sink"], record["bytes"]) == (method, sink, object_bytes)
    # An empty object has no first range: it is asked for again as a whole.
    expected = requests_of(method, object_bytes) + (method == "ranges" and object_bytes == 0)
    assert (record["requests"], record["retries"], len(s3.requests)) == (expected, 0, expected)
    assert 0 < record["first_byte_seconds"] <= record["download_time_seconds"]
    assert record["client_cpu_seconds"] > 0
    assert list(sandbox_environment.iterdir()) == []


@each_method_and_sink
def test_a_checksum_can_be_a_crc32_too(start_s3, start_method, method, sink):
    s3 = start_s3(OBJECT)
    success(start_method(method, sink), checksum=f"crc32:{zlib.crc32(s3.body):08x}")


@each_method_and_sink
def test_bytes_with_another_checksum_are_an_error(start_s3, start_method, sandbox_environment, method, sink):
    s3 = start_s3(OBJECT, corrupt_body=True)
    checksum = checksum_of(s3, method, sink)
    record = failure(start_method(method, sink), sandbox_environment, checksum=checksum)
    assert record["error_type"] == "ChecksumMismatch"
    assert checksum.partition(":")[2] in record["error_message"]


def test_ranges_that_are_discarded_have_no_sha256_and_say_so(start_s3, start_method, sandbox_environment):
    s3 = start_s3(MIB)
    record = failure(start_method("ranges", "discard"), sandbox_environment, checksum=f"sha256:{'0' * 64}")
    assert record["error_type"] == "WorkOrderError"
    assert "crc32" in record["error_message"]
    assert s3.requests == []


@each_method_and_sink
def test_an_object_of_another_size_than_ordered_is_an_error(start_s3, start_method, sandbox_environment, method, sink):
    start_s3(OBJECT)
    record = failure(start_method(method, sink), sandbox_environment, object_bytes=OBJECT + 1)
    assert (record["error_type"], record["bytes"]) == ("SizeMismatch", OBJECT)


@each_method
def test_a_slow_down_that_passes_is_counted_as_retries(start_s3, start_method, method):
    s3 = start_s3(OBJECT, slow_down_gets=2)
    record = success(start_method(method), checksum=f"crc32:{zlib.crc32(s3.body):08x}")
    assert (record["retries"], record["requests"]) == (2, requests_of(method, OBJECT) + 2)
    assert record["bytes"] == OBJECT


@each_method
def test_a_slow_down_that_stays_ends_after_bounded_tries(start_s3, start_method, sandbox_environment, method):
    s3 = start_s3(OBJECT, slow_down_gets=ALWAYS)
    record = failure(start_method(method), sandbox_environment)
    assert (record["error_type"], record["bytes"], record["first_byte_seconds"]) == ("SlowDown", 0, None)
    assert (record["requests"], record["retries"], s3.count("GetObject")) == (ATTEMPTS, ATTEMPTS - 1, ATTEMPTS)
    assert (record["retry_mode"], record["retry_attempts"], record["sdk"]) == (
        "standard",
        ATTEMPTS,
        f"botocore {botocore.__version__}",
    )
    assert "503 SlowDown" in record["error_message"]


@each_method_and_sink
def test_a_body_cut_once_goes_on_at_the_byte_reached(start_s3, start_method, method, sink):
    s3 = start_s3(OBJECT, cut_bodies=1)
    record = success(start_method(method, sink), checksum=checksum_of(s3, method, sink), object_bytes=OBJECT)
    assert (record["retries"], record["requests"]) == (1, requests_of(method, OBJECT) + 1)
    # The first body that was asked for is cut at its half; of ranges it may be that of any part.
    whole = OBJECT if method == "stream" else PART
    goes_on = []
    for request in s3.requests:
        first, _, last = (request.headers["Range"] or "").removeprefix("bytes=").partition("-")
        if first and (reached := int(first) % whole):
            goes_on.append((request.headers["If-Match"], reached, (int(last or OBJECT - 1) - int(first) + 1)))
    [(etag, reached, rest)] = goes_on
    assert (etag, reached) == ('"generation-1"', (reached + rest) // 2)


@each_method
def test_bodies_that_are_always_cut_end_after_bounded_tries(start_s3, start_method, sandbox_environment, method):
    s3 = start_s3(OBJECT, cut_bodies=ALWAYS)
    record = failure(start_method(method), sandbox_environment)
    assert record["error_type"] == "ConnectionCut"
    assert 0 < record["bytes"] < OBJECT
    # Of each request, those tries too that brought it on by a MiB and more, a half of the rest each time.
    assert s3.count("GetObject") <= (ATTEMPTS + OBJECT.bit_length() - 20) * requests_of(method, OBJECT)
    assert record["retries"] >= ATTEMPTS - 1


def test_a_body_that_is_cut_more_often_than_it_is_tried_arrives_as_long_as_each_try_brings_it_on(
    start_s3, start_method
):
    s3 = start_s3(OBJECT, cut_bodies=ATTEMPTS)
    record = success(
        start_method("stream", "discard"), checksum=checksum_of(s3, "stream", "discard"), object_bytes=OBJECT
    )
    assert record["retries"] == ATTEMPTS


@each_method
@pytest.mark.parametrize("ignore_if_match", [False, True])
def test_an_object_replaced_in_mid_download_is_an_error(
    start_s3, start_method, sandbox_environment, method, ignore_if_match
):
    s3 = start_s3(OBJECT, replace_after_gets=1, ignore_if_match=ignore_if_match, cut_bodies=1)
    record = failure(start_method(method), sandbox_environment)
    assert record["error_type"] == "ObjectChanged"
    assert s3.count("GetObject") <= 4


@each_method
def test_an_object_replaced_between_two_messages_is_no_error(start_s3, start_method, method):
    s3 = start_s3(OBJECT)
    function = start_method(method)
    success(function)
    s3.generation, s3.body = 2, s3.body[:MIB]
    assert success(function)["bytes"] == MIB


def test_an_object_shorter_than_announced_is_an_error(start_s3, start_method, sandbox_environment):
    start_s3(MIB, get_announces_extra_bytes=1000)
    record = failure(start_method("stream"), sandbox_environment)
    assert (record["error_type"], record["bytes"]) == ("SizeMismatch", MIB)
    assert f"S3 announced {MIB + 1000}" in record["error_message"]


@each_method
def test_an_answer_for_another_range_is_an_error(start_s3, start_method, sandbox_environment, method):
    start_s3(OBJECT, ignore_range=True, cut_bodies=1)
    record = failure(start_method(method), sandbox_environment)
    assert record["error_type"] == "S3Error"
    assert "range" in record["error_message"]


@each_method
@pytest.mark.parametrize(
    ("status", "code", "error_type"),
    [(403, "AccessDenied", "AccessDenied"), (404, "NoSuchKey", "NoSuchKey"), (400, "InvalidRequest", "S3Error")],
)
def test_an_answer_that_no_retry_helps_is_asked_for_once(
    start_s3, start_method, sandbox_environment, method, status, code, error_type
):
    s3 = start_s3(MIB, status=status, error_code=code)
    record = failure(start_method(method), sandbox_environment)
    assert record["error_type"] == error_type
    assert f"{status} {code}: " in record["error_message"]
    assert ("Injected by the test." in record["error_message"]) == (error_type == "S3Error")
    assert (record["requests"], record["retries"], len(s3.requests)) == (1, 0, 1)


@each_method
def test_an_answer_whose_code_asks_for_another_try_gets_one(start_s3, start_method, sandbox_environment, method):
    s3 = start_s3(MIB, status=400, error_code="RequestTimeout")
    assert failure(start_method(method), sandbox_environment)["error_type"] == "S3Error"
    assert len(s3.requests) == ATTEMPTS


@each_method_and_sink
def test_a_download_that_would_outlast_the_function_is_stopped_at_once(
    start_s3, start_method, sandbox_environment, method, sink
):
    """No window ever gets full here. Nothing is left that could disturb the next download."""
    s3 = start_s3(OBJECT, trickle_bytes=64)
    function = start_method(method, sink)
    began_s = time.monotonic()
    record = failure(function, sandbox_environment, remaining_s=MARGIN_S + 0.4)
    assert time.monotonic() - began_s < MARGIN_S  # long before Lambda would end it
    assert record["error_type"] == "DeadlineExceeded"
    assert 0 < record["bytes"] < OBJECT
    assert (
        1 <= record["requests"] <= requests_of(method, OBJECT)
    )  # on a busy machine not all have begun; none is repeated
    s3.faults.trickle_bytes = None
    success(function, object_bytes=OBJECT)


@each_method
def test_no_request_is_tried_again_after_the_deadline(start_s3, start_method, sandbox_environment, monkeypatch, method):
    start_s3(MIB, slow_down_gets=ALWAYS)
    function = start_method(method)
    waiting = SimpleNamespace(sleep=lambda seconds: time.sleep(0.6), time=time.time)
    monkeypatch.setattr("botocore.endpoint.time", waiting)
    record = failure(function, sandbox_environment, remaining_s=MARGIN_S + 0.3)
    assert (record["error_type"], record["requests"]) == ("DeadlineExceeded", 1)


@each_method
def test_a_silent_connection_becomes_a_read_timeout(start_s3, start_method, sandbox_environment, monkeypatch, method):
    start_s3(OBJECT, trickle_bytes=1000, trickle_pause_s=30)
    monkeypatch.setattr("common.s3_client.READ_TIMEOUT_S", 0.1)
    record = failure(start_method(method), sandbox_environment)
    assert record["error_type"] == "ReadTimeout"
    assert record["retries"] >= ATTEMPTS - 1


@each_method
def test_an_endpoint_that_nobody_listens_on_is_an_error(start_method, sandbox_environment, method):
    record = failure(start_method(method), sandbox_environment)
    assert (record["error_type"], record["requests"]) == ("NoConnection", ATTEMPTS)


@each_method
def test_missing_credentials_are_an_error(start_s3, start_method, sandbox_environment, monkeypatch, method):
    s3 = start_s3(MIB)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert failure(start_method(method), sandbox_environment)["error_type"] == "NoCredentials"
    assert s3.requests == []


@each_method
def test_an_object_larger_than_the_functions_memory_is_refused(
    start_s3, start_method, sandbox_environment, monkeypatch, method
):
    start_s3(60 * MIB)
    monkeypatch.setenv("MEMORY_SIZE", "128")
    record = failure(start_method(method, "memory"), sandbox_environment)
    assert record["error_type"] == "NoMemory"
    assert "memory_size" in record["error_message"]
    success(start_method(method, "discard"))


@each_method
def test_an_object_larger_than_the_temporary_folder_is_refused(
    start_s3, start_method, sandbox_environment, monkeypatch, method
):
    start_s3(OBJECT)
    almost_full = os.statvfs_result((4096, 4096, 10**6, 100, 100, 10**6, 10**5, 10**5, 0, 255))
    monkeypatch.setattr("os.statvfs", lambda path: almost_full)
    record = failure(start_method(method, "tmp"), sandbox_environment)
    assert (record["error_type"], record["bytes"]) == ("NoSpace", 0)


@each_method
def test_a_warm_sandbox_keeps_its_connections(start_s3, start_method, method):
    s3 = start_s3(OBJECT)
    function = start_method(method)
    success(function)
    connections = s3.connections
    success(function)
    assert s3.connections == connections == min(requests_of(method, OBJECT), 4)


def test_a_connection_that_s3_closed_meanwhile_is_no_retry(start_s3, start_method):
    s3 = start_s3(MIB, close_connections=1)
    function = start_method("stream")
    success(function)
    time.sleep(0.1)
    assert (success(function)["retries"], s3.connections) == (0, 2)
