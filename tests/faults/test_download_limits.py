"""A function's own limits: its memory, its disk, its time. Each is the record of a failure, and
nothing is left that could disturb the next download."""

import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from common.deadline import GRACE_S, MARGIN_S
from download.methods import METHODS
from tests.faults.test_download_faults import (
    GET_OBJECT,
    MIB,
    OBJECT,
    THROTTLED,
    checksum_of,
    each_over_get_object,
    requests_of,
)


def assert_it_ends(within_s):
    for thread in threading.enumerate():
        if thread.name in ("download", "range"):
            thread.join(within_s)
            assert not thread.is_alive(), "the stopped download goes on"


@each_over_get_object
def test_an_object_larger_than_the_functions_memory_or_its_temporary_folder_is_refused(
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


def test_a_temporary_folder_that_is_full_is_an_error_of_download_file(begin, monkeypatch):
    """/dev/full is the kernel's own full disk: every write to it ends with ENOSPC."""
    full = Path("/dev/full")
    monkeypatch.setattr("s3transfer.utils.OSUtils.open", lambda _self, _name, mode: full.open(mode))
    begin("download_file", OBJECT)[1].fail("NoSpace")


def test_a_disk_that_takes_half_of_what_is_written_gets_the_rest_and_one_that_is_gone_is_an_error(
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
def test_a_download_that_would_outlast_the_function_is_stopped_at_once(
    begin, method, sink, trickle_bytes
):
    """No window ever gets full here."""
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
    """No chunk of boto3's ever gets complete here, so no code of ours runs in the download, and no
    read times out."""
    s3, function = begin("download_file", trickle_bytes=64)
    # on a busy machine, half a second ends before the download comes to its GET
    began_s, time_s = time.monotonic(), 2
    record = function.fail("DeadlineExceeded", remaining_s=MARGIN_S + time_s)
    assert time.monotonic() - began_s < time_s + GRACE_S + 2
    assert (
        1000 * time_s
        <= record["finished_at_ms"] - record["started_at_ms"]
        < 1000 * (time_s + MARGIN_S)
    )
    function.fail("PreviousDownloadRunning", remaining_s=MARGIN_S + 0.5)
    assert (s3.count("HeadObject"), s3.count("GetObject")) == (1, 1)
    s3.faults.trickle_bytes = None
    function.succeed(object_bytes=MIB)


@pytest.mark.usefixtures("no_collection")
def test_an_interruption_while_bytes_arrive_goes_up_and_stops_the_download(
    begin, sandbox_environment
):
    """boto3's threads end at their next chunk of 256 KiB, after 0.4 s; left alone, bodies of 8 MiB
    take 13 s."""
    _, function = begin("download_file", 40 * MIB, trickle_bytes=64 * 1024, trickle_pause_s=0.1)
    # A real signal, as from Ctrl-C: it wakes a waiting main thread.
    timer = threading.Timer(
        0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)
    )
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
def test_no_request_is_tried_again_after_the_deadline_and_none_begins_too_late(
    begin, monkeypatch, method
):
    waiting = SimpleNamespace(sleep=lambda seconds: time.sleep(0.6), time=time.time)
    monkeypatch.setattr("botocore.endpoint.time", waiting)
    s3, function = begin(method, refuse={"GetObject": THROTTLED})
    assert (
        function.fail("DeadlineExceeded", remaining_s=MARGIN_S + 0.3)["requests"]
        == len(s3.requests)
        == 1
    )
    function.fail("DeadlineExceeded", remaining_s=MARGIN_S - 0.5)
    assert len(s3.requests) == 1
