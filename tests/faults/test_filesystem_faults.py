"""The copying function against S3 and mounts that misbehave: each fault its record, nothing outside the target."""

import os
import shutil
import threading
import time

import pytest

from common.deadline import MARGIN_S
from common.s3_client import ATTEMPTS
from tests.fakes.s3 import ALWAYS
from tests.unit.functions.filesystem.copies import LARGE, OBJECTS, SMALL, keep_what_is_copied, put_on_mount

each_read_method = pytest.mark.parametrize("method", ["download_file", "pool"])


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("common.get_object.pause_s", lambda tries: 0.01 * tries)


@pytest.fixture(autouse=True)
def _nothing_is_written_outside(tmp_path, mount, start_s3):
    before = set(tmp_path.iterdir())
    yield
    assert set(tmp_path.iterdir()) <= before


# The mount.


def without(mount, dataset="small"):
    shutil.rmtree(mount / dataset)
    return mount / dataset


@pytest.mark.parametrize(
    ("change", "error_type", "word"),
    [
        (lambda mount: without(mount, "."), "NoData", "MOUNT_PATH"),
        (without, "NoData", "seeding"),
        (lambda mount: without(mount).mkdir(), "NoData", "seeding"),
        (lambda mount: without(mount).symlink_to(mount / "large"), "UnsafePath", "small"),
        (lambda mount: (mount / "small/link.bin").symlink_to("/etc/passwd"), "UnsafePath", "'link.bin'"),
        (lambda mount: (mount / "small/more/link").symlink_to("/etc"), "UnsafePath", "'more/link'"),
        (lambda mount: os.mkfifo(mount / "small/pipe"), "UnsafePath", "'pipe'"),
    ],
    ids=["no mount", "no folder", "an empty folder", "a link", "a link to a file", "one to a folder", "a pipe"],
)
def test_a_mount_without_files_or_with_something_else_among_them_is_reported(start, mount, change, error_type, word):
    put_on_mount(mount)
    put_on_mount(mount, "large", {"file.bin": LARGE})
    function = start("efs")
    change(mount)
    assert word in function.fail(error_type)["error_message"]
    mount.mkdir(exist_ok=True)


@pytest.mark.parametrize(
    ("change", "error_type"),
    [
        (lambda path: path.unlink(), "ObjectChanged"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/passwd")), "UnsafePath"),
    ],
    ids=["vanishes", "becomes a link"],
)
def test_a_file_that_is_another_after_its_folder_was_read_is_reported(start, mount, monkeypatch, change, error_type):
    scandir = os.scandir

    class Listing(list):
        def __enter__(self):
            return iter(self)

        def __exit__(self, *_):
            pass

    def read(folder):
        entries = Listing(scandir(folder))
        monkeypatch.setattr(os, "scandir", scandir)
        change(mount / "small/00007.bin")
        return entries

    put_on_mount(mount)
    function = start("efs")
    monkeypatch.setattr(os, "scandir", read)
    assert "'00007.bin'" in function.fail(error_type)["error_message"]


def stale(*_):
    raise OSError(116, "Stale file handle")


def full(*_):
    raise OSError(28, "No space left on device")


def lossy(target, source, position, count, sendfile=os.sendfile):
    sendfile(target, source, position, count - 1)
    return count


def slow(target, source, position, count, sendfile=os.sendfile):
    time.sleep(0.05)
    return sendfile(target, source, position, 100_000)


@pytest.mark.parametrize(
    ("sendfile", "error_type"),
    [(stale, "ObjectChanged"), (full, "NoSpace"), (lossy, "SizeMismatch"), (slow, "DeadlineExceeded")],
)
def test_what_the_kernel_says_of_a_copy_is_reported(start, mount, monkeypatch, sendfile, error_type):
    put_on_mount(mount, "large", {"file.bin": LARGE})
    monkeypatch.setattr(os, "sendfile", sendfile)
    record = start("efs").fail(error_type, dataset="large", remaining_s=MARGIN_S + 0.5)
    assert record["bytes"] <= len(LARGE)
    assert (record["read"], record["read_order"]) == ("first", 1)


@pytest.mark.parametrize(
    ("size", "error_type"),
    [(8_000_000, "SizeMismatch"), (len(LARGE), "ObjectChanged"), (25_000_000, "ObjectChanged")],
)
def test_a_file_that_gets_shorter_other_or_longer_under_way_is_reported(start, mount, monkeypatch, size, error_type):
    put_on_mount(mount, "large", {"file.bin": LARGE})
    sendfile = os.sendfile

    def change(target, source, position, count):
        if position:
            os.truncate(mount / "large/file.bin", size)
            os.utime(mount / "large/file.bin", (1, 1))
        return sendfile(target, source, position, count)

    monkeypatch.setattr(os, "sendfile", change)
    assert "'file.bin'" in start("efs").fail(error_type, dataset="large")["error_message"]


@pytest.mark.parametrize("changes", [{"files": 24}, {"bytes": 5}])
def test_a_data_set_that_is_not_the_orders_is_reported(start, mount, changes):
    put_on_mount(mount)
    assert f"expects {next(iter(changes.values()))}" in start("efs").fail("SizeMismatch", **changes)["error_message"]


def test_a_read_that_failed_is_one_in_the_order_of_reads_and_one_that_did_not_begin_is_none(start, mount):
    put_on_mount(mount)
    function = start("efs")
    function.fail("StartTooLate", start_at_ms=int(time.time() * 1000) + 10**7)
    assert function.fail("SizeMismatch", files=5)["read_order"] == 1
    assert function.succeed()["read_order"] == 2


# S3. What a body does is the download's, in test_download_faults.py.


@pytest.mark.parametrize(
    ("faults", "error_type", "requests"),
    [
        ({"objects": {"large/file.bin": b"1"}}, "NoData", 1),
        ({"objects": OBJECTS | {"small/../../stolen": b"1"}}, "UnsafePath", 1),
        ({"status": 403, "error_code": "AccessDenied"}, "AccessDenied", 1),
        ({"status": 400, "error_code": "Bad"}, "S3Error", 1),
        ({"cut_listings": ALWAYS}, "ConnectionCut", ATTEMPTS),
        ({"cut_listings": ALWAYS, "is_listing_whole": True}, "ConnectionCut", ATTEMPTS),
        ({"endless_listing": True}, "S3Error", 2),
        ({"lost_after_listing": "small/00003.bin"}, "NoSuchKey", None),
        ({"replace_after_gets": 5}, "ObjectChanged", None),
        ({"replace_after_gets": 5, "ignore_if_match": True}, "ObjectChanged", None),
    ],
)
@each_read_method
def test_a_listing_that_fails_or_is_no_longer_true_is_reported(start, start_s3, method, faults, error_type, requests):
    s3 = start_s3(**{"objects": OBJECTS} | faults)
    record = start("s3", READ_METHOD=method).fail(error_type)
    assert record["requests"] == len(s3.requests) == (requests or len(s3.requests))
    assert record["listing_seconds"] > 0


@each_read_method
def test_what_breaks_off_and_answers_to_slow_down_are_asked_for_again_and_counted(start, start_s3, monkeypatch, method):
    files = {name: content for name, content in SMALL.items() if content}  # an empty body can't break off
    objects = {f"small/{name}": content for name, content in files.items()}
    s3 = start_s3(objects=objects, cut_bodies=2, slow_down_gets=2, cut_listings=1)
    copied = keep_what_is_copied(monkeypatch)
    record = start("s3", READ_METHOD=method).succeed(threads=4)
    assert copied == [files]
    assert (record["retries"], record["requests"]) == (5, len(s3.requests))


@each_read_method
def test_bodies_that_trickle_are_stopped_before_the_functions_timeout(start, start_s3, method):
    start_s3(objects=OBJECTS, trickle_bytes=100, trickle_pause_s=0.2)
    began_s = time.monotonic()
    start("s3", READ_METHOD=method).fail("DeadlineExceeded", remaining_s=MARGIN_S + 0.7)
    assert time.monotonic() - began_s < MARGIN_S + 3
    if method == "pool":  # boto3's threads end when the server does
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("copy")]
