"""Faults of S3, the network and the disk in every method of downloading: the right bytes or the record of a failure,
its requests counted, nothing left behind."""

import hashlib
import os
import signal
import sys
import threading
import time
import zlib
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from common.deadline import GRACE_S, MARGIN_S
from common.s3_client import ATTEMPTS
from download.methods import METHODS
from tests.fakes.s3 import ALWAYS
from tests.unit.functions.lambda_sandbox import LambdaSandbox

MIB = 2**20
PART = 16 * MIB  # the smallest range
OBJECT = 2 * PART + 3 * MIB + 5
# Tries by the methods: of one request until its answer begins, and of a body.
REQUEST_TRIES = {"download_file": ATTEMPTS, "stream": ATTEMPTS, "ranges": ATTEMPTS, "crt": 6}
BODY_TRIES = REQUEST_TRIES | {"download_file": 5}
ONCE = dict.fromkeys(METHODS, 1)
GET_OBJECT = ("stream", "ranges")
CUT, CUT_AGAIN, SILENT = {"cut_bodies": 1}, {"cut_bodies": ALWAYS}, {"trickle_bytes": 1000, "trickle_pause_s": 30}
TLS = {"tls": True}

each_method = pytest.mark.parametrize("method", METHODS)
each_sink = pytest.mark.parametrize(
    ("method", "sink"), [(method, sink) for method, sinks in METHODS.items() for sink in sinks]
)
each_over_get_object = pytest.mark.parametrize("method", GET_OBJECT)


@pytest.fixture
def begin(start_s3, monkeypatch, certificate):
    """Return a function that starts an S3 with faults and a sandbox with a method; retries wait for a moment only."""
    monkeypatch.setattr("common.get_object.pause_s", lambda tries: 0.01 * tries)
    monkeypatch.setenv("RANGE_PARALLEL", "4")

    def begin(method, object_bytes=MIB, sink="", tls=False, **faults):
        monkeypatch.setenv("METHOD", method)
        monkeypatch.setenv("SINK", sink)
        s3 = start_s3(object_bytes, tls=certificate.context if tls else None, **faults)
        if tls:
            monkeypatch.setenv("AWS_CA_BUNDLE", certificate.path)
        return s3, LambdaSandbox()

    return begin


def checksum_of(s3, method="", sink=""):
    """Return the strongest checksum that this method and sink can compute."""
    if (method, sink) == ("ranges", "discard"):
        return f"crc32:{zlib.crc32(s3.body):08x}"
    return f"sha256:{hashlib.sha256(s3.body).hexdigest()}"


def requests_of(method, object_bytes):
    """Return how many requests an object takes; an empty one has no first range, and is asked for again as a whole."""
    if method == "stream":
        return 1
    if method == "download_file":
        return 1 + max(1, -(-object_bytes // (8 * MIB)))
    return max(1, -(-object_bytes // PART)) + (object_bytes == 0)


def assert_it_ends(within_s):
    for thread in threading.enumerate():
        if thread.name in ("download", "range"):
            thread.join(within_s)
            assert not thread.is_alive(), "the stopped download goes on"


@each_sink
@pytest.mark.parametrize(
    ("object_bytes", "faults", "retries"),
    [
        *((object_bytes, {}, 0) for object_bytes in (0, 1, PART, PART + 1, OBJECT)),
        (OBJECT, {"slow_down_gets": 2}, 2),
        (OBJECT, CUT, 1),
        (OBJECT, TLS, 0),
        (OBJECT, TLS | CUT, 1),
    ],
)
def test_the_right_bytes_arrive_and_what_they_took_is_counted(begin, method, sink, object_bytes, faults, retries):
    s3, function = begin(method, object_bytes, sink, **faults)
    record = function.succeed(object_bytes=object_bytes, checksum=checksum_of(s3, method, sink))
    assert (record["method"], record["sink"], record["bytes"]) == (method, sink, object_bytes)
    assert (record["retries"], record["requests"]) == (retries, requests_of(method, object_bytes) + retries)
    assert record["requests"] == len(s3.requests)
    assert record["client_cpu_seconds"] > 0
    if method == "crt":
        assert record["first_byte_seconds"] is None  # the runtime tells of an answer when its whole range is there
        assert (record["retry_mode"], record["sdk"]) == ("crt", f"awscrt {version('awscrt')}")
    else:
        assert 0 < record["first_byte_seconds"] <= record["download_time_seconds"]
        assert (record["retry_mode"], record["sdk"]) == ("standard", f"botocore {version('botocore')}")


@each_over_get_object
def test_a_body_that_is_cut_goes_on_at_the_byte_reached(begin, method):
    s3, function = begin(method, OBJECT, **CUT)
    function.succeed()
    whole = OBJECT if method == "stream" else PART  # of which the half came; of ranges it may be that of any part
    goes_on = []
    for request in s3.requests:
        first, _, last = (request.headers["Range"] or "").removeprefix("bytes=").partition("-")
        if first and (reached := int(first) % whole):
            goes_on.append((request.headers["If-Match"], reached, int(last or OBJECT - 1) - int(first) + 1))
    [(etag, reached, rest)] = goes_on
    assert (etag, reached) == ('"generation-1"', (reached + rest) // 2)


def test_a_body_may_be_cut_more_often_than_it_is_tried_as_long_as_each_try_brings_it_on(begin):
    s3, function = begin("stream", OBJECT, cut_bodies=ATTEMPTS)
    assert function.succeed(checksum=checksum_of(s3))["retries"] == ATTEMPTS


@pytest.mark.parametrize(
    ("faults", "error_type", "tries"),
    [
        ({"status": 403, "error_code": "AccessDenied"}, "AccessDenied", ONCE),
        ({"status": 404, "error_code": "NoSuchKey"}, "NoSuchKey", ONCE),
        ({"status": 409, "error_code": "OperationAborted"}, "S3Error", ONCE),
        ({"status": 500, "error_code": "InternalError"}, "S3Error", REQUEST_TRIES),
        ({"slow_down_gets": ALWAYS}, "SlowDown", REQUEST_TRIES),
        (CUT_AGAIN, "ConnectionCut", BODY_TRIES),
    ],
)
@each_method
def test_what_fails_on_every_try_is_an_error_after_bounded_tries(begin, method, faults, error_type, tries):
    s3, function = begin(method, **faults)
    record = function.fail(error_type)
    assert max(map(s3.count, ("HeadObject", "GetObject"))) == tries[method]
    assert (record["requests"], record["retries"]) == (len(s3.requests), tries[method] - 1)
    assert record["retry_attempts"] == REQUEST_TRIES[method]
    assert str(faults.get("status", "")) in record["error_message"]


@pytest.mark.parametrize(
    ("faults", "error_type"),
    [(CUT_AGAIN | TLS, "ConnectionCut"), (SILENT, "ReadTimeout"), (SILENT | TLS, "ReadTimeout")],
)
@pytest.mark.parametrize("method", ["download_file", *GET_OBJECT])
def test_a_body_that_never_comes_whole_is_an_error_over_tls_and_in_silence_too(
    begin, monkeypatch, method, faults, error_type
):
    monkeypatch.setattr("common.s3_client.READ_TIMEOUT_S", 0.2)
    s3, function = begin(method, **faults)
    function.fail(error_type)
    assert s3.count("GetObject") == BODY_TRIES[method]


@pytest.mark.parametrize("method", ["download_file", *GET_OBJECT])
def test_the_tries_of_a_large_object_are_bounded_too(begin, method):
    s3, function = begin(method, OBJECT, **CUT_AGAIN)
    record = function.fail("ConnectionCut")
    assert record["bytes"] < OBJECT
    # Of each request, those tries too that brought it on by a MiB and more, a half of the rest each time.
    assert s3.count("GetObject") <= (BODY_TRIES[method] + OBJECT.bit_length() - 20) * requests_of(method, OBJECT)


@pytest.mark.parametrize(
    ("method", "faults", "error_type"),
    [
        *((method, {"corrupt_body": True}, "ChecksumMismatch") for method in METHODS),
        ("crt", {"replace_after_gets": 1}, "ObjectChanged"),
        *(
            (method, CUT | {"replace_after_gets": 1, "ignore_if_match": is_ignored}, "ObjectChanged")
            for method in ("download_file", *GET_OBJECT)
            for is_ignored in (False, True)
        ),
        ("crt", {"ignore_range": True}, "S3Error"),
        ("download_file", {"ignore_range": True}, "SizeMismatch"),
        # Cut once, so that `stream` has a second request, which is one for a range.
        *((method, CUT | {"ignore_range": True}, "S3Error") for method in GET_OBJECT),
        *((method, CUT | {"another_range": True}, "S3Error") for method in GET_OBJECT),
        ("download_file", {"head_announces_bytes": OBJECT + 1000}, "SizeMismatch"),
        ("download_file", {"slow_down_heads": ALWAYS}, "SlowDown"),
        ("stream", {"get_announces_extra_bytes": 1000}, "SizeMismatch"),
    ],
)
def test_an_answer_that_is_not_the_objects_is_an_error(begin, method, faults, error_type):
    s3, function = begin(method, OBJECT, **faults)
    function.fail(error_type, checksum=checksum_of(s3))


@each_method
def test_an_object_of_another_size_or_checksum_than_ordered_is_an_error(begin, method):
    _, function = begin(method)
    assert function.fail("SizeMismatch", object_bytes=MIB + 1)["bytes"] == MIB
    assert "00000000" in function.fail("ChecksumMismatch", checksum="crc32:00000000")["error_message"]


def test_ranges_that_are_discarded_have_no_sha256_and_say_so(begin):
    s3, function = begin("ranges", sink="discard")
    assert "crc32" in function.fail("WorkOrderError", checksum=checksum_of(s3))["error_message"]
    assert s3.requests == []


def test_the_other_ranges_end_with_the_first_that_fails(begin):
    s3, function = begin("ranges", OBJECT, trickle_bytes=64, refuse={"GetObject": [None, (403, "AccessDenied")]})
    began_s = time.monotonic()
    function.fail("AccessDenied")
    assert time.monotonic() - began_s < 10
    assert s3.count("GetObject") <= 3


# What isn't S3's: the address, its certificate, credentials, memory, the disk.


@each_method
def test_an_endpoint_that_nobody_listens_on_is_an_error(begin, monkeypatch, method):
    begin(method)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert LambdaSandbox().fail("NoConnection")["requests"] == REQUEST_TRIES[method]


# Without crt, which tries again until the deadline.
@pytest.mark.parametrize("method", ["download_file", *GET_OBJECT])
def test_a_certificate_that_nobody_vouches_for_or_of_another_name_is_an_error(begin, monkeypatch, method):
    s3, _ = begin(method, tls=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url.replace("127.0.0.1", "localhost"))
    LambdaSandbox().fail("NoConnection")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    monkeypatch.delenv("AWS_CA_BUNDLE")
    LambdaSandbox().fail("NoConnection")
    assert s3.requests == []


@each_method
def test_missing_credentials_are_an_error(begin, monkeypatch, method):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3, function = begin(method)
    function.fail("NoCredentials")
    assert s3.requests == []


def test_without_the_package_of_crt_the_record_says_what_is_missing(begin, monkeypatch):
    monkeypatch.setitem(sys.modules, "awscrt", None)  # as if it weren't installed
    s3, function = begin("crt")
    assert "crt-requirements.txt" in function.fail("SettingsError")["error_message"]
    assert s3.requests == []


@each_over_get_object
def test_an_object_larger_than_the_functions_memory_is_refused(begin, monkeypatch, method):
    monkeypatch.setenv("MEMORY_SIZE", "128")
    _, function = begin(method, 60 * MIB, "memory")
    assert "memory_size" in function.fail("NoMemory")["error_message"]
    begin(method, 60 * MIB, "discard")[1].succeed()


@each_over_get_object
def test_an_object_larger_than_the_temporary_folder_is_refused(begin, monkeypatch, method):
    almost_full = os.statvfs_result((4096, 4096, 10**6, 100, 100, 10**6, 10**5, 10**5, 0, 255))
    monkeypatch.setattr("os.statvfs", lambda path: almost_full)
    _, function = begin(method, OBJECT, "tmp")
    record = function.fail("NoSpace")
    assert record["bytes"] == 0
    assert "ephemeral_storage_mb" in record["error_message"]


def test_a_temporary_folder_that_is_full_is_an_error_of_download_file(begin, monkeypatch):
    """/dev/full is the kernel's own full disk: every write to it ends with ENOSPC."""
    monkeypatch.setattr("s3transfer.utils.OSUtils.open", lambda _self, _name, mode: open("/dev/full", mode))  # noqa: PTH123, SIM115
    begin("download_file", OBJECT)[1].fail("NoSpace")


def test_a_disk_that_takes_half_of_what_is_written_gets_the_rest(begin, monkeypatch):
    pwrite = os.pwrite
    monkeypatch.setattr("os.pwrite", lambda file, view, position: pwrite(file, view[: len(view) // 2 + 1], position))
    s3, function = begin("stream", sink="tmp")
    function.succeed(checksum=checksum_of(s3))


def test_a_temporary_folder_that_is_gone_is_an_error(begin, sandbox_environment):
    s3, function = begin("stream")
    function.succeed()
    sandbox_environment.rmdir()
    function.fail("FileError")
    assert len(s3.requests) == 1


# What is warm.


@each_over_get_object
@pytest.mark.parametrize(
    ("object_bytes", "faults", "connections"),
    [(0, {}, [1, 1]), (OBJECT, {}, None), (MIB, TLS, [1, 1]), (MIB, {"close_connections": 1}, [1, 2])],
)
def test_a_warm_sandbox_keeps_the_connections_that_s3_keeps(begin, method, object_bytes, faults, connections):
    s3, function = begin(method, object_bytes, **faults)
    seen = []
    for _ in range(2):
        assert function.succeed()["retries"] == 0
        seen.append(s3.connections)
        time.sleep(0.05)
    assert seen == (connections or [requests_of(method, object_bytes)] * 2)


@each_method
def test_an_object_replaced_between_two_messages_is_no_error(begin, method):
    s3, function = begin(method)
    function.succeed()
    s3.generation, s3.body = 2, s3.body[:1000]
    assert function.succeed()["bytes"] == 1000


# The deadline.


@pytest.mark.parametrize(
    ("method", "sink", "trickle_bytes"),
    [*((method, sink, 64) for method in GET_OBJECT for sink in METHODS[method]), ("crt", "tmp", 64 * 1024)],
)
def test_a_download_that_would_outlast_the_function_is_stopped_at_once(begin, method, sink, trickle_bytes):
    """No window ever gets full here. Nothing is left that could disturb the next download."""
    s3, function = begin(method, OBJECT, sink, trickle_bytes=trickle_bytes)
    began_s = time.monotonic()
    record = function.fail("DeadlineExceeded", remaining_s=MARGIN_S + 0.8)
    assert time.monotonic() - began_s < MARGIN_S  # long before Lambda would end it
    assert_it_ends(1)
    if method != "crt":  # which tells of no byte before its range is whole
        assert 0 < record["bytes"] < OBJECT
    assert record["requests"] <= requests_of(method, OBJECT)  # none is repeated
    s3.faults.trickle_bytes = None
    function.succeed(object_bytes=OBJECT)


def test_a_body_that_cannot_be_interrupted_holds_no_invocation_and_keeps_the_next_waiting(begin):
    """No chunk of boto3's ever gets complete here, so no code of ours runs in the download, and no read times out."""
    s3, function = begin("download_file", trickle_bytes=64)
    began_s, time_s = time.monotonic(), 2  # on a busy machine, half a second ends before the download comes to its GET
    record = function.fail("DeadlineExceeded", remaining_s=MARGIN_S + time_s)
    assert time.monotonic() - began_s < time_s + GRACE_S + 2
    assert 1000 * time_s <= record["finished_at_ms"] - record["started_at_ms"] < 1000 * (time_s + MARGIN_S)
    function.fail("PreviousDownloadRunning", remaining_s=MARGIN_S + 0.5)
    assert (s3.count("HeadObject"), s3.count("GetObject")) == (1, 1)
    s3.faults.trickle_bytes = None
    function.succeed(object_bytes=MIB)


def test_an_interruption_while_bytes_arrive_goes_up_and_stops_the_download(begin, sandbox_environment):
    """boto3's threads end at their next chunk of 256 KiB, after 0.4 s; left alone, bodies of 8 MiB take 13 s."""
    _, function = begin("download_file", 40 * MIB, trickle_bytes=64 * 1024, trickle_pause_s=0.1)
    # A real signal, as from Ctrl-C: it wakes a waiting main thread.
    timer = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    began_s = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            function.succeed()
    finally:
        timer.cancel()
    assert time.monotonic() - began_s < 10
    assert_it_ends(5)
    assert list(sandbox_environment.iterdir()) == []


@each_over_get_object
def test_no_request_is_tried_again_after_the_deadline(begin, monkeypatch, method):
    waiting = SimpleNamespace(sleep=lambda seconds: time.sleep(0.6), time=time.time)
    monkeypatch.setattr("botocore.endpoint.time", waiting)
    _, function = begin(method, slow_down_gets=ALWAYS)
    assert function.fail("DeadlineExceeded", remaining_s=MARGIN_S + 0.3)["requests"] == 1


def test_too_little_time_to_begin_is_a_record_without_a_request(begin):
    s3, function = begin("stream")
    function.fail("DeadlineExceeded", remaining_s=MARGIN_S - 0.5)
    assert s3.requests == []


@each_method
def test_an_object_is_held_to_the_etag_that_a_message_names(begin, method):
    _, function = begin(method, OBJECT)
    assert function.succeed(object_etag='"generation-1"')["bytes"] == OBJECT
    function.fail("ObjectChanged", object_etag='"generation-0"')


@each_method
def test_who_pays_for_the_requests_says_so_in_each_of_them(begin, monkeypatch, method):
    monkeypatch.setenv("REQUESTER_PAYS", "true")
    s3, function = begin(method, OBJECT)
    function.succeed()
    assert {request.headers["x-amz-request-payer"] for request in s3.requests} == {"requester"}
    assert len(s3.requests) == requests_of(method, OBJECT)
