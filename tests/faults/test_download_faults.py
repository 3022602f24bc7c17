"""Faults of S3 and the network in every method of downloading: the right bytes or the record of a
failure, its requests counted, nothing left behind."""

import hashlib
import sys
import time
import zlib
from importlib.metadata import version

import pytest

from common.s3_client import ATTEMPTS
from download.methods import METHODS
from tests.fakes.s3 import ALWAYS, Faults, content_of

MIB = 2**20
PART = 16 * MIB  # the smallest range
OBJECT = 2 * PART + 3 * MIB + 5
# Those of Go, whose own tests have their faults: here for what has the same record in both
# languages.
GO = {"go_stream": ("",), "go_ranges": ("",)}
GET_OBJECT = ("stream", "ranges")
BOTO3 = ("download_file", *GET_OBJECT)
# Tries by the methods: of one request until its answer begins, and of a body.
REQUEST_TRIES = dict.fromkeys(BOTO3, ATTEMPTS) | {"crt": 6}
BODY_TRIES = REQUEST_TRIES | {"download_file": 5}
CUT, CUT_AGAIN, SILENT = (
    {"cut_bodies": 1},
    {"cut_bodies": ALWAYS},
    {"trickle_bytes": 1000, "trickle_pause_s": 30},
)
TLS = {"tls": True}

each_method = pytest.mark.parametrize("method", [*METHODS, *GO])
each_over_get_object = pytest.mark.parametrize("method", GET_OBJECT)


def checksum_of(s3, method="", sink=""):
    """Return the strongest checksum that this method and sink can compute."""
    if method in GO or (method, sink) == ("ranges", "discard"):
        return f"crc32:{zlib.crc32(s3.body):08x}"
    return f"sha256:{hashlib.sha256(s3.body).hexdigest()}"


def requests_of(method, object_bytes):
    """Return how many requests an object takes; an empty one has no first range, and is asked for
    again as a whole."""
    if method.endswith("stream"):
        return 1
    if method == "download_file":
        return 1 + max(1, -(-object_bytes // (8 * MIB)))
    return max(1, -(-object_bytes // PART)) + (object_bytes == 0)


def is_continued(request):
    first = (request.headers["Range"] or "bytes=0-").removeprefix("bytes=").partition("-")[0]
    return int(first) > 0


@pytest.mark.parametrize(
    ("method", "sink"),
    [(method, sink) for method, sinks in (METHODS | GO).items() for sink in sinks],
)
def test_the_right_bytes_of_every_size_arrive_one_after_the_other_and_what_they_took_is_counted(
    begin, method, sink
):
    s3, function = begin(method, 0, sink)
    cases = [
        *((size, {}, 0) for size in (0, 1, PART, PART + 1)),
        (OBJECT, {"slow_down_gets": 2}, 2),
        (OBJECT, CUT, 1),
    ]
    # each replaces the one before
    for s3.generation, (object_bytes, faults, retries) in enumerate(cases, start=1):
        s3.body, s3.faults = content_of(object_bytes), Faults(**faults)
        s3.requests.clear()
        record = function.succeed(object_bytes=object_bytes, checksum=checksum_of(s3, method, sink))
        assert (record["method"], record["sink"], record["bytes"]) == (
            method,
            sink or record["sink"],
            object_bytes,
        )
        assert (record["retries"], record["requests"]) == (
            retries,
            requests_of(method, object_bytes) + retries,
        )
        assert record["requests"] == len(s3.requests)
        assert record["client_cpu_seconds"] > 0
        # Whatever continues an object continues this one.
        assert all(request.headers["If-Match"] for request in s3.requests if is_continued(request))
        if method == "crt":
            # the runtime tells of an answer when its whole range is there
            assert record["first_byte_seconds"] is None
            assert (record["retry_mode"], record["sdk"]) == ("crt", f"awscrt {version('awscrt')}")
        else:
            assert 0 < record["first_byte_seconds"] <= record["download_time_seconds"]
            assert (record["retry_mode"], record["retry_attempts"]) == ("standard", ATTEMPTS)
            assert method in GO or record["sdk"] == f"botocore {version('botocore')}"


@pytest.mark.parametrize("method", METHODS)
def test_over_tls_too_a_body_that_is_cut_comes_whole(begin, method):
    s3, function = begin(method, OBJECT, **TLS | CUT)
    record = function.succeed(checksum=checksum_of(s3))
    assert (record["retries"], record["requests"]) == (1, requests_of(method, OBJECT) + 1)


def test_a_body_may_be_cut_more_often_than_it_is_tried_as_long_as_each_try_brings_it_on(begin):
    s3, function = begin("stream", OBJECT, cut_bodies=ATTEMPTS)
    assert function.succeed(checksum=checksum_of(s3))["retries"] == ATTEMPTS


@each_method
def test_what_no_other_try_would_mend_is_an_error_at_once_with_its_word(begin, method):
    s3, function = begin(method)
    function.succeed()
    for faults, order, error_type, received in (
        ({"status": 403, "error_code": "AccessDenied"}, {}, "AccessDenied", 0),
        ({"status": 404, "error_code": "NoSuchKey"}, {}, "NoSuchKey", 0),
        ({"status": 409, "error_code": "OperationAborted"}, {}, "S3Error", 0),
        # standard mode doesn't try it again
        ({"status": 429, "error_code": "TooManyRequests"}, {}, "S3Error", 0),
        ({}, {"object_bytes": MIB + 1}, "SizeMismatch", MIB),
        ({"corrupt_body": True}, {"checksum": checksum_of(s3, method)}, "ChecksumMismatch", MIB),
        ({}, {"object_etag": '"generation-0"'}, "ObjectChanged", MIB if method == "crt" else 0),
    ):
        s3.requests.clear()
        s3.faults = Faults(**faults)
        record = function.fail(error_type, **order)
        # Once it has the size, crt can't tell its retries.
        assert (record["requests"], record["retries"] or 0, record["bytes"]) == (
            len(s3.requests),
            0,
            received,
        )
        assert len(s3.requests) <= requests_of(method, MIB)
        assert str(faults.get("status", "")) in record["error_message"]
    function.fail("StartTooLate", start_at_ms=int(time.time() * 1000) + 10**8)
    s3.faults = Faults()
    assert function.succeed(object_etag='"generation-1"')["bytes"] == MIB


@pytest.mark.parametrize(
    ("method", "faults", "error_type"),
    [
        *((method, {"slow_down_gets": ALWAYS}, "SlowDown") for method in METHODS),
        *((method, {"status": 500, "error_code": "InternalError"}, "S3Error") for method in BOTO3),
        *((method, CUT_AGAIN, "ConnectionCut") for method in METHODS),
        *((method, CUT_AGAIN | TLS, "ConnectionCut") for method in BOTO3),
        *((method, SILENT, "ReadTimeout") for method in BOTO3),
    ],
)
def test_what_fails_on_every_try_is_an_error_after_bounded_tries(
    begin, monkeypatch, method, faults, error_type
):
    monkeypatch.setattr("common.s3_client.READ_TIMEOUT_S", 0.2)
    s3, function = begin(method, **faults)
    record = function.fail(error_type)
    tries = (BODY_TRIES if "cut_bodies" in faults or faults is SILENT else REQUEST_TRIES)[method]
    assert max(map(s3.count, ("HeadObject", "GetObject"))) == tries
    assert (record["requests"], record["retries"]) == (len(s3.requests), tries - 1)
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


def test_the_other_ranges_end_with_the_first_that_fails(begin):
    s3, function = begin(
        "ranges", OBJECT, trickle_bytes=64, refuse={"GetObject": [None, (403, "AccessDenied")]}
    )
    began_s = time.monotonic()
    function.fail("AccessDenied")
    assert time.monotonic() - began_s < 10
    assert s3.count("GetObject") <= 3


@pytest.mark.parametrize("method", METHODS)
def test_an_endpoint_that_nobody_listens_on_and_missing_credentials_are_errors(
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


# Without crt, which tries again until the deadline.
@pytest.mark.parametrize("method", BOTO3)
def test_a_certificate_that_nobody_vouches_for_or_of_another_name_is_an_error(
    begin, sandbox, monkeypatch, method
):
    s3, _ = begin(method, tls=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url.replace("127.0.0.1", "localhost"))
    sandbox(method).fail("NoConnection")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    monkeypatch.delenv("AWS_CA_BUNDLE")
    sandbox(method).fail("NoConnection")
    assert s3.requests == []


def test_without_the_package_of_crt_the_record_says_what_is_missing(begin, monkeypatch):
    monkeypatch.setitem(sys.modules, "awscrt", None)  # as if it weren't installed
    s3, function = begin("crt")
    assert "crt-requirements.txt" in function.fail("SettingsError")["error_message"]
    assert s3.requests == []


@each_over_get_object
@pytest.mark.parametrize(
    ("object_bytes", "faults", "connections"),
    [(0, {}, 1), (OBJECT, {}, None), (MIB, TLS, 1), (MIB, {"close_connections": 1}, 2)],
)
def test_a_warm_sandbox_keeps_the_connections_that_s3_keeps(
    begin, method, object_bytes, faults, connections
):
    s3, function = begin(method, object_bytes, **faults)
    for _ in range(3):
        assert function.succeed()["retries"] == 0
        time.sleep(0.05)
    # Of ranges, one thread may have done the work of two.
    assert (
        s3.connections <= requests_of(method, object_bytes)
        if connections is None
        else s3.connections == connections
    )


@each_method
def test_who_pays_for_the_requests_says_so_in_each_of_them(begin, monkeypatch, method):
    monkeypatch.setenv("REQUESTER_PAYS", "true")
    s3, function = begin(method, OBJECT)
    function.succeed()
    assert {request.headers["x-amz-request-payer"] for request in s3.requests} == {"requester"}
    assert len(s3.requests) == requests_of(method, OBJECT)
