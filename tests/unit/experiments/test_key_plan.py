"""Key plans: the same rows from the same parameters, in slices, in constant memory; what doesn't
fit is refused."""

import itertools
import tracemalloc
from dataclasses import replace
from urllib.parse import unquote

import pytest

from experiments.copy.key_plan import KeyPlan, KeyPlanError, Row

SMALL = KeyPlan(
    objects=12, object_bytes=1000, masters=2, slice_rows=5, destination_prefix="copies/"
)


def test_objects_fill_an_hour_a_folder_from_the_first_day_on():
    destinations = [row.destination for row in SMALL.rows()]
    assert destinations[:2] == ["copies/2015/01/01/00/000000000", "copies/2015/01/01/00/000000001"]
    assert [key.rpartition("/")[0] for key in destinations[4:12:5]] == [
        "copies/2015/01/01/00",
        "copies/2015/01/01/01",
    ]
    assert len({*destinations}) == 12


def test_the_reversed_order_puts_the_hour_first_and_a_hash_before_it():
    rows = [*replace(SMALL, key_order="reversed_hash", objects=6, date_from="2015-03-04").rows()]
    (_, first, *_), (prefix, digest, *rest) = (rows[at].destination.split("/") for at in (0, 5))
    assert (prefix, rest) == ("copies", ["01", "04", "03", "2015", "000000005"])
    assert len(digest) == 8 and digest != first


def test_masters_lie_below_random_prefixes_and_are_taken_in_turn():
    keys = [*SMALL.master_keys()]
    assert [row.source for row in SMALL.rows()] == keys * 6
    (folder, first, number), (_, second, _) = (key.split("/") for key in keys)
    assert (folder, number) == ("masters", "0") and first != second
    assert [*replace(SMALL, seed=2).master_keys()] != keys


def test_the_same_parameters_give_the_same_id_and_any_other_one_another():
    others = {
        "objects": 11,
        "object_bytes": 1,
        "date_from": "2015-01-02",
        "date_to": "2019-12-30",
        "seed": 2,
    }
    others |= {"objects_per_folder": 6, "key_order": "reversed_hash", "masters": 1, "slice_rows": 6}
    others |= {"destination_prefix": ""}
    assert others.keys() == SMALL.parameters().keys() and replace(SMALL).id == SMALL.id
    assert (
        len({SMALL.id, *(replace(SMALL, **{name: value}).id for name, value in others.items())})
        == 11
    )


def test_slices_are_the_rows_a_line_each_with_encoded_keys():
    plan = replace(SMALL, destination_prefix="a b+%/ü/")
    slices = [*plan.slices()]
    assert [text.count("\n") for text in slices] == [5, 5, 2] and plan.slice_count == 3
    assert slices[0].splitlines()[0].split(",")[1] == "a%20b%2B%25/%C3%BC/2015/01/01/00/000000000"
    read = [line.split(",") for text in slices for line in text.splitlines()]
    assert [Row(unquote(source), unquote(key), int(size)) for source, key, size in read] == [
        *plan.rows()
    ]
    assert plan.slice_key(2) == f"manifest/{plan.id}/000002.csv"


@pytest.mark.parametrize("messages", [1, 2, 3, 7])
def test_the_shares_of_all_messages_are_all_slices_once(messages):
    shares = [SMALL.share(messages, index) for index in range(messages)]
    assert [first + at for first, count in shares for at in range(count)] == [0, 1, 2]
    counts = [count for _, count in shares]
    assert max(counts) - min(counts) <= 1


def test_ten_million_rows_take_the_memory_of_one_slice():
    large = KeyPlan(
        10_000_000, 1_000_000, objects_per_folder=500, masters=50, slice_rows=10_000, seed=7
    )
    slices = large.slices()
    tracemalloc.start()
    size = max(map(len, itertools.islice(slices, 20)))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert large.slice_count == 1000
    assert peak_bytes < 5 * size, "a slice's rows, its text, and nothing that grows with the plan"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"date_from": "yesterday"}, "got 'yesterday'"),
        ({"date_to": "2014-12-31"}, "before date_from"),
        ({"objects": 121, "date_to": "2015-01-01"}, "objects_per_folder = 6"),
        ({"objects": 2_000_001, "objects_per_folder": 100, "slice_rows": 1}, "slice_rows = 3"),
        ({"destination_prefix": "x" * 1003}, "shorter prefix"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_with_the_fix(changed, words):
    with pytest.raises(KeyPlanError) as refusal:
        replace(SMALL, **changed)
    assert words in str(refusal.value) and "\n" not in str(refusal.value)


def test_the_stacks_output_is_the_plan():
    output = {"objects": 12, "object_bytes": 1000, "masters": 2, "slice_rows": 5}
    assert KeyPlan.of(output, "copies/") == SMALL
    with pytest.raises(KeyPlanError, match="apply the stack again"):
        KeyPlan.of(output | {"colour": "red"})
