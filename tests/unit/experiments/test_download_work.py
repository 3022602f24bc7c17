"""What the model is asked about one download: requests, connections, bytes and CPU seconds by method."""

import pytest

from experiments.download.declaration import DOWNLOAD
from experiments.download.work import work
from stampede.planning.predicting import parameters_of

PARAMETERS = parameters_of(DOWNLOAD)
VALUES = {"object_size_mb": 1024, "sink": "memory", "range_parallel": 8, "range_part_mb": 16}


def of(method, sink, **values):
    return work({**VALUES, "method": method, "sink": sink, **values}, PARAMETERS)


@pytest.mark.parametrize(
    ("method", "sink", "requests", "at_once", "threads"),
    [
        ("download_file", "tmp", 129, 10, 1.2),  # a HEAD, and 128 parts of 8 MiB by ten threads
        ("crt", "tmp", 64, 10, float("inf")),
        ("stream", "discard", 1, 1, 1),
        ("ranges", "memory", 64, 8, 1.2),
        ("go_stream", "tmp", 1, 1, 1),
        ("go_ranges", "tmp", 64, 8, float("inf")),
    ],
)
def test_each_method_has_requests_of_its_own(method, sink, requests, at_once, threads):
    step = of(method, sink).steps[-1]
    assert (step.requests, step.at_once, step.threads) == (requests, at_once, threads)
    assert (step.bytes, step.rate) == (2**30, "s3_get")
    assert step.cpu_s == PARAMETERS[f"{method}_{sink}_cpu_s_per_gib"]


def test_only_boto3_has_to_be_prepared_and_only_once():
    first, ranges = of("download_file", "tmp"), of("ranges", "memory")
    assert [step.cpu_s for step in first.steps] == [PARAMETERS["first_use_cpu_s"], first.repeat.steps[0].cpu_s]
    assert first.repeat.steps == first.steps[1:]
    assert ranges.repeat is None


def test_one_part_alone_has_none_that_is_later_than_the_others():
    alone, two = (of("download_file", "tmp", object_size_mb=size).repeat.steps[0] for size in (8, 9))
    assert (alone.requests, alone.at_once, alone.tail_s) == (2, 1, 0)
    assert (two.requests, two.at_once, two.tail_s) == (3, 2, PARAMETERS["last_part_s"])
