"""Faults of S3 and of the network: each ends as an error record and a failed message, and leaves nothing behind."""

import signal
import threading
import time
from pathlib import Path

import pytest

from common.deadline import GRACE_S, MARGIN_S
from common.s3_client import ATTEMPTS
from tests.fakes.s3 import ALWAYS
from tests.unit.functions.download.test_download_record import ERROR_KEYS
from tests.unit.functions.lambda_sandbox import ERROR_TYPES, order

MIB = 2**20
# s3transfer's own tries for one body, on top of the client's tries for one request.
BODY_TRIES = 5
# Bodies of 8 MiB in 13 s, each chunk of s3transfer's (256 KiB) in 0.4 s.
TRICKLE = {"trickle_bytes": 64 * 1024, "trickle_pause_s": 0.1}


@pytest.fixture
def failure(sandbox, sandbox_environment):
    """Return a function that invokes once, checks all that every failure has in common, and returns the record."""

    def invoke(remaining_s=60, **changes):
        [record], failed = sandbox().invoke(order(**changes), remaining_s=remaining_s)
        assert list(record) == ERROR_KEYS
        assert record["status"] == "error"
        assert record["error_type"] in ERROR_TYPES
        assert record["error_message"].isprintable()
        assert len(record["error_message"]) <= 300
        assert record["started_at_ms"] <= record["finished_at_ms"]
        assert failed == [record["message_id"]]
        assert list(sandbox_environment.iterdir()) == [], "a temporary file was left"
        return record

    return invoke


def parts_of(object_bytes):
    """Return how many GETs boto3 makes: one below its threshold of 8 MiB, else one for each 8 MiB begun."""
    return max(1, -(-object_bytes // (8 * MIB)))


def assert_the_download_ends():
    """A stopped transfer sees the stop at its next chunk of 256 KiB; left alone TRICKLE's bodies take 13 s."""
    for thread in threading.enumerate():
        if thread.name == "download":
            thread.join(5)
            assert not thread.is_alive(), "the stopped download goes on"


def test_a_missing_object_becomes_an_error_record(start_s3, failure, monkeypatch):
    s3 = start_s3(MIB)
    monkeypatch.setenv("FILE_NAME", "another.dat")
    record = failure()
    assert record["error_type"] == "NoSuchKey"
    assert "FILE_NAME" in record["error_message"]
    assert (record["bytes"], len(s3.requests)) == (0, 1)


def test_a_403_becomes_an_error_record_that_names_both_possible_reasons(start_s3, failure):
    s3 = start_s3(MIB, status=403, error_code="AccessDenied")
    record = failure()
    assert record["error_type"] == "AccessDenied"
    assert "role" in record["error_message"]
    assert "doesn't exist" in record["error_message"]
    assert len(s3.requests) == 1


def test_an_error_answer_without_a_word_of_its_own_keeps_its_status(start_s3, failure):
    start_s3(MIB, status=400, error_code="InvalidRequest")
    record = failure()
    assert record["error_type"] == "S3Error"
    assert "400" in record["error_message"]


def test_a_slow_down_that_passes_is_retried_to_an_ok_record(start_s3, sandbox):
    s3 = start_s3(MIB, slow_down_heads=1, slow_down_gets=1)
    [record], failed = sandbox().invoke(order())
    assert (failed, record["status"], record["bytes"]) == ([], "ok", MIB)
    assert [request.method for request in s3.requests] == ["HEAD", "HEAD", "GET", "GET"]
    assert (record["retries"], record["requests"]) == (2, 4)


def test_a_slow_down_that_stays_on_the_head_ends_after_bounded_tries(start_s3, failure):
    s3 = start_s3(MIB, slow_down_heads=ALWAYS)
    record = failure()
    assert record["error_type"] == "SlowDown"
    assert "503" in record["error_message"]
    assert (s3.count("HeadObject"), s3.count("GetObject")) == (record["retry_attempts"], 0) == (ATTEMPTS, 0)
    assert (record["retries"], record["requests"], record["first_byte_seconds"]) == (ATTEMPTS - 1, ATTEMPTS, None)


def test_a_slow_down_that_stays_on_the_parts_ends_after_bounded_tries(start_s3, failure):
    s3 = start_s3(12 * MIB, slow_down_gets=ALWAYS)
    record = failure()
    assert record["error_type"] == "SlowDown"
    assert record["bytes"] == 0
    assert ATTEMPTS <= s3.count("GetObject") <= ATTEMPTS * parts_of(12 * MIB)


@pytest.mark.parametrize("object_mib", [3, 12])
def test_a_body_cut_once_is_fetched_again_and_counted_once(start_s3, sandbox, object_mib):
    s3 = start_s3(object_mib * MIB, cut_bodies=1)
    [record], failed = sandbox().invoke(order(object_bytes=object_mib * MIB))
    assert (failed, record["status"], record["bytes"]) == ([], "ok", object_mib * MIB)
    assert s3.count("GetObject") == parts_of(object_mib * MIB) + 1
    assert (record["retries"], record["requests"]) == (1, len(s3.requests))


@pytest.mark.parametrize("object_mib", [3, 12])
def test_bodies_that_are_always_cut_end_after_bounded_tries(start_s3, failure, object_mib):
    s3 = start_s3(object_mib * MIB, cut_bodies=ALWAYS)
    record = failure()
    assert record["error_type"] == "ConnectionCut"
    assert 0 <= record["bytes"] < object_mib * MIB
    assert BODY_TRIES <= s3.count("GetObject") <= BODY_TRIES * parts_of(object_mib * MIB)


@pytest.mark.parametrize("announced_mib", [3, 12])
def test_an_object_shorter_than_announced_becomes_a_size_mismatch(start_s3, failure, announced_mib):
    actual = announced_mib * MIB - 1000
    start_s3(actual, head_announces_bytes=announced_mib * MIB)
    record = failure()
    assert record["error_type"] == "SizeMismatch"
    assert record["bytes"] == actual
    assert f"S3 announced {announced_mib * MIB}" in record["error_message"]


@pytest.mark.parametrize("difference", [-1, 1])
def test_an_object_of_another_size_than_ordered_becomes_a_size_mismatch(start_s3, failure, difference):
    start_s3(MIB)
    record = failure(object_bytes=MIB + difference)
    assert record["error_type"] == "SizeMismatch"
    assert f"the message expects {MIB + difference}" in record["error_message"]
    assert record["bytes"] == MIB


@pytest.mark.parametrize("ignore_if_match", [False, True])
def test_an_object_replaced_during_the_download_is_an_error_and_not_a_mix(start_s3, failure, ignore_if_match):
    """Also where the server, or an older boto3, doesn't compare the ETag: then the answers' ETags tell."""
    s3 = start_s3(40 * MIB, replace_after_gets=2, ignore_if_match=ignore_if_match)
    assert failure()["error_type"] == "ObjectChanged"
    assert s3.count("GetObject") <= 5


def test_a_body_with_a_flipped_bit_becomes_a_checksum_mismatch(start_s3, failure):
    start_s3(MIB, corrupt_body=True)
    assert failure()["error_type"] == "ChecksumMismatch"


def test_a_download_that_would_outlast_the_function_is_stopped_with_a_record(start_s3, failure):
    s3 = start_s3(40 * MIB, **TRICKLE)
    began_s = time.monotonic()
    record = failure(remaining_s=MARGIN_S + 1)
    assert time.monotonic() - began_s < MARGIN_S + 1
    assert record["error_type"] == "DeadlineExceeded"
    assert "timeout_s" in record["error_message"]
    assert 0 < record["bytes"] < 40 * MIB
    assert 1_000 <= record["finished_at_ms"] - record["started_at_ms"] < (MARGIN_S + 1) * 1_000
    assert s3.count("GetObject") == parts_of(40 * MIB)
    assert_the_download_ends()


def test_too_little_time_to_begin_is_a_record_without_a_request(start_s3, failure):
    s3 = start_s3(MIB)
    assert failure(remaining_s=MARGIN_S - 0.5)["error_type"] == "DeadlineExceeded"
    assert s3.requests == []


def test_a_trickling_body_cannot_hold_the_invocation_and_blocks_the_next_until_it_ends(
    start_s3, sandbox, sandbox_environment
):
    """No chunk ever gets complete here, so no code of ours runs in the download, and no read times out either."""
    s3 = start_s3(MIB, trickle_bytes=64)
    function = sandbox()
    began_s = time.monotonic()
    time_s = 2  # on a busy machine, half a second ended before the download had come to its GET
    [first], _ = function.invoke(order(), remaining_s=MARGIN_S + time_s)
    assert time.monotonic() - began_s < time_s + GRACE_S + 2
    assert (first["error_type"], s3.count("GetObject")) == ("DeadlineExceeded", 1)
    assert list(sandbox_environment.iterdir()) == []

    [second], failed = function.invoke(order(), remaining_s=MARGIN_S + 0.5)
    assert second["error_type"] == "PreviousDownloadRunning"
    assert failed == [second["message_id"]]
    assert (s3.count("HeadObject"), s3.count("GetObject")) == (1, 1)

    s3.faults.trickle_bytes = None
    [third], failed = function.invoke(order())
    assert (failed, third["status"], third["bytes"]) == ([], "ok", MIB)
    assert (s3.count("HeadObject"), s3.count("GetObject")) == (2, 2)
    assert list(sandbox_environment.iterdir()) == []


def test_an_interruption_while_bytes_arrive_goes_up_and_stops_the_download(start_s3, sandbox, sandbox_environment):
    s3 = start_s3(40 * MIB, **TRICKLE)
    function = sandbox()
    # A real signal, as from Ctrl-C: it wakes a waiting main thread.
    main = threading.main_thread().ident
    timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    began_s = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            function.invoke(order())
    finally:
        timer.cancel()
    assert time.monotonic() - began_s < 10
    assert s3.count("GetObject") == parts_of(40 * MIB)
    assert_the_download_ends()
    assert list(sandbox_environment.iterdir()) == []


@pytest.mark.parametrize("object_mib", [1, 12])
def test_a_full_temporary_folder_becomes_an_error_record(start_s3, failure, monkeypatch, object_mib):
    """/dev/full is the kernel's own full disk: every write to it ends with ENOSPC."""
    start_s3(object_mib * MIB)

    def open_full_disk(_self, _name, mode):
        return Path("/dev/full").open(mode)

    monkeypatch.setattr("s3transfer.utils.OSUtils.open", open_full_disk)
    record = failure()
    assert record["error_type"] == "NoSpace"
    assert "ephemeral_storage_mb" in record["error_message"]


def test_a_temporary_folder_that_is_gone_becomes_an_error_record(start_s3, sandbox, sandbox_environment):
    s3 = start_s3(MIB)
    function = sandbox()
    [warm], _ = function.invoke(order())
    assert warm["status"] == "ok"
    sandbox_environment.rmdir()
    [record], failed = function.invoke(order())
    assert record["error_type"] == "FileError"
    assert failed == [record["message_id"]]
    assert s3.count("HeadObject") == 1


def test_an_endpoint_that_nobody_listens_on_becomes_an_error_record(failure):
    assert failure()["error_type"] == "NoConnection"


def test_missing_credentials_become_an_error_record(start_s3, failure, monkeypatch):
    s3 = start_s3(MIB)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert failure()["error_type"] == "NoCredentials"
    assert s3.requests == []


def test_a_silent_connection_becomes_a_read_timeout(start_s3, failure, monkeypatch):
    """With a shorter timeout than in use, so that the test doesn't take minutes."""
    s3 = start_s3(MIB, trickle_bytes=1000, trickle_pause_s=30)
    monkeypatch.setattr("common.s3_client.READ_TIMEOUT_S", 0.2)
    record = failure()
    assert record["error_type"] == "ReadTimeout"
    assert s3.count("GetObject") == BODY_TRIES
