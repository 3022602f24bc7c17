"""Key plans: the same parameters give the same rows, in slices and in constant memory; values that
don't fit are refused."""

import itertools
import tracemalloc
from dataclasses import asdict, replace

import pytest

from experiments.copy.key_plan import KeyPlan, KeyPlanError

SMALL = KeyPlan(
    objects=12, object_bytes=1000, masters=2, slice_rows=5, destination_prefix="a b+%/ü/"
)
MASTERS = ("masters/afae0738/0", "masters/5482d4e8/1")


def rows(plan):
    """All rows, by column."""
    return [tuple(line.split(",")) for text in plan.slices() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("key_order", "date_from", "hours"),
    [
        ("straight", "2014-12-31", ["2014/12/31/00", "2014/12/31/01", "2014/12/31/02"]),
        # The hour comes first, or after a prefix that looks random.
        (
            "reversed_hash",
            "2015-03-04",
            ["c28956f9/00/04/03/2015", "4711d387/01/04/03/2015", "6e95ae7c/02/04/03/2015"],
        ),
    ],
)
def test_the_rows_are_the_same_on_any_machine(key_order, date_from, hours):
    """Five objects an hour, from the masters in turn, with keys encoded as S3 wants them."""
    plan = replace(SMALL, key_order=key_order, date_from=date_from)
    assert rows(plan) == [
        (MASTERS[at % 2], f"a%20b%2B%25/%C3%BC/{hours[at // 5]}/{at:09}", "1000")
        for at in range(12)
    ]
    assert [text.count("\n") for text in plan.slices()] == [5, 5, 2] and plan.slice_count == 3
    assert [*plan.master_keys()] == [*MASTERS]
    assert {rows(replace(plan, seed=2))[0][0]}.isdisjoint(MASTERS)


def test_the_same_parameters_give_the_same_id_and_any_change_a_new_one():
    others = {
        "objects": 11,
        "object_bytes": 1,
        "date_from": "2015-01-02",
        "date_to": "2019-12-30",
        "seed": 2,
    }
    others |= {"objects_per_folder": 6, "key_order": "reversed_hash", "masters": 1, "slice_rows": 6}
    others |= {"destination_prefix": ""}
    assert others.keys() == asdict(SMALL).keys() and SMALL.id == "c4d7f461caaea7dd"
    ids = {replace(SMALL, **{name: value}).id for name, value in others.items()}
    assert len({SMALL.id, *ids}) == 11
    assert SMALL.slice_key(2) == f"manifest/{SMALL.id}/000002.csv"


@pytest.mark.parametrize("messages", [1, 2, 3, 7])
def test_the_shares_of_all_messages_hold_every_slice_once(messages):
    shares = [SMALL.share(messages, index) for index in range(messages)]
    assert [first + at for first, count in shares for at in range(count)] == [0, 1, 2]
    counts = [count for _, count in shares]
    assert max(counts) - min(counts) <= 1


def test_ten_million_rows_need_the_memory_of_one_slice():
    large = KeyPlan(10_000_000, 1_000_000, objects_per_folder=500, masters=50, slice_rows=10_000)
    slices = large.slices()
    tracemalloc.start()
    size = max(map(len, itertools.islice(slices, 20)))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 5 * size, "a slice's rows, its text, and nothing that grows with the plan"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"date_from": "yesterday"}, "got 'yesterday'"),
        ({"date_to": "2014-12-31"}, "before date_from"),
        ({"objects": 121, "date_to": "2015-01-01"}, "objects_per_folder = 6"),
        ({"objects": 2_000_001, "objects_per_folder": 100, "slice_rows": 1}, "slice_rows = 3"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_with_the_fix(changed, words):
    with pytest.raises(KeyPlanError, match=words):
        replace(SMALL, **changed)


def test_an_output_of_another_version_is_no_plan():
    output = {"objects": 12, "object_bytes": 1000, "masters": 2, "slice_rows": 5}
    assert KeyPlan.of(output, SMALL.destination_prefix) == SMALL
    with pytest.raises(KeyPlanError, match="apply the stack again"):
        KeyPlan.of(output | {"colour": "red"})
