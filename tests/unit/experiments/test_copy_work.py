"""What copies are in quantities, against the published tables and by hand arithmetic."""

import csv
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pytest

from experiments.copy import work as copy_work
from experiments.copy_host import work as copy_host_work
from experiments.parameters import known_parameters
from stampede.model.function import operation as operation_of
from tests.unit.experiments.copy_values import function, host, slices

EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments"
# Of five runs: Student's t with 4 degrees of freedom.
T_OF_FIVE = 2.776
# Rows that no few quantities meet within 15 %, and by what they miss.
COPY_MISSED = {50: -0.28, 200: -0.43, 500: -0.49}
RATE_MISSED = {
    ("m5a.8xlarge", 1000): 0.31,
    ("m5a.12xlarge", 800): -0.19,
    ("m5a.12xlarge", 1000): -0.16,
    ("m5a.12xlarge", 1500): 0.24,
}


FUNCTIONS, HOSTS = known_parameters("copy"), known_parameters("copy_host")


def rows(name):
    experiment = "copy" if name == "copy_lambda" else "copy_host"
    with (EXPERIMENTS / experiment / "published" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def seconds(work, known_as, memory_mb=512):
    return operation_of(work, memory_mb, known_as)[0].mean_s


@pytest.mark.parametrize("row", rows("copy_lambda"), ids=lambda row: row["parallel_limit"])
def test_a_published_copy_run_lies_where_its_own_five_runs_say_and_most_within_15_percent(row):
    limit, runs = int(row["parallel_limit"]), [int(row[f"run{run}_ms"]) / 1000 for run in range(1, 6)]
    modelled = seconds(copy_work.published(function(parallel_limit=limit), FUNCTIONS), FUNCTIONS)
    assert abs(modelled - mean(runs)) <= T_OF_FIVE * stdev(runs) / len(runs) ** 0.5
    missed = modelled / float(row["avg_s"]) - 1
    assert missed == pytest.approx(COPY_MISSED[limit], abs=0.05) if limit in COPY_MISSED else abs(missed) <= 0.15


@pytest.mark.parametrize("row", rows("copy_host_rate"), ids=lambda row: f"{row['instance_type']}-{row['processes']}")
def test_a_published_host_rate_is_met_within_15_percent_but_for_four(row):
    processes, instance = int(row["processes"]), row["instance_type"]
    cell = host(parallel_limit=processes, instance_type=instance)
    modelled = cell["object_count"] / seconds(copy_host_work.published(cell, HOSTS), HOSTS)
    missed = modelled / float(row["calls_per_s"]) - 1
    expected = RATE_MISSED.get((instance, processes))
    assert missed == pytest.approx(expected, abs=0.05) if expected else abs(missed) <= 0.15


@pytest.mark.parametrize("row", rows("copy_host_retries"), ids=lambda row: f"{row['sdk_retries']}-{row['seconds']}")
def test_two_million_published_copies_are_met_within_15_percent_with_either_number_of_retries(row):
    cell = host(parallel_limit=800, object_count=2_191_200, retry_attempts=int(row["sdk_retries"]) + 1)
    modelled = seconds(copy_host_work.published(cell, HOSTS), HOSTS)
    assert modelled == pytest.approx(float(row["seconds"]), rel=0.15)


@pytest.mark.parametrize("row", rows("copy_host_cli"), ids=lambda row: row["program"])
def test_the_two_published_programs_are_met_within_15_percent(row):
    program = {"python_boto3": copy_host_work.BOTO3, "aws_cli_xargs": copy_host_work.AWS_CLI}[row["program"]]
    cell = host(parallel_limit=100, object_count=10_800)
    modelled = seconds(copy_host_work.published(cell, HOSTS, program), HOSTS)
    assert modelled == pytest.approx(float(row["seconds"]), rel=0.15)


def test_a_message_has_its_slice_of_the_manifest_and_no_more_calls_at_once_than_objects():
    cell = slices(object_count=100_000_000, slice_rows=1000, concurrency_value=1000, parallel_limit=2000)
    step = copy_work.work(cell, FUNCTIONS).steps[-1]
    assert (step.requests, step.at_once) == (1000, 1000)


def test_a_cap_of_calls_a_second_is_kept():
    capped = copy_work.work(function(parallel_limit=100, calls_per_s=50), FUNCTIONS)
    assert capped.calls_per_s_cap == 50
    assert copy_work.wanted_per_s(slices(concurrency_value=3, calls_per_s=10), FUNCTIONS) == 30
    assert seconds(capped, FUNCTIONS) >= 1000 / 50


def test_connections_of_a_later_message_are_open_already():
    first = copy_work.work(function(parallel_limit=1000), FUNCTIONS)
    connecting = first.steps[0].cpu_s
    assert connecting == pytest.approx(1000 * FUNCTIONS["transfer_connection_cpu_s"])
    assert first.repeat.steps == first.steps[1:]


def test_a_listing_empties_its_destination_first_and_a_slice_does_not():
    assert copy_work.work(function(), FUNCTIONS).before_s == pytest.approx(1000 / 3500 + 2 * FUNCTIONS["list_page_s"])
    assert copy_work.work(slices(), FUNCTIONS).before_s == 0


def test_a_copy_without_a_bucket_key_counts_against_kms_where_that_is_less():
    few = HOSTS.with_rows([replace(HOSTS.row("kms_per_s"), value=5500)])
    assert copy_host_work.work(host(bucket_key=False), few).steps[-1].rate == "kms_copy"
    assert copy_host_work.work(host(bucket_key=True), few).steps[-1].rate == "s3_put"
    assert copy_host_work.work(host(bucket_key=False), HOSTS).steps[-1].rate == "s3_put"


@pytest.mark.parametrize(("instance", "processors"), [("m5a.4xlarge", 16), ("c7g.large", 2), ("m5.xlarge", 4)])
def test_an_instance_has_the_processors_of_its_size(instance, processors):
    assert copy_host_work.vcpus(instance) == processors


def test_a_fixed_pace_beyond_the_limit_has_failures_and_the_adaptive_pace_none():
    fixed, adaptive = (
        copy_work.throttled(slices(object_bytes=1000, concurrency_value=100, pace=pace), FUNCTIONS)
        for pace in ("fixed", "adaptive")
    )
    assert fixed.failed > 0.1 and fixed.per_s == 3500
    assert adaptive.failed == 0 and adaptive.per_s == pytest.approx(0.985 * 3500)
