"""What a copy takes, and the data sets."""

import pytest

from experiments.filesystem.declaration import FILESYSTEM
from experiments.filesystem.usage import objects, usage
from experiments.objects import part_count
from tests.unit.plans import values

OUTPUTS = {"large_file_mb": 1024, "small_files": 1000}


def test_the_data_sets_are_the_published_ones():
    large, *small = objects(OUTPUTS)
    assert (large.key, large.size_bytes, part_count(large.size_bytes)) == ("large/file.bin", 2**30, 64)
    assert [entry.size_bytes for entry in small[:11]] == [*range(10_000, 100_001, 10_000), 10_000]
    assert (len(small), sum(entry.size_bytes for entry in small)) == (1000, 55_000_000)


@pytest.mark.parametrize(("dataset", "files", "size"), [("small", 1000, 55_000_000), ("large", 1, 2**30)])
def test_an_order_says_what_has_to_arrive(dataset, files, size):
    order = FILESYSTEM.order(values("filesystem", dataset=dataset), objects(OUTPUTS))
    assert order == {"dataset": dataset, "threads": 30, "connections": 10, "files": files, "bytes": size}


@pytest.mark.parametrize(
    ("storage", "method", "each"),
    [
        ("s3", "download_file", {"GET and HEAD": 2000, "LIST, and PUT of the data set": 1}),
        ("s3_in_vpc", "download_file", {"GET and HEAD": 2000, "LIST, and PUT of the data set": 1}),
        ("efs", "copy", {"elastic reads": 53 / 1024}),
        ("s3files", "copy", {}),
    ],
)
def test_s3_is_billed_by_the_request_and_efs_by_the_gigabyte(storage, method, each):
    cell = values("filesystem", storage=storage, dataset="small", read_method=None)
    uses = {use.what: use.each for use in usage(cell).uses if use.each}
    moved = {"transfer to Lambda, same region": 53 / 1024} if method == "download_file" else {}
    assert (cell["read_method"], uses) == (method, each | moved)
