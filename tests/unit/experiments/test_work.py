"""What the model is asked about one message: requests, connections, bytes and CPU seconds, by hand
arithmetic. The published figures are judged in tests/unit/model/test_calibration.py."""

import math
from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from experiments.copy import work as copy_work
from experiments.copy_host import work as copy_host_work
from stampede.model.function import operation
from stampede.planning.predicting import parameters_of
from tests.unit.plans import values

PARAMETERS = {name: parameters_of(experiment) for name, experiment in EXPERIMENTS.items()}
ONE = {"slices": 1, "object_count": 77_577}
LARGE = {"slices": 1, "object_bytes": 100_000_000, "object_count": 100}


def work(experiment, changes, parameters=None):
    return EXPERIMENTS[experiment].work(
        values(experiment, **changes), parameters or PARAMETERS[experiment]
    )


def seconds(experiment, **changes):
    """Those of one message alone."""
    memory_mb = values(experiment, **changes)["memory_size"]
    return operation(work(experiment, changes), memory_mb, PARAMETERS[experiment])[0].mean_s


RANGES = {"requests": 64, "at_once": 8}
EFS = {"storage": "efs", "dataset": "large"}
S3_FILES = EFS | {"storage": "s3files", "memory_size": 1024}


@pytest.mark.parametrize(
    ("experiment", "changes", "quantities"),
    [
        # A HEAD, and 128 parts of 8 MiB by ten threads.
        (
            "download",
            {},
            {"requests": 129, "at_once": 10, "threads": 1.2, "bytes": 2**30, "rate": "s3_get"},
        ),
        ("download", {}, {"cpu_s": "download_file_tmp_cpu_s_per_gib"}),
        ("download", {"object_size_mb": 8}, {"requests": 2, "at_once": 1, "tail_s": 0}),
        ("download", {"object_size_mb": 9}, {"requests": 3, "at_once": 2, "tail_s": "last_part_s"}),
        ("download", {"method": "crt"}, {"requests": 64, "at_once": 10, "threads": math.inf}),
        ("download", {"method": "stream"}, {"requests": 1, "at_once": 1, "threads": 1}),
        ("download", {"method": "ranges", "sink": "memory"}, RANGES | {"threads": 1.2}),
        (
            "download",
            {"method": "go_stream", "sink": "tmp"},
            {"requests": 1, "threads": 1, "cpu_s": "go_stream_tmp_cpu_s_per_gib"},
        ),
        ("download", {"method": "go_ranges"}, RANGES | {"threads": math.inf}),
        # The SDK reads a large file in parts, our own HTTP in one piece.
        ("filesystem", {"dataset": "large"}, {"requests": 129, "at_once": 10, "bytes": 2**30}),
        (
            "filesystem",
            {"dataset": "large", "read_method": "pool"},
            {"requests": 1, "at_once": 1, "bytes": 2**30},
        ),
        # The SDK looks at each small file first.
        (
            "filesystem",
            {"dataset": "small"},
            {"requests": 2000, "at_once": 30, "bytes": 55_000_000},
        ),
        ("filesystem", EFS, {"mount_bytes": 2**30, "mount_bytes_per_s": "efs_stream_bytes_per_s"}),
        ("filesystem", S3_FILES, {"mount_bytes_per_s": "s3_connection_bytes_per_s"}),
        (
            "filesystem",
            S3_FILES | {"direct_s3_read": "DISABLED"},
            {"mount_bytes_per_s": "efs_stream_bytes_per_s"},
        ),
        (
            "filesystem",
            S3_FILES | {"memory_size": 256},
            {"mount_bytes_per_s": "efs_stream_bytes_per_s"},
        ),
        (
            "express",
            {"slices": 10, "object_count": 70},
            {"requests": 7, "bytes": 70_000, "rate": "s3_put"},
        ),
        # A slice of the manifest, and no more calls at once than objects.
        (
            "copy",
            {"from_manifest": True, "object_count": 10**8, "parallel_limit": 2000},
            {"requests": 1000, "at_once": 1000},
        ),
        ("copy_host", {"bucket_key": False}, {"rate": "s3_put"}),
    ],
)
def test_a_step_has_the_quantities_of_its_settings(experiment, changes, quantities):
    steps, parameters = work(experiment, changes).steps, PARAMETERS[experiment]
    step = next((step for step in steps if step.mount_bytes), steps[-1])
    wanted = {
        name: parameters[value] if value in {*parameters} else value
        for name, value in quantities.items()
    }
    assert {name: getattr(step, name) for name in wanted} == pytest.approx(wanted)


def test_what_only_the_first_message_of_an_environment_does():
    first = work("download", {})
    assert (
        first.steps[0].cpu_s == PARAMETERS["download"]["first_use_cpu_s"]
        and first.repeat.steps == first.steps[1:]
    )
    assert (
        work("download", {"method": "ranges", "sink": "memory", "memory_size": 2048}).repeat is None
    )
    connecting = work("copy", {"parallel_limit": 1000})
    assert connecting.steps[0].cpu_s == pytest.approx(
        1000 * PARAMETERS["copy"]["transfer_connection_cpu_s"]
    )
    assert connecting.repeat.steps == connecting.steps[1:]


@pytest.mark.parametrize(
    ("changes", "is_kept"),
    [
        ({"memory_size": 3008}, True),
        ({"memory_size": 1024}, False),
        ({"memory_size": 3008, "cache": "drop"}, False),
    ],
)
def test_what_fits_into_the_memory_and_is_not_dropped_is_read_from_the_mount_once(changes, is_kept):
    first = work("filesystem", EFS | changes)
    opening, reading, copying = first.steps
    assert (reading.mount_bytes, copying.threads, first.repeat is not None) == (2**30, 1, is_kept)
    if is_kept:
        reopening, copying_again = first.repeat.steps
        assert copying_again == copying
        assert opening.request_s - reopening.request_s == pytest.approx(
            PARAMETERS["filesystem"]["efs_read_s"]
        )


def test_the_sdk_connects_anew_beyond_its_pool():
    parameters, copying = (
        PARAMETERS["filesystem"],
        work("filesystem", {"dataset": "small"}).steps[-1],
    )
    connecting_s = 2000 * (20 / 30) * parameters["connecting_cpu_s"]
    assert copying.cpu_s == pytest.approx(
        1000 * parameters["download_file_cpu_s_per_file"] + connecting_s
    )


# The storage classes


@pytest.mark.parametrize("rate", ["s3_put", "express_put", "s3_get", "express_get"])
def test_objects_take_the_latency_of_their_class_until_the_processors_or_the_network_bind(rate):
    parameters, (service, request) = PARAMETERS["express"], rate.split("_")
    kind = {
        "storage_class": service.replace("s3", "standard"),
        "operation": {"put": "upload", "get": "download"}[request],
    }
    [step] = work("express", ONE | kind).steps
    assert (step.rate, step.request_s) == (
        rate,
        parameters[f"{rate}_s"] + 10_000 / parameters["s3_connection_bytes_per_s"],
    )
    cpu_s = 77_577 * (
        parameters["request_cpu_s"] + 10_000 / 2**30 * parameters["go_stream_tmp_cpu_s_per_gib"]
    )
    quick = {"parallel_limit": 1000, "memory_size": 512}
    assert seconds("express", **ONE | kind | quick) == pytest.approx(cpu_s / (512 / 1769), rel=0.01)
    large_s = seconds("express", **LARGE | kind, parallel_limit=64)
    assert large_s == pytest.approx(1e10 / parameters["network_bytes_per_s"], rel=0.02)


@pytest.mark.parametrize("storage_class", ["standard", "express"])
def test_a_query_takes_longer_for_more_objects_and_beyond_ten_gb_for_more_bytes(storage_class):
    def query_s(**changes):
        return seconds(
            "express", **LARGE | {"operation": "count", "storage_class": storage_class} | changes
        )

    assert query_s(object_count=700_000, object_bytes=10_000) > 20 * query_s()
    assert query_s(object_bytes=10_000_000) == pytest.approx(query_s())
    assert query_s(object_count=200) == pytest.approx(2 * query_s(), rel=0.01)


# Server-side copies


def test_a_cap_of_calls_a_second_is_kept():
    capped = {"parallel_limit": 100, "calls_per_s": 50}
    assert work("copy", capped).calls_per_s_cap == 50 and seconds("copy", **capped) >= 1000 / 50
    three = values(
        "copy", from_manifest=True, concurrency_value=3, calls_per_s=10, parallel_limit=100
    )
    assert copy_work.wanted_per_s(three, PARAMETERS["copy"]) == 30


def test_a_listing_empties_its_destination_first_and_a_slice_does_not():
    emptying_s = 1000 / 3500 + 2 * PARAMETERS["copy"]["list_page_s"]
    assert [
        work("copy", {"from_manifest": shared}).before_s for shared in (False, True)
    ] == pytest.approx([emptying_s, 0])


def test_a_copy_without_a_bucket_key_counts_against_kms_where_that_is_less():
    parameters = PARAMETERS["copy_host"]
    few = parameters.with_rows([replace(parameters.row("kms_per_s"), value=5500)])
    rates = [
        work("copy_host", {"bucket_key": has_key}, few).steps[-1].rate for has_key in (False, True)
    ]
    assert rates == ["kms_copy", "s3_put"]


def test_an_instance_has_the_processors_of_its_size():
    processors = {"m5a.4xlarge": 16, "c7g.large": 2, "m5.xlarge": 4}
    assert {instance: copy_host_work.vcpus(instance) for instance in processors} == processors


def test_a_fixed_pace_beyond_the_limit_has_failures_and_the_adaptive_pace_none():
    beyond = {
        "from_manifest": True,
        "object_bytes": 1000,
        "concurrency_value": 100,
        "parallel_limit": 100,
    }
    fixed, adaptive = (
        copy_work.throttled(values("copy", pace=pace, **beyond), PARAMETERS["copy"])
        for pace in ("fixed", "adaptive")
    )
    assert fixed.failed > 0.1 and fixed.per_s == 3500
    assert adaptive.failed == 0 and adaptive.per_s == pytest.approx(0.985 * 3500)
