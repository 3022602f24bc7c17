"""What a server-side copy takes, against sums by hand."""

import pytest

from experiments.copy.usage import host_usage, usage
from experiments.copy.work import emptying_s
from experiments.parameters import known_parameters
from tests.unit.experiments.copy_values import function, host, slices


def each(used):
    """Quantities of one message by what they are."""
    return {use.what: use.each for use in used.uses if use.each}


def once(used):
    return {use.what: use.once for use in used.uses if use.once}


def test_a_listing_is_billed_by_its_calls_the_lists_of_both_buckets_and_the_copies_that_it_begins_with():
    used = usage(function(object_count=2500))
    # 2,500 keys are three pages of the source, and three of the destination, which is looked at again when it is empty.
    # DELETE is free.
    assert each(used) == {"COPY": 2500, "LIST": 7, "transfer within the region": pytest.approx(50e9 / 2**30)}
    # 20 MB are two parts of 16 MiB, and three requests around them; the other 2,499 are copies.
    assert once(used) == {"PUT and COPY of the data set": 2 + 3 + 2499, "HEAD of the data set": 2500}
    assert (used.data_mb, used.preparation_s, used.sized_by) == (20, {}, "object_count")
    [stored] = [use.per_hour for use in used.uses if use.what.startswith("storage")]
    assert stored == pytest.approx(2 * 50e9 / 2**30 / 730)


def test_a_manifest_is_billed_by_its_slices_and_emptied_once_a_cell():
    used = usage(slices(object_count=2500, concurrency_value=10))
    assert each(used)["COPY"] * 3 == pytest.approx(2500)  # three messages, the last with half as many
    assert each(used)["GET of slices"] == 1
    assert once(used)["PUT and COPY of the data set"] == 2 + 3 + 3 + 1  # the master, three slices, complete.json
    assert {use.what: use.per_cell for use in used.uses if use.per_cell} == {"LIST": 4}
    assert used.preparation_s["aws"] == emptying_s(2500, known_parameters("copy"))
    assert (used.data_mb, used.sized_by) == (20, "slice_rows")  # 20 MB and 225 kB


def test_hosts_are_billed_by_the_hour_and_kms_by_the_request():
    used = host_usage(host(concurrency_value=2, bucket_key=False))
    assert each(used)["COPY"] == 109_560
    assert each(used)["GET of slices"] == 11
    # Without bucket keys a Decrypt and a GenerateDataKey a copy; with them 97.3 % less.
    assert each(used)["GenerateDataKey and Decrypt"] == 2 * 109_560
    with_bucket_key = each(host_usage(host(concurrency_value=2)))["GenerateDataKey and Decrypt"]
    assert with_bucket_key == pytest.approx(0.027 * 2 * 109_560)
    hours = {use.price: use.per_cell_hour for use in used.uses if use.per_cell_hour}
    assert hours == {"ec2_hour:m5a.8xlarge": 2, "gp3_gb_month": 2 * 8 / 730}
    assert {use.what: use.per_hour for use in used.uses if use.price.startswith("interface")} == {
        "interface endpoints": 4
    }
    assert used.in_lambda is False


@pytest.mark.parametrize("name", ["parallel_limit", "slice_rows", "object_count", "masters", "concurrency_value"])
def test_a_zero_that_the_checks_will_refuse_is_no_traceback_before(name):
    for needs, values in ((usage, function()), (usage, slices()), (host_usage, host())):
        assert needs(values | {name: 0}).moved_mb >= 0
