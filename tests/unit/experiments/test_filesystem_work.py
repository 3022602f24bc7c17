"""What the model is asked about one copy of a data set: from S3, from a mount, and from the page cache."""

import pytest

from experiments.filesystem.declaration import FILESYSTEM
from experiments.filesystem.work import work
from stampede.planning.predicting import parameters_of

PARAMETERS = parameters_of(FILESYSTEM)
VALUES = {
    "storage": "s3",
    "dataset": "large",
    "memory_size": 1024,
    "large_file_mb": 1024,
    "small_files": 1000,
    "threads": 30,
    "connections": 10,
    "read_method": "download_file",
    "cache": "keep",
    "direct_s3_read": "AUTO",
    "subnet_count": 2,
}


def of(**values):
    return work(VALUES | values, PARAMETERS)


def test_a_large_file_is_read_in_parts_by_the_sdk_and_in_one_piece_by_our_own_http():
    sdk, own = of().repeat.steps[0], of(read_method="pool").steps[0]
    assert (sdk.requests, sdk.at_once, sdk.bytes) == (129, 10, 2**30)
    assert (own.requests, own.at_once, own.bytes) == (1, 1, 2**30)


def test_the_sdk_looks_at_each_small_file_first_and_connects_anew_beyond_its_pool():
    listing, copying = of(dataset="small").repeat.steps
    assert (listing.requests, copying.requests, copying.at_once, copying.bytes) == (1, 2000, 30, 55_000_000)
    connecting_s = 2000 * (20 / 30) * PARAMETERS["connecting_cpu_s"]
    assert copying.cpu_s == pytest.approx(1000 * PARAMETERS["download_file_cpu_s_per_file"] + connecting_s)


def test_what_fits_into_the_memory_is_read_from_the_mount_once():
    opening, reading, copying = of(storage="efs", memory_size=3008).steps
    again = of(storage="efs", memory_size=3008).repeat
    assert (reading.mount_bytes, copying.threads) == (2**30, 1)
    assert [step.what for step in again.steps] == [opening.what, copying.what]
    assert opening.request_s - again.steps[0].request_s == pytest.approx(PARAMETERS["efs_read_s"])


@pytest.mark.parametrize("values", [{"memory_size": 1024}, {"memory_size": 3008, "cache": "drop"}])
def test_what_does_not_fit_or_is_dropped_is_read_again(values):
    assert of(storage="efs", **values).repeat is None


@pytest.mark.parametrize(
    ("values", "parameter"),
    [
        ({"storage": "efs"}, "efs_stream_bytes_per_s"),
        ({"storage": "s3files"}, "s3_connection_bytes_per_s"),
        ({"storage": "s3files", "direct_s3_read": "DISABLED"}, "efs_stream_bytes_per_s"),
        ({"storage": "s3files", "memory_size": 256}, "efs_stream_bytes_per_s"),
    ],
)
def test_one_thread_reads_a_mount_as_fast_as_its_source_lets_one(values, parameter):
    assert of(**values).steps[1].mount_bytes_per_s == PARAMETERS[parameter]
