"""What uploads, downloads and queries of the storage classes are in quantities, by hand arithmetic."""

import pytest

from experiments.express import work as express_work
from experiments.parameters import known_parameters
from stampede.model import function
from tests.unit.experiments.express_values import LARGE, cell

P = known_parameters("express")


def of(*kind, memory_mb=2048, **values):
    return function.operation(express_work.work(cell(*kind, **values), P), memory_mb, P)


@pytest.mark.parametrize("operation_name", ["upload", "download"])
@pytest.mark.parametrize("storage_class", ["standard", "express"])
def test_small_objects_one_at_a_time_take_the_latency_of_their_class(operation_name, storage_class):
    kind = {"upload": "put", "download": "get"}[operation_name]
    latency_s = P[f"{'s3' if storage_class == 'standard' else 'express'}_{kind}_s"]
    expected = 77_577 * (latency_s + 10_000 / P["s3_connection_bytes_per_s"])
    assert of(operation_name, storage_class)[0].mean_s == pytest.approx(expected, rel=0.001)


def test_sixty_four_at_a_time_take_a_sixty_fourth_until_the_processors_bind():
    single, many = (of("download", "standard", parallel_limit=at_once)[0].mean_s for at_once in (1, 64))
    assert many == pytest.approx(single / 64, rel=0.001)
    quick, _ = of("download", "express", parallel_limit=64, memory_mb=512)
    assert quick.mean_s == pytest.approx(
        (77_577 * P["request_cpu_s"] + 0.7758e9 / 2**30 * P["go_stream_tmp_cpu_s_per_gib"]) / (512 / 1769), rel=0.01
    )


def test_large_objects_take_what_the_functions_network_takes():
    sets = {"object_bytes": LARGE, "object_count": 100, "parallel_limit": 64}
    assert of("download", "express", **sets)[0].mean_s == pytest.approx(
        100 * LARGE / P["network_bytes_per_s"], rel=0.02
    )


def test_a_message_has_its_slice_and_counts_against_its_class():
    whole, slice_of_ten = (express_work.work(cell("upload", slices=slices), P).steps[0] for slices in (1, 10))
    assert slice_of_ten.requests == whole.requests / 10 and slice_of_ten.bytes == whole.bytes / 10
    rates = {
        (kind, storage): of(kind, storage)[1][0].per_s[0]
        for kind in ("upload", "download")
        for storage in ("standard", "express")
    }
    assert rates == {
        ("upload", "standard"): 3500,
        ("upload", "express"): 100_000,
        ("download", "standard"): 5500,
        ("download", "express"): 200_000,
    }


@pytest.mark.parametrize("storage_class", ["standard", "express"])
def test_a_query_takes_longer_for_more_objects_and_beyond_ten_gb_for_more_bytes(storage_class):
    def seconds(**values):
        return of("count", storage_class, **values)[0].mean_s

    few = seconds(object_count=100, object_bytes=LARGE)
    assert seconds(object_count=700_000, object_bytes=10_000) > 20 * few
    assert seconds(object_count=100, object_bytes=LARGE // 10) == pytest.approx(few)
    assert seconds(object_count=200, object_bytes=LARGE) == pytest.approx(2 * few, rel=0.01)
