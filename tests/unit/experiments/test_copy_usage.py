"""What a server-side copy takes, against sums by hand."""

import pytest

from experiments import EXPERIMENTS
from experiments.copy.work import emptying_s
from experiments.parameters import known_parameters
from tests.unit.plans import values

SLICES = {"from_manifest": True}


def usage(experiment, **changes):
    return EXPERIMENTS[experiment].usage(values(experiment, **changes))


def quantities(used, when):
    """Those of one message, of one cell ... by what they are."""
    return {use.what: getattr(use, when) for use in used.uses if getattr(use, when)}


def test_a_listing_is_billed_by_its_calls_the_lists_of_both_buckets_and_the_copies_that_it_begins_with():
    used, gb = usage("copy", object_count=2500), 50e9 / 2**30
    # 2,500 keys are three pages of the source, and three of the destination, which is looked at again when it is empty.
    # DELETE is free.
    each = {"COPY": 2500, "LIST": 7, "transfer within the region": gb}
    assert quantities(used, "each") == pytest.approx(each)
    # 20 MB are two parts of 16 MiB, and three requests around them; the other 2,499 are copies.
    once = {"PUT and COPY of the data set": 2 + 3 + 2499, "HEAD of the data set": 2500}
    assert quantities(used, "once") == once
    assert (used.data_mb, used.preparation_s, used.sized_by) == (20, {}, "object_count")
    assert quantities(used, "per_hour") == pytest.approx({"storage of sources and copies": 2 * gb / 730})


def test_a_manifest_is_billed_by_its_slices_and_emptied_once_a_cell():
    used = usage("copy", object_count=2500, concurrency_value=10, **SLICES)
    each = quantities(used, "each")
    assert (each["COPY"] * 3, each["GET of slices"]) == (pytest.approx(2500), 1)  # three messages, the last with half
    assert (
        quantities(used, "once")["PUT and COPY of the data set"] == 2 + 3 + 3 + 1
    )  # the master, slices, complete.json
    assert quantities(used, "per_cell") == {"LIST": 4}
    assert used.preparation_s["aws"] == emptying_s(2500, known_parameters("copy"))
    assert (used.data_mb, used.sized_by) == (20, "slice_rows")  # 20 MB and 225 kB


def test_hosts_are_billed_by_the_hour_and_kms_by_the_request():
    used = usage("copy_host", concurrency_value=2, bucket_key=False)
    each = quantities(used, "each")
    assert (each["COPY"], each["GET of slices"]) == (109_560, 11)
    # Without bucket keys a Decrypt and a GenerateDataKey a copy; with them 97.3 % less.
    with_key = quantities(usage("copy_host", concurrency_value=2), "each")
    kms = [quantity["GenerateDataKey and Decrypt"] for quantity in (each, with_key)]
    assert kms == pytest.approx([2 * 109_560, 0.027 * 2 * 109_560])
    assert quantities(used, "per_cell_hour") == {"hosts, m5a.8xlarge": 2, "disks, gp3": 2 * 8 / 730}
    assert quantities(used, "per_hour")["interface endpoints"] == 4 and not used.in_lambda


@pytest.mark.parametrize(
    ("experiment", "changes"), [("copy", {}), ("copy", SLICES), ("copy_host", {}), ("express", {})]
)
def test_a_zero_that_the_checks_will_refuse_is_no_traceback_before(experiment, changes):
    names = ("parallel_limit", "slice_rows", "object_count", "masters", "concurrency_value")
    for name in names if experiment != "express" else ("memory_size", "parallel_limit", "slices"):
        used = usage(experiment, **changes | {name: 0})
        assert used.moved_mb >= 0 <= sum(used.seeding_s.values())
