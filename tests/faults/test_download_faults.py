"""Faults of S3 and the network in every download method: the right bytes or the record of a
failure, all requests counted, nothing left behind. Go's methods have their own tests."""

import hashlib
import os
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from common.deadline import GRACE_S, MARGIN_S
from common.s3_client import ATTEMPTS
from download.methods import METHODS
from tests.fakes.s3 import ALWAYS, KEY, Faults, content_of, refused_reads

MIB = 2**20
PART = 16 * MIB  # the smallest range
OBJECT = 2 * PART + 3 * MIB + 5
GET_OBJECT = ("stream", "ranges")
BOTO3 = ("download_file", *GET_OBJECT)
# Attempts of each method: for a request until its answer begins, and for a body.
REQUEST_TRIES = dict.fromkeys(BOTO3, ATTEMPTS) | {"crt": 6}
BODY_TRIES = REQUEST_TRIES | {"download_file": 5}
CUT, CUT_AGAIN = {"cut_bodies": 1}, {"cut_bodies": ALWAYS}
SILENT = {"trickle_bytes": 1000, "trickle_pause_s": 30}
THROTTLED = [(503, "SlowDown")] * ALWAYS

each_method = pytest.mark.parametrize("method", METHODS)
each_over_get_object = pytest.mark.parametrize("method", GET_OBJECT)


def checksum_of(s3):
    return {"checksum": f"sha256:{hashlib.sha256(s3.objects[KEY]).hexdigest()}"}


def requests_of(method, object_bytes):
    """The number of requests for an object; an empty one has no first range, so it is requested
    again as a whole."""
    if method == "stream":
        return 1
    if method == "download_file":
        return 1 + max(1, -(-object_bytes // (8 * MIB)))
    return max(1, -(-object_bytes // PART)) + (object_bytes == 0)


def is_continued(request):
    first = (request.headers["Range"] or "bytes=0-").removeprefix("bytes=").partition("-")[0]
    return int(first) > 0


@pytest.mark.parametrize(
    ("method", "sink"), [(method, sink) for method, sinks in METHODS.items() for sink in sinks]
)
def test_objects_of_every_size_arrive_intact_in_turn_and_their_requests_are_counted(
    begin, method, sink
):
    s3, function = begin(method, 0, sink)
    cases = [
        *((size, {}, 0) for size in (0, 1, PART, PART + 1)),
        (OBJECT, {"refuse": {"GetObject": THROTTLED[:2]}}, 2),
        (OBJECT, CUT, 1),
    ]
    # each replaces the previous one
    for s3.generation, (object_bytes, faults, retries) in enumerate(cases, start=1):
        s3.objects[KEY], s3.faults = content_of(object_bytes), Faults(**faults)
        s3.requests.clear()
        # discarded ranges have no checksum
        expected = {} if (method, sink) == ("ranges", "discard") else checksum_of(s3)
        record = function.succeed(object_bytes=object_bytes, **expected)
        assert (record["method"], record["sink"], record["bytes"]) == (method, sink, object_bytes)
        assert record["retries"] == retries
        assert record["requests"] == requests_of(method, object_bytes) + retries == len(s3.requests)
        assert record["client_cpu_seconds"] > 0
        # Every further request continues the same object.
        assert all(request.headers["If-Match"] for request in s3.requests if is_continued(request))
        if method == "crt":
            # the runtime reports an answer only when its whole range has arrived
            assert record["first_byte_seconds"] is None
            assert (record["retry_mode"], record["sdk"]) == ("crt", f"awscrt {version('awscrt')}")
        else:
            assert 0 < record["first_byte_seconds"] <= record["download_time_seconds"]
            assert (record["retry_mode"], record["retry_attempts"]) == ("standard", ATTEMPTS)
            assert record["sdk"] == f"botocore {version('botocore')}"


@each_method
def test_a_cut_body_is_completed_over_tls_too(begin, method):
    s3, function = begin(method, OBJECT, tls=True, **CUT)
    record = function.succeed(**checksum_of(s3))
    assert (record["retries"], record["requests"]) == (1, requests_of(method, OBJECT) + 1)


def test_a_body_may_be_cut_any_number_of_times_while_each_attempt_makes_progress(begin):
    s3, function = begin("stream", OBJECT, cut_bodies=ATTEMPTS)
    assert function.succeed(**checksum_of(s3))["retries"] == ATTEMPTS


@each_method
def test_a_permanent_error_is_reported_at_once_with_its_error_type(begin, method):
    s3, function = begin(method)
    function.succeed()
    for status, order, error_type, received in (
        (403, {}, "AccessDenied", 0),
        (404, {}, "NoSuchKey", 0),
        (409, {}, "S3Error", 0),
        (429, {}, "S3Error", 0),  # standard mode doesn't retry it
        (0, {"object_bytes": MIB + 1}, "SizeMismatch", MIB),
        (0, {"checksum": f"sha256:{'0' * 64}"}, "ChecksumMismatch", MIB),
        (0, {"object_etag": '"generation-0"'}, "ObjectChanged", MIB if method == "crt" else 0),
    ):
        s3.requests.clear()
        s3.faults = refused_reads(status, "Refused") if status else Faults()
        record = function.fail(error_type, **order)
        # Once it knows the size, crt can't report its retries.
        assert (record["retries"] or 0, record["bytes"]) == (0, received)
        assert record["requests"] == len(s3.requests) <= requests_of(method, MIB)
        assert str(status or "") in record["error_message"]
    function.fail("StartTooLate", start_at_ms=int(time.time() * 1000) + 10**8)
    assert function.succeed(object_etag='"generation-1"')["bytes"] == MIB


@pytest.mark.parametrize(
    ("method", "faults", "error_type"),
    [
        *((method, {"refuse": {"GetObject": THROTTLED}}, "SlowDown") for method in METHODS),
        ("download_file", {"refuse": {"HeadObject": THROTTLED}}, "SlowDown"),
        *((method, CUT_AGAIN, "ConnectionCut") for method in METHODS),
        *((method, SILENT, "ReadTimeout") for method in BOTO3),
    ],
)
def test_a_lasting_fault_is_an_error_after_a_bounded_number_of_attempts(
    begin, monkeypatch, method, faults, error_type
):
    monkeypatch.setattr("common.s3_client.READ_TIMEOUT_S", 0.2)
    s3, function = begin(method, **faults)
    record = function.fail(error_type)
    tries = (REQUEST_TRIES if "refuse" in faults else BODY_TRIES)[method]
    # On a busy machine an answer may take longer to begin than the timeout.
    most = tries * REQUEST_TRIES[method] if faults == SILENT else tries
    counts = [count for count in map(s3.count, ("HeadObject", "GetObject")) if count]
    assert tries <= max(counts) <= most
    retries = sum(counts) - len(counts)
    assert (record["requests"], record["retries"]) == (len(s3.requests), retries)
    assert record["retry_attempts"] == REQUEST_TRIES[method]


@pytest.mark.parametrize(
    ("method", "faults", "error_type"),
    [
        ("crt", {"replace_after_gets": 1}, "ObjectChanged"),
        *(
            (
                method,
                CUT | {"replace_after_gets": 1, "ignore_if_match": is_ignored},
                "ObjectChanged",
            )
            for method in BOTO3
            for is_ignored in (False, True)
        ),
        ("download_file", {"ignore_range": True}, "SizeMismatch"),
        # Cut once, so that `stream` makes a second request, for a range.
        *((method, CUT | {"ignore_range": True}, "S3Error") for method in GET_OBJECT),
        ("stream", {"get_announces_extra_bytes": 1000}, "SizeMismatch"),
    ],
)
def test_an_answer_with_another_object_is_an_error(begin, method, faults, error_type):
    begin(method, OBJECT, **faults)[1].fail(error_type)


def test_a_wrong_checksum_from_s3_is_an_error_of_download_file(begin):
    s3, function = begin("download_file")
    s3.metadata[KEY] = {"x-amz-checksum-crc32": "AAAAAA=="}
    function.fail("ChecksumMismatch")


def test_the_first_failed_range_ends_the_others(begin):
    s3, function = begin(
        "ranges", OBJECT, trickle_bytes=64, refuse={"GetObject": [None, (403, "AccessDenied")]}
    )
    began_s = time.monotonic()
    function.fail("AccessDenied")
    assert time.monotonic() - began_s < 10
    assert s3.count("GetObject") <= 3


@each_method
def test_an_unreachable_endpoint_and_missing_credentials_are_errors(
    begin, sandbox, monkeypatch, method
):
    s3, _ = begin(method)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert sandbox(method).fail("NoConnection")["requests"] == REQUEST_TRIES[method]
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    sandbox(method).fail("NoCredentials")
    assert s3.requests == []


# Without crt, which retries until the deadline.
@pytest.mark.parametrize("method", BOTO3)
def test_an_untrusted_certificate_or_one_for_another_host_is_an_error(
    begin, sandbox, monkeypatch, method
):
    s3, _ = begin(method, tls=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url.replace("127.0.0.1", "localhost"))
    sandbox(method).fail("NoConnection")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    monkeypatch.delenv("AWS_CA_BUNDLE")
    sandbox(method).fail("NoConnection")
    assert s3.requests == []


def test_without_the_crt_package_the_record_says_what_is_missing(begin, monkeypatch):
    monkeypatch.setitem(sys.modules, "awscrt", None)  # as if not installed
    s3, function = begin("crt")
    assert "crt-requirements.txt" in function.fail("SettingsError")["error_message"]
    assert s3.requests == []


@each_over_get_object
@pytest.mark.parametrize(
    ("object_bytes", "faults", "connections"),
    [(0, {}, 1), (OBJECT, {}, 3), (MIB, {"tls": True}, 1)],
)
def test_a_warm_sandbox_reuses_its_connections(begin, method, object_bytes, faults, connections):
    s3, function = begin(method, object_bytes, **faults)
    for _ in range(3):
        assert function.succeed()["retries"] == 0
        time.sleep(0.05)
    assert s3.connections <= connections  # one thread may have downloaded two ranges


@each_method
def test_requester_pays_is_in_every_request(begin, monkeypatch, method):
    monkeypatch.setenv("REQUESTER_PAYS", "true")
    s3, function = begin(method, OBJECT)
    function.succeed()
    assert {request.headers["x-amz-request-payer"] for request in s3.requests} == {"requester"}
    assert len(s3.requests) == requests_of(method, OBJECT)


# A function's own limits: memory, disk, time. Exceeding one is a recorded failure, and nothing is
# left that could disturb the next download.


def assert_threads_end(within_s):
    for thread in threading.enumerate():
        if thread.name in ("download", "range"):
            thread.join(within_s)
            assert not thread.is_alive(), "the stopped download continues"


@each_over_get_object
def test_an_object_too_large_for_memory_or_the_temporary_folder_is_refused(
    begin, monkeypatch, method
):
    monkeypatch.setenv("MEMORY_SIZE", "128")
    almost_full = os.statvfs_result((4096, 4096, 10**6, 100, 100, 10**6, 10**5, 10**5, 0, 255))
    monkeypatch.setattr("os.statvfs", lambda path: almost_full)
    for sink, error_type, variable in (
        ("memory", "NoMemory", "memory_size"),
        ("tmp", "NoSpace", "ephemeral_storage_mb"),
    ):
        record = begin(method, 60 * MIB, sink)[1].fail(error_type)
        assert (record["bytes"], variable in record["error_message"]) == (0, True)
    begin(method, 60 * MIB, "discard")[1].succeed()


def test_a_full_temporary_folder_is_an_error_of_download_file(begin, monkeypatch):
    """/dev/full is the kernel's full disk: every write fails with ENOSPC."""
    full = Path("/dev/full")
    monkeypatch.setattr("s3transfer.utils.OSUtils.open", lambda _self, _name, mode: full.open(mode))
    begin("download_file", OBJECT)[1].fail("NoSpace")


def test_a_partial_write_is_completed_and_a_missing_folder_is_an_error(
    begin, monkeypatch, sandbox_environment
):
    pwrite = os.pwrite
    monkeypatch.setattr(
        "os.pwrite", lambda file, view, position: pwrite(file, view[: len(view) // 2 + 1], position)
    )
    s3, function = begin("stream", sink="tmp")
    function.succeed(**checksum_of(s3))
    sandbox_environment.rmdir()
    function.fail("FileError")
    assert len(s3.requests) == 1


@pytest.mark.parametrize(
    ("method", "sink", "trickle_bytes"),
    [
        *((method, sink, 64) for method in GET_OBJECT for sink in METHODS[method]),
        ("crt", "tmp", 64 * 1024),
    ],
)
def test_a_download_that_would_outlast_the_function_is_stopped_promptly(
    begin, method, sink, trickle_bytes
):
    """No receive window ever fills here."""
    s3, function = begin(method, OBJECT, sink, trickle_bytes=trickle_bytes)
    began_s = time.monotonic()
    record = function.fail("DeadlineExceeded", remaining_s=MARGIN_S + 0.8)
    assert time.monotonic() - began_s < MARGIN_S  # long before Lambda would end it
    assert_threads_end(1)
    if method != "crt":  # which reports bytes only of complete ranges
        assert 0 < record["bytes"] < OBJECT
    assert record["requests"] <= requests_of(method, OBJECT)  # none is repeated
    s3.faults.trickle_bytes = None
    function.succeed(object_bytes=OBJECT)


def test_a_download_that_cannot_be_interrupted_ends_its_invocation_and_blocks_the_next(begin):
    """No chunk of boto3's ever completes here, so none of our code runs during the download, and no
    read times out."""
    s3, function = begin("download_file", trickle_bytes=64)
    # on a busy machine, half a second may pass before the download reaches its GET
    began_s, time_s = time.monotonic(), 2
    record = function.fail("DeadlineExceeded", remaining_s=MARGIN_S + time_s)
    assert time.monotonic() - began_s < time_s + GRACE_S + 2
    took_s = (record["finished_at_ms"] - record["started_at_ms"]) / 1000
    assert time_s <= took_s < time_s + MARGIN_S
    function.fail("PreviousDownloadRunning", remaining_s=MARGIN_S + 0.5)
    assert (s3.count("HeadObject"), s3.count("GetObject")) == (1, 1)
    s3.faults.trickle_bytes = None
    function.succeed(object_bytes=MIB)


@each_over_get_object
def test_no_request_is_retried_after_the_deadline_or_started_too_late(begin, monkeypatch, method):
    waiting = SimpleNamespace(sleep=lambda seconds: time.sleep(0.6), time=time.time)
    monkeypatch.setattr("botocore.endpoint.time", waiting)
    s3, function = begin(method, refuse={"GetObject": THROTTLED})
    record = function.fail("DeadlineExceeded", remaining_s=MARGIN_S + 0.3)
    assert record["requests"] == len(s3.requests) == 1
    function.fail("DeadlineExceeded", remaining_s=MARGIN_S - 0.5)
    assert len(s3.requests) == 1
