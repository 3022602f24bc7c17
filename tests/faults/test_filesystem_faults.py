"""The copying function against S3 and mounts that misbehave: each fault its record, nothing outside the target."""

import os
import threading
import time

import pytest

from common.deadline import MARGIN_S
from common.listing import ListedObject
from common.measurement import Measurement
from common.s3_client import ATTEMPTS
from filesystem.names import by_path
from filesystem.reading import each
from tests.fakes.s3 import ALWAYS
from tests.unit.functions.filesystem.copies import (
    LARGE,
    OBJECTS,
    SMALL,
    SMALL_BYTES,
    failure,
    keep_what_is_copied,
    put_on_mount,
    success,
)
from tests.unit.functions.lambda_sandbox import order

each_read_method = pytest.mark.parametrize("method", ["download_file", "pool"])


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("common.get_object.pause_s", lambda tries: 0.01 * tries)


@pytest.fixture
def outside(tmp_path):
    """Check that nothing was written beside the mount and the temporary folder."""
    before = set(tmp_path.iterdir())
    yield
    assert set(tmp_path.iterdir()) == before


pytestmark = pytest.mark.usefixtures("mount", "start_s3", "outside")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"threads": 0}, "threads must be a whole number from 1 to 256, not 0"),
        ({"threads": 257}, "threads must be a whole number from 1 to 256, not 257"),
        ({"threads": True}, "threads must be a whole number from 1 to 256, not True"),
        ({"connections": 0}, "connections must be a whole number from 1 to 256, not 0"),
        ({"connections": 1.0}, "connections must be a whole number from 1 to 256, not 1.0"),
        ({"dataset": "medium"}, "dataset must be large or small, not 'medium'"),
        ({"dataset": ["small"]}, "dataset must be large or small, not ['small']"),
        ({"files": -1}, "files must be a whole number from 0"),
        ({"object_bytes": 5}, "unknown key 'object_bytes'"),
    ],
)
def test_a_wrong_order_is_refused_before_anything_is_read(start, start_s3, sandbox_environment, changes, reason):
    s3 = start_s3(objects=OBJECTS)
    record = failure(start("s3"), sandbox_environment, **changes)
    assert record["error_type"] == "WorkOrderError"
    assert reason in record["error_message"]
    assert (record["dataset"], record["read"], record["files"], s3.requests) == (None, None, 0, [])


@pytest.mark.parametrize(
    ("storage", "changes", "reason"),
    [
        ("", {}, "STORAGE is missing or empty"),
        ("nfs", {}, "STORAGE must be s3 or s3_in_vpc or efs or s3files, not 'nfs'"),
        ("s3", {"READ_METHOD": "fast"}, "READ_METHOD must be download_file or pool, not 'fast'"),
        ("efs", {"MOUNT_PATH": ""}, "MOUNT_PATH is missing or empty"),
        ("efs", {"MOUNT_PATH": "data"}, "MOUNT_PATH must be an absolute path like /mnt/data, not 'data'"),
        ("efs", {"CACHE": "empty"}, "CACHE must be keep or drop, not 'empty'"),
    ],
)
def test_a_wrong_environment_is_an_error_record_that_names_the_variable(
    start, sandbox_environment, storage, changes, reason
):
    record = failure(start(storage, **changes), sandbox_environment)
    assert record["error_type"] == "SettingsError"
    assert reason in record["error_message"]
    assert (record["storage"], record["dataset"], record["retry_mode"]) == (None, "small", None)


# The mount.


def test_a_mount_that_is_missing_is_reported(start, sandbox_environment, mount):
    function = start("efs")
    mount.rmdir()
    record = failure(function, sandbox_environment)
    mount.mkdir()
    assert record["error_type"] == "NoData"
    assert record["error_message"].startswith(f"nothing is mounted at MOUNT_PATH={mount}")


@pytest.mark.parametrize("dataset", ["small", "large"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_data_set_that_is_missing_or_empty_is_reported(start, sandbox_environment, mount, dataset, is_folder):
    if is_folder:
        (mount / dataset).mkdir()
    record = failure(start("efs"), sandbox_environment, dataset=dataset)
    assert record["error_type"] == "NoData"
    assert "invoke the seeding function, which copies the data set there" in record["error_message"]


def test_a_mount_that_is_read_only_is_read(start, mount):
    put_on_mount(mount)
    for path in [*mount.rglob("*"), mount]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert success(start("efs"))["files"] == len(SMALL)
    finally:
        for path in [mount, *mount.rglob("*")]:
            path.chmod(0o755)


@pytest.mark.parametrize("name", ["link.bin", "more/link"])
def test_a_link_is_never_followed(start, sandbox_environment, mount, name):
    put_on_mount(mount)
    (mount / "small" / name).symlink_to("/etc" if name == "more/link" else "/etc/passwd")
    record = failure(start("efs"), sandbox_environment)
    assert record["error_type"] == "UnsafePath"
    assert record["error_message"].startswith(f"{name!r} is neither a file nor a folder")


def test_a_data_set_that_is_a_link_is_not_followed_either(start, sandbox_environment, mount):
    put_on_mount(mount, "other")
    (mount / "small").symlink_to(mount / "other")
    assert failure(start("efs"), sandbox_environment)["error_type"] == "UnsafePath"


def test_a_file_that_becomes_a_link_after_the_folder_was_read_is_not_followed(
    start, sandbox_environment, mount, monkeypatch
):
    put_on_mount(mount)
    during(monkeypatch, mount, lambda path: (path.unlink(), path.symlink_to("/etc/passwd")))
    assert failure(start("efs"), sandbox_environment)["error_type"] == "UnsafePath"


def test_a_pipe_does_not_hold_the_copy_up(start, sandbox_environment, mount):
    put_on_mount(mount)
    os.mkfifo(mount / "small" / "pipe")
    assert failure(start("efs"), sandbox_environment)["error_type"] == "UnsafePath"


def during(monkeypatch, mount, change, name="00007.bin"):
    """Have `change` called with one file's path once the folder was read, before any file of it is opened."""
    scandir = os.scandir

    def read(folder):
        entries = list(scandir(folder))
        monkeypatch.setattr(os, "scandir", scandir)
        change(mount / "small" / name)
        return Listing(entries)

    class Listing(list):
        def __enter__(self):
            return iter(self)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(os, "scandir", read)


def test_a_file_that_vanishes_is_reported(start, sandbox_environment, mount, monkeypatch):
    put_on_mount(mount)
    function = start("efs")
    during(monkeypatch, mount, lambda path: path.unlink())
    record = failure(function, sandbox_environment)
    assert record["error_type"] == "ObjectChanged"
    assert record["error_message"].startswith("'00007.bin' vanished or changed")


@pytest.mark.parametrize(
    ("size", "error_type"), [(8_000_000, "SizeMismatch"), (25_000_000, "ObjectChanged"), (LARGE, "ObjectChanged")]
)
def test_a_file_that_is_shorter_or_longer_or_other_than_when_it_was_opened_is_reported(
    start, sandbox_environment, mount, monkeypatch, size, error_type
):
    put_on_mount(mount, "large", {"file.bin": LARGE})
    path, sendfile, calls = mount / "large" / "file.bin", os.sendfile, []

    def send(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            if isinstance(size, int):
                os.truncate(path, size)
            else:
                path.write_bytes(size)
            os.utime(path, (1, 1))
        return sendfile(*arguments)

    monkeypatch.setattr(os, "sendfile", send)
    record = failure(start("efs"), sandbox_environment, dataset="large")
    assert record["error_type"] == error_type
    assert "'file.bin'" in record["error_message"]


def test_a_copy_that_is_shorter_on_the_disk_than_what_was_written_is_reported(
    start, sandbox_environment, mount, monkeypatch
):
    sendfile = os.sendfile

    def send(target, source, position, count):
        sendfile(target, source, position, count - 1)
        return count

    put_on_mount(mount)
    monkeypatch.setattr(os, "sendfile", send)
    record = failure(start("efs"), sandbox_environment)
    assert record["error_type"] == "SizeMismatch"
    assert "bytes in the target folder instead of" in record["error_message"]


def test_a_file_whose_nfs_handle_is_stale_has_changed(start, sandbox_environment, mount, monkeypatch):
    def sendfile(*_):
        raise OSError(116, "Stale file handle")

    put_on_mount(mount)
    monkeypatch.setattr(os, "sendfile", sendfile)
    assert failure(start("efs"), sandbox_environment)["error_type"] == "ObjectChanged"


def test_a_copy_is_stopped_before_the_functions_timeout(start, sandbox_environment, mount, monkeypatch):
    put_on_mount(mount, "large", {"file.bin": LARGE})
    sendfile = os.sendfile

    def slow(target, source, position, count):
        time.sleep(0.05)
        return sendfile(target, source, position, 100_000)

    monkeypatch.setattr(os, "sendfile", slow)
    record = failure(start("efs"), sandbox_environment, remaining_s=MARGIN_S + 0.5, dataset="large")
    assert record["error_type"] == "DeadlineExceeded"
    assert 0 < record["bytes"] < len(LARGE)
    assert (record["read"], record["read_order"]) == ("first", 1)


def test_a_read_that_failed_is_one_in_the_order_of_reads_and_one_that_did_not_begin_is_none(
    start, sandbox_environment, mount
):
    put_on_mount(mount)
    function = start("efs")
    failure(function, sandbox_environment, start_at_ms=int(time.time() * 1000) + 10**7)
    assert failure(function, sandbox_environment, files=5)["read_order"] == 1
    assert success(function)["read_order"] == 2


# Both, and S3.


@pytest.mark.parametrize("storage", ["efs", "s3"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"files": 24}, "copied 23 files, but the message expects 24"),
        ({"bytes": SMALL_BYTES - 1}, f"copied {SMALL_BYTES} bytes, but the message expects {SMALL_BYTES - 1}"),
    ],
)
def test_a_data_set_that_is_not_the_orders_is_reported(
    start, start_s3, sandbox_environment, mount, storage, changes, reason
):
    put_on_mount(mount)
    start_s3(objects=OBJECTS)
    record = failure(start(storage), sandbox_environment, **changes)
    assert record["error_type"] == "SizeMismatch"
    assert record["error_message"].startswith(reason)


@pytest.mark.parametrize("storage", ["efs", "s3", "pool"])
def test_a_temporary_folder_that_is_full_is_reported(start, start_s3, sandbox_environment, mount, monkeypatch, storage):
    def no_room(*_, **__):
        raise OSError(28, "No space left on device")

    put_on_mount(mount, "large", {"file.bin": LARGE})
    start_s3(objects=OBJECTS)
    function = start("s3", READ_METHOD="pool") if storage == "pool" else start(storage)
    monkeypatch.setattr(os, "sendfile", no_room)
    monkeypatch.setattr(os, "pwrite", no_room)
    monkeypatch.setattr("s3transfer.download.IOWriteTask._main", no_room)
    record = failure(function, sandbox_environment, dataset="large")
    assert record["error_type"] == "NoSpace"
    assert "ephemeral_storage_mb" in record["error_message"]


@each_read_method
@pytest.mark.parametrize(
    "key", ["small/../../stolen", "small//etc/stolen", "small/a/../../../stolen", "small/..", "small/", "small/a/"]
)
def test_a_key_that_leads_out_or_names_a_folder_is_refused_before_anything_is_fetched(
    start, start_s3, sandbox_environment, method, key
):
    s3 = start_s3(objects=OBJECTS | {key: b"stolen"})
    record = failure(start("s3", READ_METHOD=method), sandbox_environment)
    assert record["error_type"] == "UnsafePath"
    assert repr(key) in record["error_message"]
    assert len(s3.requests) == 1


@each_read_method
@pytest.mark.parametrize(
    ("first_key", "second_key"),
    [("a//b", "a/b"), ("a/./b", "a/b"), ("a", "a/b"), ("a/b/c/d", "a/b")],
)
def test_two_keys_that_fall_on_one_file_are_refused_before_anything_is_fetched(
    start, start_s3, sandbox_environment, method, first_key, second_key
):
    s3 = start_s3(objects={f"small/{first_key}": b"1", f"small/{second_key}": b"2", "small/c": b"3"})
    record = failure(start("s3", READ_METHOD=method), sandbox_environment)
    assert record["error_type"] == "UnsafePath"
    assert "two keys map to one file" in record["error_message"]
    assert f"'small/{first_key}'" in record["error_message"]
    assert f"'small/{second_key}'" in record["error_message"]
    assert len(s3.requests) == 1


def test_names_that_only_look_alike_are_different_files():
    keys = ["small/a", "small/a.b", "small/b/a", "small/ba", "small/..a", "small/A"]
    assert list(by_path((ListedObject(key, 1, "etag") for key in keys), "small/")) == [
        "a",
        "a.b",
        "b/a",
        "ba",
        "..a",
        "A",
    ]


@each_read_method
def test_a_prefix_without_objects_is_reported(start, start_s3, sandbox_environment, method):
    start_s3(objects={"large/file.bin": b"1"})
    record = failure(start("s3", READ_METHOD=method), sandbox_environment)
    assert record["error_type"] == "NoData"
    assert (
        record["error_message"]
        == "there is no object under small/ in stampede-test: upload the data set (stampede dataset)"
    )


@each_read_method
def test_an_object_that_vanishes_after_the_listing_is_reported(start, start_s3, sandbox_environment, method):
    start_s3(objects=OBJECTS, lost_after_listing="small/00003.bin")
    assert failure(start("s3", READ_METHOD=method), sandbox_environment)["error_type"] == "NoSuchKey"


@each_read_method
def test_an_object_that_is_replaced_after_the_listing_is_reported(start, start_s3, sandbox_environment, method):
    start_s3(objects=OBJECTS, replace_after_gets=5)
    record = failure(start("s3", READ_METHOD=method), sandbox_environment)
    assert record["error_type"] == "ObjectChanged"


def test_an_object_that_is_replaced_is_found_by_its_etag_also_where_s3_ignores_the_condition(
    start, start_s3, sandbox_environment
):
    start_s3(objects=OBJECTS, replace_after_gets=5, ignore_if_match=True)
    assert failure(start("s3", READ_METHOD="pool"), sandbox_environment)["error_type"] == "ObjectChanged"


@each_read_method
def test_bodies_that_break_off_and_answers_to_slow_down_are_asked_for_again_and_counted(
    start, start_s3, monkeypatch, method
):
    files = {name: content for name, content in SMALL.items() if content}  # an empty body can't break off
    s3 = start_s3(objects={f"small/{name}": content for name, content in files.items()}, cut_bodies=2, slow_down_gets=2)
    copied = keep_what_is_copied(monkeypatch)
    record = success(start("s3", READ_METHOD=method), threads=4)
    assert copied == [files]
    assert (record["retries"], record["requests"]) == (4, len(s3.requests))


def test_a_listing_that_breaks_off_is_asked_for_again(start, start_s3):
    start_s3(objects=OBJECTS, cut_listings=2)
    record = success(start("s3", READ_METHOD="pool"))
    assert (record["files"], record["retries"]) == (len(SMALL), 2)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_listing_that_never_comes_whole_is_an_error(start, start_s3, sandbox_environment, is_whole):
    s3 = start_s3(objects=OBJECTS, cut_listings=ALWAYS, is_listing_whole=is_whole)
    assert failure(start("s3", READ_METHOD="pool"), sandbox_environment)["error_type"] == "ConnectionCut"
    assert len(s3.requests) == ATTEMPTS


def test_a_listing_that_goes_in_a_circle_ends(start, start_s3, sandbox_environment):
    start_s3(objects=OBJECTS, endless_listing=True)
    record = failure(start("s3", READ_METHOD="pool"), sandbox_environment)
    assert record["error_type"] == "S3Error"
    assert "no continuation token" in record["error_message"]


@each_read_method
@pytest.mark.parametrize(
    ("status", "code", "error_type"), [(403, "AccessDenied", "AccessDenied"), (400, "Bad", "S3Error")]
)
def test_a_refusal_is_one_request_and_its_word(start, start_s3, sandbox_environment, method, status, code, error_type):
    s3 = start_s3(objects=OBJECTS, status=status, error_code=code)
    record = failure(start("s3", READ_METHOD=method), sandbox_environment)
    assert (record["error_type"], record["bytes"], len(s3.requests)) == (error_type, 0, 1)
    assert record["listing_seconds"] > 0


@each_read_method
def test_bodies_that_trickle_are_stopped_before_the_functions_timeout(start, start_s3, sandbox_environment, method):
    start_s3(objects=OBJECTS, trickle_bytes=100, trickle_pause_s=0.2)
    began_s = time.monotonic()
    record = failure(start("s3", READ_METHOD=method), sandbox_environment, remaining_s=MARGIN_S + 0.7)
    assert time.monotonic() - began_s < MARGIN_S + 3
    assert record["error_type"] == "DeadlineExceeded"
    if method == "pool":  # boto3's threads end when the server does
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("copy")]


def test_after_the_first_error_the_other_files_are_left_alone(start, start_s3, sandbox_environment):
    s3 = start_s3(objects=OBJECTS, slow_down_gets=0, lost_after_listing="small/00000.bin")
    record = failure(start("s3", READ_METHOD="pool"), sandbox_environment, threads=1)
    assert (record["error_type"], record["files"], len(s3.requests)) == ("NoSuchKey", 0, 2)


def test_nothing_is_started_after_the_first_error():
    started, measurement = [], Measurement()

    def work(item):
        started.append(item)
        if item == 3:
            raise FileNotFoundError(item)

    with pytest.raises(FileNotFoundError):
        each(measurement, 1, work, range(9))
    assert started == [0, 1, 2, 3]


def test_one_message_that_fails_does_not_disturb_the_next(start, start_s3, sandbox_environment):
    s3 = start_s3(objects=OBJECTS)
    function = start("s3", READ_METHOD="pool")
    records, failed = function.invoke(order(dataset="small"), "nonsense", order(dataset="small", threads=2))
    assert [record["status"] for record in records] == ["ok", "error", "ok"]
    assert failed == [records[1]["message_id"]]
    assert [record["read_order"] for record in records] == [1, None, 2]
    assert s3.connections <= 10
