"""The work of one message as the model gets it, with requests, connections, bytes and CPU seconds,
against sums by hand. tests/unit/model/test_calibration.py judges the published figures."""

import math
from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from experiments.parameters import known_parameters
from stampede.model.function import operation
from tests.unit.plans import values

PARAMETERS = {name: known_parameters(name) for name in EXPERIMENTS}


def work(experiment, changes, parameters=None):
    return EXPERIMENTS[experiment].work(
        values(experiment, **changes), parameters or PARAMETERS[experiment]
    )


def seconds(experiment, changes):
    """The seconds of one message alone."""
    memory_mb = values(experiment, **changes)["memory_size"]
    return operation(work(experiment, changes), memory_mb, PARAMETERS[experiment])[0].mean_s


EFS = {"storage": "efs", "dataset": "large"}
S3_FILES = EFS | {"storage": "s3files", "memory_size": 1024}
THROUGH_EFS = {"mount_bytes_per_s": "efs_stream_bytes_per_s"}


@pytest.mark.parametrize(
    ("experiment", "changes", "quantities"),
    [
        # boto3 asks for the size, and for parts of 8 MiB by ten threads; one part has no last one.
        ("download", {"object_size_mb": 8}, {"requests": 2, "at_once": 1, "tail_s": 0}),
        ("download", {"object_size_mb": 9}, {"requests": 3, "at_once": 2, "tail_s": "last_part_s"}),
        ("download", {"method": "crt"}, {"requests": 64, "at_once": 10, "threads": math.inf}),
        ("download", {"method": "stream"}, {"requests": 1, "at_once": 1, "threads": 1}),
        (
            "download",
            {"method": "go_ranges"},
            {"requests": 64, "at_once": 8, "cpu_s": "go_ranges_memory_cpu_s_per_gib"},
        ),
        ("filesystem", {"dataset": "large", "read_method": "pool"}, {"requests": 1, "at_once": 1}),
        ("filesystem", S3_FILES, {"mount_bytes_per_s": "s3_connection_bytes_per_s"}),
        ("filesystem", S3_FILES | {"direct_s3_read": "DISABLED"}, THROUGH_EFS),
        ("filesystem", S3_FILES | {"memory_size": 256}, THROUGH_EFS),
        (
            "express",
            {"slices": 10, "object_count": 70},
            {"requests": 7, "bytes": 70_000, "rate": "s3_put"},
        ),
        # One slice of the manifest, and at most as many calls at once as objects.
        (
            "copy",
            {"from_manifest": True, "object_count": 10**8, "parallel_limit": 2000},
            {"requests": 1000, "at_once": 1000},
        ),
    ],
)
def test_a_steps_quantities_follow_from_its_settings(experiment, changes, quantities):
    steps, parameters = work(experiment, changes).steps, PARAMETERS[experiment]
    step = next((step for step in steps if step.mount_bytes), steps[-1])
    wanted = {
        name: parameters[value] if value in {*parameters} else value
        for name, value in quantities.items()
    }
    assert {name: getattr(step, name) for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("experiment", "changes", "is_again"),
    [
        ("download", {}, True),
        ("download", {"method": "stream"}, False),
        ("copy", {}, True),
        # Files that fit into memory and aren't dropped are read from the mount once.
        ("filesystem", EFS | {"memory_size": 3008}, True),
        ("filesystem", EFS | {"memory_size": 1024}, False),
        ("filesystem", EFS | {"memory_size": 3008, "cache": "drop"}, False),
    ],
)
def test_a_later_message_of_an_environment_does_less(experiment, changes, is_again):
    first = work(experiment, changes)
    assert (first.repeat is not None) is is_again
    assert not is_again or len(first.repeat.steps) == len(first.steps) - 1


@pytest.mark.parametrize("rate", ["s3_put", "express_put", "s3_get", "express_get"])
def test_objects_take_the_latency_of_their_class_unless_processors_or_the_network_limit_them(rate):
    parameters, (service, request) = PARAMETERS["express"], rate.split("_")
    kind = {
        "storage_class": service.replace("s3", "standard"),
        "operation": {"put": "upload", "get": "download"}[request],
        "slices": 1,
    }
    [step] = work("express", kind).steps
    latency_s = step.request_s - 10_000 / parameters["s3_connection_bytes_per_s"]
    assert (step.rate, latency_s) == (rate, pytest.approx(parameters[f"{rate}_s"]))
    cpu_s = 77_577 * (
        parameters["request_cpu_s"] + 10_000 / 2**30 * parameters["go_stream_tmp_cpu_s_per_gib"]
    )
    quick = {"object_count": 77_577, "parallel_limit": 1000, "memory_size": 512}
    assert seconds("express", kind | quick) == pytest.approx(cpu_s / (512 / 1769), rel=0.01)
    large = {"object_bytes": 100_000_000, "object_count": 100, "parallel_limit": 64}
    network_s = 1e10 / parameters["network_bytes_per_s"]
    assert seconds("express", kind | large) == pytest.approx(network_s, rel=0.02)


def test_a_limit_of_calls_a_second_is_kept():
    capped = {"parallel_limit": 100, "calls_per_s": 50}
    assert work("copy", capped).calls_per_s_cap == 50 and seconds("copy", capped) >= 1000 / 50


def test_a_listing_empties_its_destination_first_and_a_slice_does_not():
    emptying_s = 1000 / 3500 + 2 * PARAMETERS["copy"]["list_page_s"]
    assert [
        work("copy", {"from_manifest": shared}).before_s for shared in (False, True)
    ] == pytest.approx([emptying_s, 0])


def test_a_copy_without_a_bucket_key_is_limited_by_kms_if_that_is_slower():
    parameters = PARAMETERS["copy_host"]
    few = parameters.with_rows([replace(parameters.row("kms_per_s"), value=5500)])
    rates = [
        work("copy_host", {"bucket_key": has_key}, known).steps[-1].rate
        for has_key, known in ((False, few), (True, few), (False, parameters))
    ]
    assert rates == ["kms_copy", "s3_put", "s3_put"]
