"""A copy that goes well: the right bytes from every storage, timed as published, and a record that
says how."""

import os
import threading

import botocore
import pytest

from filesystem import mounted
from tests.unit.functions.filesystem.copies import (
    LARGE,
    OBJECTS,
    SMALL,
    SMALL_BYTES,
    keep_what_is_copied,
    put_on_mount,
)

each_read_method = pytest.mark.parametrize("method", ["download_file", "pool"])


@each_read_method
def test_files_of_s3_arrive_with_the_bytes_and_names_that_they_have(
    start, start_s3, monkeypatch, method
):
    s3 = start_s3(objects=OBJECTS, keys_a_page=10)
    copied = keep_what_is_copied(monkeypatch)
    function = start("s3_in_vpc", READ_METHOD=method)
    record = function.succeed(files=len(SMALL), bytes=SMALL_BYTES, threads=5, connections=3)
    said = {"method": method, "storage": "s3_in_vpc", "dataset": "small", "threads": 5}
    said |= {"connections": 3, "files": 23, "bytes": SMALL_BYTES, "retries": 0}
    said |= {"requests": len(s3.requests), "retry_attempts": 4, "experiment": "filesystem"}
    assert record.items() >= said.items()
    assert record["sdk"] == f"botocore {botocore.__version__}"
    assert 0 < record["listing_seconds"] < record["elapsed_seconds"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("copy")]
    assert function.succeed(dataset="large")["listing_seconds"] is None
    assert (copied, s3.count("ListObjectsV2")) == ([SMALL, {"file.bin": LARGE}], 3)


def test_the_pool_asks_once_a_file_over_no_more_connections_than_the_order_has(start, start_s3):
    s3 = start_s3(objects=OBJECTS)
    start("s3", READ_METHOD="pool").succeed(threads=200, connections=4)
    gets = [request for request in s3.requests if "list-type" not in request.query]
    assert (len(gets), s3.connections <= 4) == (len(SMALL), True)
    assert all(request.headers["If-Match"] for request in gets)


def test_the_sdk_has_a_pool_of_the_orders_size_and_the_pool_of_threads_too(
    start, start_s3, monkeypatch
):
    start_s3(objects=OBJECTS)
    from filesystem import download_file

    seen = []

    def each(reading, threads, work, items):
        seen.append((threads, reading.s3.meta.config.max_pool_connections))
        list(map(work, items))

    monkeypatch.setattr(download_file, "each", each)
    function = start("s3")
    function.succeed(threads=7, connections=3)
    function.succeed()
    assert seen == [(7, 3), (23, 10)]  # of 30 threads no more than there are files


@pytest.mark.parametrize(("storage", "has_sendfile"), [("efs", True), ("s3files", False)])
def test_a_tree_of_the_mount_arrives_as_it_is(start, mount, monkeypatch, storage, has_sendfile):
    def sendfile(*_):
        raise OSError(22, "Invalid argument")  # between these file systems

    if not has_sendfile:
        monkeypatch.setattr(os, "sendfile", sendfile)
    copied = keep_what_is_copied(monkeypatch)
    function = start(storage)
    unknown = ("listing_seconds", "requests", "retries", "retry_mode", "retry_attempts", "sdk")
    for dataset, files in (("small", SMALL), ("large", {"file.bin": LARGE})):
        put_on_mount(mount, dataset, files)
        said = {"files": len(files), "bytes": sum(map(len, files.values()))}
        record = function.succeed(dataset=dataset, **said)
        assert copied.pop() == files
        said |= {"method": "copy", "storage": storage} | dict.fromkeys(unknown)
        assert record.items() >= said.items()


def test_first_reads_and_repeats_are_told_apart_by_data_set_and_sandbox(start, mount):
    put_on_mount(mount)
    put_on_mount(mount, "large", {"file.bin": LARGE})
    function = start("efs")
    records = [
        function.succeed(dataset=dataset, warm_up=1)
        for dataset in ("small", "large", "small", "small")
    ]
    reads = [(record["read"], record["read_order"], record["warm_up"]) for record in records]
    assert reads == [("first", 1, 1), ("first", 1, 1), ("repeat", 2, 1), ("repeat", 3, 1)]
    assert start("efs").succeed()["read"] == "first"


@pytest.mark.parametrize("storage", ["s3", "efs"])
def test_a_proof_lists_and_reads_nothing_so_that_the_first_copy_is_still_the_first_read(
    start, mount, start_s3, storage
):
    put_on_mount(mount)
    s3 = start_s3(objects=OBJECTS)
    function = start(storage)
    proof = function.succeed(proof=1, warm_up=1)
    assert (proof["bytes"], proof["files"], s3.count("GetObject")) == (0, 0, 0)
    assert function.succeed()["read"] == "first"
    if storage == "s3":
        s3.faults.refuse["ListObjectsV2"] = [(403, "")]
        function.fail("AccessDenied", proof=1)


def test_a_repeat_with_cache_drop_has_every_file_forgotten_before_the_clock_starts(
    start, mount, monkeypatch
):
    put_on_mount(mount)
    dropped = []

    def fadvise(file, offset, length, advice):
        assert (offset, length, advice) == (0, 0, os.POSIX_FADV_DONTNEED)
        dropped.append(os.fstat(file).st_ino)

    fetch = mounted.fetch
    monkeypatch.setattr(os, "posix_fadvise", fadvise)
    monkeypatch.setattr(
        mounted, "fetch", lambda reading: (dropped.append("fetched"), fetch(reading))
    )
    function = start("efs", CACHE="drop")
    assert [function.succeed()["read"] for _ in range(2)] == ["first", "dropped"]
    inodes = {path.stat().st_ino for path in (mount / "small").rglob("*") if path.is_file()}
    # A first read's names mustn't have been looked at before it.
    assert (dropped[0], set(dropped[1:-1]), dropped[-1]) == ("fetched", inodes, "fetched")


def test_what_could_not_be_read_of_the_environment_or_the_order_is_null(start):
    record = start("s3").fail("WorkOrderError", threads=0)
    assert record.items() >= {"storage": "s3", "dataset": None, "read": None, "files": 0}.items()
    record = start("s3", READ_METHOD="fast").fail("SettingsError")
    assert record.items() >= {"storage": None, "dataset": "small", "retry_mode": None}.items()
