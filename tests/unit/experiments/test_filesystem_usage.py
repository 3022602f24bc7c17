"""What a copy takes, and the data sets."""

import pytest

from experiments.filesystem.declaration import FILESYSTEM
from experiments.filesystem.usage import objects, usage
from experiments.objects import part_count

OUTPUTS = {"large_file_mb": 1024, "small_files": 1000}
CELL = OUTPUTS | {
    "storage": "s3",
    "dataset": "small",
    "memory_size": 1024,
    "ephemeral_storage_mb": 1228,
    "threads": 30,
    "connections": 10,
    "concurrency_value": 1,
    "with_s3files": False,
    "throughput_mode": "elastic",
    "read_method": "download_file",
}


def test_the_data_sets_are_the_published_ones():
    large, *small = objects(OUTPUTS)
    assert (large.key, large.size_bytes) == ("large/file.bin", 2**30)
    assert [entry.size_bytes for entry in small[:11]] == [*range(10_000, 100_001, 10_000), 10_000]
    assert (len(small), sum(entry.size_bytes for entry in small)) == (1000, 55_000_000)
    assert part_count(large.size_bytes) == 64


@pytest.mark.parametrize(("dataset", "files", "size"), [("small", 1000, 55_000_000), ("large", 1, 2**30)])
def test_an_order_says_what_has_to_arrive(dataset, files, size):
    order = FILESYSTEM.order(CELL | {"dataset": dataset}, objects(OUTPUTS))
    assert order == {"dataset": dataset, "threads": 30, "connections": 10, "files": files, "bytes": size}


def test_s3_is_billed_by_the_request_and_efs_by_the_gigabyte():
    each = {
        storage: {use.what: use.each for use in usage(CELL | {"storage": storage}).uses if use.each}
        for storage in ("s3", "efs")
    }
    assert each["s3"] == {
        "GET and HEAD": 2000,
        "LIST, and PUT of the data set": 1,
        "transfer to Lambda, same region": 53 / 1024,
    }
    assert each["efs"] == {"elastic reads": 53 / 1024}


def test_every_storage_is_read_with_its_usual_method():
    method = next(axis for axis in FILESYSTEM.axes if axis.name == "method")
    assert [method.default_of([storage]) for storage in ("s3", "s3_in_vpc", "efs", "s3files")] == [
        "download_file",
        "download_file",
        "copy",
        "copy",
    ]
