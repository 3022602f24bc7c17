"""The copying function on a faulty S3 and faulty mounts: a record for each fault, nothing written
outside the target."""

import os
import shutil
import threading
import time

import pytest

from common.deadline import MARGIN_S
from common.s3_client import ATTEMPTS
from tests.fakes.s3 import ALWAYS
from tests.unit.functions.filesystem.copies import (
    LARGE,
    OBJECTS,
    SMALL,
    keep_what_is_copied,
    put_on_mount,
)

THROTTLED_TWICE = {"GetObject": [(503, "SlowDown")] * 2}
each_read_method = pytest.mark.parametrize("method", ["download_file", "pool"])


@pytest.fixture(autouse=True)
def _nothing_is_written_outside(tmp_path, mount, start_s3):
    before = set(tmp_path.iterdir())
    yield
    assert set(tmp_path.iterdir()) <= before


# The mount.


def without(folder):
    shutil.rmtree(folder)
    return folder


@pytest.mark.parametrize(
    ("change", "error_type", "word"),
    [
        (without, "NoData", "MOUNT_PATH"),
        (lambda mount: without(mount / "small"), "NoData", "seeding"),
        (lambda mount: without(mount / "small").symlink_to(mount / "large"), "UnsafePath", "small"),
        (
            lambda mount: (mount / "small/link.bin").symlink_to("/etc/passwd"),
            "UnsafePath",
            "'link.bin'",
        ),
        (lambda mount: os.mkfifo(mount / "small/pipe"), "UnsafePath", "'pipe'"),
        (lambda mount: (mount / "small/more/ä.bin").unlink(), "SizeMismatch", "expects 23"),
    ],
)
def test_a_mount_without_files_or_with_other_entries_is_reported(
    start, mount, change, error_type, word
):
    put_on_mount(mount)
    put_on_mount(mount, "large", {"file.bin": LARGE})
    function = start("efs")
    change(mount)
    assert word in function.fail(error_type, files=23)["error_message"]
    mount.mkdir(exist_ok=True)


@pytest.mark.parametrize(
    ("becomes", "error_type"), [("", "ObjectChanged"), ("/etc/passwd", "UnsafePath")]
)
def test_a_file_that_vanishes_or_becomes_a_link_after_listing_is_reported(
    start, mount, monkeypatch, becomes, error_type
):
    path, open_file = mount / "small/00007.bin", os.open

    def open_too_late(name, *arguments, **options):
        if name == path.name:
            path.unlink()
            if becomes:
                path.symlink_to(becomes)
        return open_file(name, *arguments, **options)

    put_on_mount(mount)
    function = start("efs")
    monkeypatch.setattr(os, "open", open_too_late)
    assert "'00007.bin'" in function.fail(error_type)["error_message"]


def stale(*_):
    raise OSError(116, "Stale file handle")


def lossy(target, source, position, count, sendfile=os.sendfile):
    sendfile(target, source, position, count - 1)
    return count


def slow(target, source, position, count, sendfile=os.sendfile):
    time.sleep(0.05)
    return sendfile(target, source, position, 100_000)


def changing(size):
    """The file changes to this size after its first bytes."""

    def change(target, source, position, count, sendfile=os.sendfile):
        if position:
            path = f"/proc/self/fd/{source}"
            os.truncate(path, size)
            os.utime(path, (1, 1))
        return sendfile(target, source, position, count)

    return change


@pytest.mark.parametrize(
    ("sendfile", "error_type"),
    [
        (stale, "ObjectChanged"),
        (lossy, "SizeMismatch"),
        (slow, "DeadlineExceeded"),
        (changing(8_000_000), "SizeMismatch"),
        (changing(len(LARGE)), "ObjectChanged"),
    ],
)
def test_a_fault_during_a_copy_is_reported_and_counts_as_a_read(
    start, mount, monkeypatch, sendfile, error_type
):
    put_on_mount(mount, "large", {"file.bin": LARGE})
    function = start("efs")
    function.fail(
        "StartTooLate", start_at_ms=int(time.time() * 1000) + 10**7
    )  # doesn't count as a read
    with monkeypatch.context() as patch:
        patch.setattr(os, "sendfile", sendfile)
        record = function.fail(error_type, dataset="large", remaining_s=MARGIN_S + 0.5)
    assert record["bytes"] <= len(LARGE)
    assert (record["read"], record["read_order"]) == ("first", 1)
    assert function.succeed(dataset="large")["read_order"] == 2


# S3. test_download_faults.py covers faults of a body.


@pytest.mark.parametrize(
    ("faults", "error_type", "requests"),
    [
        ({"objects": {"large/file.bin": b"1"}}, "NoData", 1),
        ({"objects": OBJECTS | {"small/../../stolen": b"1"}}, "UnsafePath", 1),
        ({"refuse": {"ListObjectsV2": [(403, "AccessDenied")] * 2}}, "AccessDenied", 1),
        ({"cut_listings": ALWAYS}, "ConnectionCut", ATTEMPTS),
        ({"refuse": {"GetObject": [(404, "NoSuchKey")] * 2}}, "NoSuchKey", None),
        ({"replace_after_gets": 5}, "ObjectChanged", None),
        ({"replace_after_gets": 5, "ignore_if_match": True}, "ObjectChanged", None),
    ],
)
@each_read_method
def test_a_failed_or_outdated_listing_is_reported(
    start, start_s3, method, faults, error_type, requests
):
    s3 = start_s3(**{"objects": OBJECTS} | faults)
    record = start("s3", READ_METHOD=method).fail(error_type)
    assert record["requests"] == len(s3.requests) == (requests or len(s3.requests))
    assert record["listing_seconds"] > 0


@each_read_method
def test_cut_answers_are_retried_and_counted_and_a_trickle_is_stopped(
    start, start_s3, monkeypatch, method
):
    # an empty body can't be cut
    files = {name: content for name, content in SMALL.items() if content}
    objects = {f"small/{name}": content for name, content in files.items()}
    s3 = start_s3(objects=objects, cut_bodies=2, refuse=THROTTLED_TWICE, cut_listings=1)
    copied = keep_what_is_copied(monkeypatch)
    function = start("s3", READ_METHOD=method)
    record = function.succeed(threads=4)
    assert copied == [files]
    assert (record["retries"], record["requests"]) == (5, len(s3.requests))
    s3.faults.trickle_bytes, s3.faults.trickle_pause_s = 100, 0.2
    began_s = time.monotonic()
    function.fail("DeadlineExceeded", remaining_s=MARGIN_S + 0.7)
    assert time.monotonic() - began_s < MARGIN_S + 3
    if method == "pool":  # boto3's threads end with the server
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("copy")]
