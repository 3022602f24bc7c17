"""The data sets of the file systems, and the methods that read them."""

import pytest

from experiments.filesystem.declaration import FILESYSTEM
from experiments.filesystem.usage import objects
from experiments.objects import part_count
from tests.unit.plans import values

OUTPUTS = {"large_file_mb": 1024, "small_files": 1000}


def test_the_data_sets_are_the_published_ones():
    large, *small = objects(OUTPUTS)
    assert (large.key, large.size_bytes) == ("large/file.bin", 2**30)
    assert part_count(large.size_bytes) == 64
    assert [entry.size_bytes for entry in small[:11]] == [*range(10_000, 100_001, 10_000), 10_000]
    assert (len(small), sum(entry.size_bytes for entry in small)) == (1000, 55_000_000)


@pytest.mark.parametrize(
    ("dataset", "files", "size"), [("small", 1000, 55_000_000), ("large", 1, 2**30)]
)
def test_an_order_names_the_expected_files_and_bytes(dataset, files, size):
    order = FILESYSTEM.order(values("filesystem", dataset=dataset), objects(OUTPUTS))
    assert order == {
        "dataset": dataset,
        "threads": 30,
        "connections": 10,
        "files": files,
        "bytes": size,
    }


def test_every_storage_is_read_with_its_usual_method():
    storages = ("s3", "s3_in_vpc", "efs", "s3files")
    methods = [
        values("filesystem", storage=storage, read_method=None)["read_method"]
        for storage in storages
    ]
    assert methods == ["download_file"] * 2 + ["copy"] * 2
