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
from stampede.model.scenario import Scenario, flood_of
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


def test_our_program_on_a_host_is_held_by_s3_where_boto3_is_held_by_its_processors():
    cell = host(parallel_limit=800, instance_type="m5a.4xlarge")
    ours, theirs = (work(cell, HOSTS) for work in (copy_host_work.work, copy_host_work.published))
    demand = operation_of(ours, 512, HOSTS)[0].demands["S3's PUT and COPY rate"]
    assert demand > HOSTS["s3_put_per_s"] > 219_120 / seconds(theirs, HOSTS)


def test_calls_one_after_the_other_take_their_mean_each():
    modelled = copy_work.work(function(parallel_limit=1), FUNCTIONS).steps[-1]
    assert modelled.requests * modelled.request_s == pytest.approx(
        1000 * (FUNCTIONS["s3_copy_s"] + 20 * FUNCTIONS["s3_copy_s_per_mb"])
    )
    assert modelled.at_once == 1 and modelled.tail_s < 0.1


def test_a_message_has_its_slice_of_the_manifest_and_no_more_calls_at_once_than_objects():
    cell = slices(object_count=100_000_000, slice_rows=1000, concurrency_value=1000, parallel_limit=2000)
    step = copy_work.work(cell, FUNCTIONS).steps[-1]
    assert (step.requests, step.at_once) == (1000, 1000)


def test_a_thousand_functions_want_more_than_a_prefix_takes():
    """At 3,500/s a hundred million objects take 28,571 s: what a function asks for is 160 times its share of that."""
    cell = slices(object_count=100_000_000, object_bytes=1000, concurrency_value=1000)
    wanted, limits = operation_of(copy_work.work(cell, FUNCTIONS), 512, FUNCTIONS)
    (limit,) = limits
    assert limit.per_s[0] == 3500 and wanted.demands[limit.name] > 100 * 3.5
    taken = wanted.demands[limit.name] * wanted.mean_s  # of the limit, by one message
    assert taken * 100_000 / limit.per_s[0] == pytest.approx(28_571, abs=1)


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


def test_hosts_share_the_objects():
    assert copy_host_work.work(host(concurrency_value=4), HOSTS).steps[-1].requests == 219_120 / 4


def test_runs_differ_by_their_calls_only_as_far_as_those_decide_how_long_they_take():
    below, beyond = (
        copy_host_work.work(host(parallel_limit=at_once, concurrency_value=4), HOSTS).spread for at_once in (10, 2000)
    )
    assert below == HOSTS["copy_spread"] and beyond < 0.1 * below


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


def test_a_capped_worker_below_the_limit_is_not_turned_down():
    capped = copy_work.throttled(slices(object_bytes=1000, concurrency_value=30, calls_per_s=100), FUNCTIONS)
    assert capped.per_s == pytest.approx(3000) and capped.failed == 0


def test_a_run_waits_for_stalled_calls_the_longer_the_more_bytes_it_copies():
    small, large = (copy_work.stalled_s(function(object_bytes=size), FUNCTIONS, 1000) for size in (1000, 20_000_000))
    assert 0 <= small < 0.001 < large < FUNCTIONS["copy_stall_s"]


def test_what_a_message_does_before_its_record_begins_lies_between_two_records():
    work = copy_work.work(function(), FUNCTIONS)
    cell = Scenario(lambda _: work, 5, 1, 512, 900, 5400)
    flood = flood_of(cell, work, FUNCTIONS)
    assert flood.hand_over_s == FUNCTIONS["hand_over_s"] + work.before_s
    assert flood.cold_start_s == FUNCTIONS["cold_start_s"] + work.cold_s + work.before_s
