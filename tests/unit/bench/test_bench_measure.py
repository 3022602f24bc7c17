"""Medians, ratios, the order of the runs, and the list that the entries are merged into."""

import json

import pytest

from bench.errors import BenchError
from bench.measure import Entry, Samples, alternate, merge, save


def entry(name, ours=2.0):
    return Entry(name, ours, 1.0, "s", ours, 5)


def test_the_two_sides_run_in_turn():
    seen = []

    def side(name, values):
        remaining = iter(values)

        def measure():
            seen.append(name)
            return next(remaining)

        return measure

    samples = alternate(side("ours", [1.0, 2.0, 3.0]), side("peer", [10.0, 20.0, 30.0]), 3)
    assert seen == ["ours", "peer"] * 3
    assert samples == Samples((1.0, 2.0, 3.0), (10.0, 20.0, 30.0))


def test_every_value_is_told_as_soon_as_it_is_known():
    told = []
    alternate(lambda: 1.5, lambda: 2.5, 2, lambda *heard: told.append(heard))
    assert told == [("ours", 1, 1.5), ("peer", 1, 2.5), ("ours", 2, 1.5), ("peer", 2, 2.5)]


def test_an_entry_holds_medians_so_one_bad_run_changes_nothing():
    assert Samples((100.0, 104.0, 1.0), (10.0, 13.0, 900.0)).entry("a", "messages/s", higher_is_better=True) == Entry(
        "a", 100.0, 13.0, "messages/s", 100.0 / 13.0, 3
    )


def test_an_even_number_of_runs_takes_the_middle_of_the_two_in_the_middle():
    one = Samples((1.0, 3.0, 2.0, 8.0), (5.0, 5.0, 5.0, 5.0)).entry("a", "s", higher_is_better=False)
    assert (one.ours, one.runs) == (2.5, 4)


@pytest.mark.parametrize(("higher_is_better", "ratio"), [(True, 0.25), (False, 4.0)])
def test_a_ratio_above_one_says_that_ours_is_better(higher_is_better, ratio):
    assert Samples((2.0,), (8.0,)).entry("a", "x", higher_is_better=higher_is_better).ratio == ratio


@pytest.mark.parametrize("bad", [(), (0.0,), (-1.0,), (float("nan"),), (float("inf"),)])
def test_runs_that_are_no_measurement_are_refused_with_the_side_named(bad):
    with pytest.raises(BenchError, match=r"^a: the runs of peer gave"):
        Samples((1.0,), bad).entry("a", "s", higher_is_better=False)


def test_a_new_value_takes_the_place_of_the_old_one_and_leaves_the_others():
    known = [vars(entry("first")), vars(entry("second")), vars(entry("third"))]
    merged = merge(known, [entry("fourth"), entry("second", 9.0)])
    assert [(one["name"], one["ours"]) for one in merged] == [
        ("first", 2.0),
        ("second", 9.0),
        ("third", 2.0),
        ("fourth", 2.0),
    ]


def test_a_file_grows_by_the_entries_that_are_new(tmp_path):
    path = tmp_path / "results" / "bench.json"
    save(path, [entry("first")])
    save(path, [entry("second"), entry("first", 3.0)])
    assert json.loads(path.read_text()) == [
        {"name": "first", "ours": 3.0, "peer": 1.0, "unit": "s", "ratio": 3.0, "runs": 5},
        {"name": "second", "ours": 2.0, "peer": 1.0, "unit": "s", "ratio": 2.0, "runs": 5},
    ]
    assert [one.name for one in path.parent.iterdir()] == ["bench.json"]


@pytest.mark.parametrize("content", ["{", "{}", '[{"name": "a"}]', "[1]", '"x"'])
def test_a_file_that_is_no_list_of_entries_is_left_alone(tmp_path, content):
    path = tmp_path / "bench.json"
    path.write_text(content)
    with pytest.raises(BenchError, match=r"bench.json .*move it away and run again"):
        save(path, [entry("first")])
    assert path.read_text() == content
