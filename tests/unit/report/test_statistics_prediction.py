"""What was predicted beside what was measured: what counts as a miss, and what is said of it."""

import json

import pytest

from experiments import EXPERIMENTS
from stampede import report
from stampede.model.parameters import Parameter
from stampede.report import load, statistics
from stampede.report.figures.predicted_seconds import PredictedSeconds
from stampede.report.figures.subject import Subject
from stampede.report.sections.prediction import _basis
from stampede.report.statistics.prediction import text
from stampede.runs.prediction import Prediction
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import lasting, record
from tests.unit.report.page_parser import Page

CELL = "memory_size=1024,concurrency_value={}"
# What waves() does: ten messages of 1 s for two workers.
LIKE_WAVES = {"avg_s": 1.0, "time_to_n_s": 0.0, "share_at_n": 1.0, "most_at_once": 2, "span_s": 5.0}


def waves(n=2, count=10, length_ms=1000, repeat=None):
    """Messages of one length, `n` of which begin together."""
    return [record(at // n * length_ms, (at // n + 1) * length_ms, n=n, seq=at, repeat=repeat) for at in range(count)]


def forecast(within=0.1, **changes):
    """A prediction of a cell of waves(), each figure with a range of so much (relative); `ranges` are laid over it."""
    ranges = changes.pop("ranges", {})
    values = LIKE_WAVES | changes
    around = {name: [value * (1 - within), value * (1 + within)] for name, value in values.items() if value is not None}
    return values | {"binds": "the client's CPU", "ranges": around | ranges}


def predicted(tmp_path, records, cells, **more):
    """The statistics of a run of these records with these predictions, and what the report warns of."""
    stored = {"place": "aws", "seed": 1, "date": "2026-05-01", "parameters": [], "cells": cells} | more
    run = load(handmade_run.write(tmp_path / "run", records, prediction=stored))
    return statistics.statistics(run), run.warnings


def one_cell(tmp_path, records, n=2, **changes):
    """The only cell of such a prediction."""
    numbers, _ = predicted(tmp_path, records, {CELL.format(n): forecast(**changes)})
    [row] = numbers["prediction"]["cells"]
    return row


def misses(numbers):
    return [words for words in numbers["verdict"]["caveats"] if words.startswith("The prediction missed by more")]


def test_a_run_as_predicted_is_inside_every_range_and_no_caveat(tmp_path):
    numbers, warnings = predicted(tmp_path, waves(), {CELL.format(2): forecast()})
    [row] = numbers["prediction"]["cells"]
    assert {name: row[name]["measured"] for name in LIKE_WAVES} == LIKE_WAVES
    assert all(row[name]["inside"] for name in LIKE_WAVES)
    assert (row["binds"], misses(numbers)) == ("the client's CPU", [])
    assert not any("predicted" in words for words in warnings)
    assert numbers["prediction"]["words"] == (
        "The mean of the only cell lies within the predicted range: 1.00 s predicted (0.900 to 1.10), 1.00 s measured, "
        "0 %."
    )


def test_a_cell_that_was_not_finished_misses_nothing(tmp_path):
    stored = {"place": "aws", "seed": 1, "date": "2026-05-01", "parameters": [], "cells": {CELL.format(2): forecast()}}
    folder = handmade_run.write(tmp_path / "run", waves(count=4), prediction=stored)
    manifest = json.loads((folder / "run.json").read_text())
    manifest["plan"]["order"] = [CELL.format(2)]
    (folder / "run.json").write_text(json.dumps(manifest))
    numbers = statistics.statistics(load(folder))
    assert (numbers["prediction"]["cells"], misses(numbers)) == ([], [])


def test_half_of_the_time_outside_the_window_is_half_of_the_share(tmp_path):
    alone = record(5000, 15000, n=2, seq=10)
    row = one_cell(tmp_path, [*waves(), alone], share_at_n=0.5, span_s=20.0)
    assert row["share_at_n"]["measured"] == pytest.approx(0.5)
    expected = {"predicted": 20.0, "low": 18.0, "high": 22.0, "measured": 15.0, "interval": None}
    assert row["span_s"] == expected | {"difference": -0.25, "inside": False}


def test_misses_are_a_caveat_the_furthest_off_first_and_three_at_most(tmp_path):
    records = [record for n in (1, 2, 3, 4, 5) for record in waves(n, 10 * n)]
    cells = {CELL.format(n): forecast(most_at_once=n, span_s=10.0, avg_s=1 / (1 + n / 10)) for n in (1, 2, 3, 4)}
    cells[CELL.format(5)] = forecast(most_at_once=9, span_s=10.0)
    numbers, _ = predicted(tmp_path, records, cells)
    assert misses(numbers) == [
        "The prediction missed by more than its stated uncertainty; the worst of each cell: a peak concurrency of 5 "
        "(9 predicted, 8 to 10; −44 %) with 1,024 MB, N = 5; 1.00 s for one download (0.714 s predicted, 0.643 to "
        "0.786; +40 %) with 1,024 MB, N = 4; 1.00 s for one download (0.769 s predicted, 0.692 to 0.846; +30 %) "
        "with 1,024 MB, N = 3; 1 more."
    ]
    assert numbers["prediction"]["words"].startswith(
        "The mean lies within the predicted range in 2 of 5 cells; its largest miss is with 1,024 MB, N = 4: "
    )


def test_what_one_worker_or_a_single_message_can_not_miss_is_no_match(tmp_path):
    forecasts = {1: forecast(most_at_once=1, span_s=1.0), 2: forecast(), 3: forecast(most_at_once=3, span_s=4.0)}
    records = [*waves(1, 1), *waves(2), *waves(3, 12)]
    cells = {CELL.format(n): predicted_cell for n, predicted_cell in forecasts.items()}
    stored = {"place": "aws", "seed": 1, "date": "2026-05-01", "parameters": [], "cells": cells}
    three, alone = (
        Page(report.build(handmade_run.write(tmp_path / name, made, prediction=stored)).read_text()).text
        for name, made in {"three": records, "alone": records[:1]}.items()
    )
    assert (
        "Other figures that match their ranges: elapsed time in 2 of 2; above N = 1, peak concurrency in 2 of 2, "
        "time to N in 2 of 2 and time in full overlap in 2 of 2."
    ) in three
    assert "The mean of the only cell lies within" in alone and "Other figures" not in alone


def test_the_miss_that_a_caveat_names_is_the_one_with_the_largest_difference_that_it_shows(tmp_path):
    cells = {CELL.format(2): forecast(share_at_n=0.5, avg_s=1 / 1.6)}
    numbers, _ = predicted(tmp_path, waves(), cells)
    [words] = misses(numbers)
    assert "% of the download time in full overlap (50 % predicted, 45 to 55; +100 %) with 1,024 MB, N = 2." in words


def test_a_mean_whose_own_interval_touches_the_range_is_no_miss(tmp_path):
    wide = lasting([0.5, 1.5, 0.7, 1.3, 1.0, 0.6, 1.4, 0.8, 1.2, 1.1])
    row = one_cell(tmp_path, wide, n=1, avg_s=1.2)["avg_s"]
    assert row["measured"] < row["low"] < row["interval"]["high"]
    assert row["inside"] is True


def test_a_range_narrower_than_a_millisecond_is_met_by_the_nearest_one(tmp_path):
    row = one_cell(tmp_path, waves(), ranges={"span_s": [4.9990001, 4.9991]}, span_s=4.999)
    assert row["span_s"]["inside"] is True


def test_a_start_off_by_a_hundredth_of_the_span_is_no_miss_and_one_off_by_more_is(tmp_path):
    late = [record | {"started_at_ms": record["started_at_ms"] + record["seq"] % 2 * 60} for record in waves()]
    for number, (predicted_s, inside) in enumerate([(0.011, True), (0.009, False)]):
        ranges = {"time_to_n_s": [predicted_s, predicted_s]}
        row = one_cell(tmp_path / str(number), late, ranges=ranges, time_to_n_s=predicted_s)
        assert (row["time_to_n_s"]["measured"], row["time_to_n_s"]["inside"]) == (0.06, inside)


@pytest.mark.parametrize(("low", "is_said"), [(0.05, True), (0.5, False)])
def test_a_range_that_the_picture_cuts_off_is_said_in_its_caption(tmp_path, low, is_said):
    numbers, _ = predicted(tmp_path, waves(), {CELL.format(2): forecast(ranges={"avg_s": [low, 2.0]})})
    picture = PredictedSeconds(Subject.of(EXPERIMENTS["download"], numbers))
    assert ("below 0.1 × is cut off there" in picture.caption) == is_said


def test_operations_one_after_the_other_took_as_long_as_predicted_where_their_mean_did(tmp_path):
    slow = [*waves(n=1, count=9), record(9000, 14000, seq=9)]
    row = one_cell(tmp_path, slow, n=1, avg_s=1.2, span_s=12.0, most_at_once=1)
    assert row["span_s"]["measured"] == 14.0 > row["span_s"]["high"] > row["span_s"]["interval"]["low"]
    assert (row["avg_s"]["inside"], row["span_s"]["inside"]) == (True, True)


def test_repeats_have_one_prediction_and_an_interval_from_the_lowest_to_the_highest(tmp_path):
    records = [*waves(length_ms=1000, repeat=1), *waves(length_ms=1600, repeat=2)]
    cells = {f"{CELL.format(2)},repeat={repeat}": forecast(span_s=7.2, avg_s=1.6) for repeat in (1, 2)}
    numbers, _ = predicted(tmp_path, records, cells)
    [row] = numbers["prediction"]["cells"]
    assert (row["span_s"]["measured"], row["span_s"]["interval"]) == (6.5, {"low": 5.0, "high": 8.0})
    assert row["span_s"]["inside"] is True
    assert row["avg_s"]["interval"] == {"low": 1.0, "high": 1.6}


def test_a_share_at_full_n_off_by_a_point_is_no_miss_and_one_off_by_more_is(tmp_path):
    alone = record(5000, 15000, n=2, seq=10)  # a share of a half
    for number, (predicted_share, inside) in enumerate([(0.509, True), (0.511, False)]):
        ranges = {"share_at_n": [predicted_share, predicted_share]}
        row = one_cell(tmp_path / str(number), [*waves(), alone], ranges=ranges, share_at_n=predicted_share)
        assert row["share_at_n"]["inside"] is inside


@pytest.mark.parametrize(
    ("n", "changes", "inside"),
    [
        (2, {"time_to_n_s": None, "most_at_once": 1, "ranges": {"most_at_once": [1, 1]}}, False),
        (2, {"time_to_n_s": None, "most_at_once": 1, "ranges": {"most_at_once": [1, 2]}}, True),
        (3, {"time_to_n_s": None, "ranges": {}}, True),
        (3, {"time_to_n_s": 1.0, "most_at_once": 3, "ranges": {"most_at_once": [3, 3]}}, False),
        (3, {"time_to_n_s": 1.0, "most_at_once": 3, "ranges": {"most_at_once": [2, 3], "time_to_n_s": [0, 2]}}, True),
    ],
    ids=["reached", "reached, which the range allows", "never, as predicted", "never", "never, which the range allows"],
)
def test_an_n_that_is_never_reached_is_a_miss_only_where_the_model_was_sure_of_it(tmp_path, n, changes, inside):
    records = [record | {"concurrency_limit": n, "cell": CELL.format(n)} for record in waves()]
    assert one_cell(tmp_path, records, n, **changes)["time_to_n_s"]["inside"] is inside


def test_that_any_operation_succeeds_where_the_model_said_that_none_would_is_a_miss(tmp_path):
    prediction = forecast(avg_s=None, ranges={"avg_s": None})
    numbers, _ = predicted(tmp_path, waves(), {CELL.format(2): prediction})
    assert misses(numbers) == [
        "The prediction missed by more than its stated uncertainty; the worst of each cell: one download succeeded in "
        "1.00 s (predicted: never) with 1,024 MB, N = 2."
    ]
    assert PredictedSeconds(Subject.of(EXPERIMENTS["download"], numbers)).figure is None


def test_without_ranges_nothing_is_a_miss(tmp_path):
    numbers, _ = predicted(tmp_path, waves(), {CELL.format(2): LIKE_WAVES | {"avg_s": 3.0}})
    assert {numbers["prediction"]["cells"][0][name]["inside"] for name in LIKE_WAVES} == {None}
    assert misses(numbers) == []
    assert numbers["prediction"]["words"].startswith("No finished cell has both")


def test_cells_without_a_record_and_those_that_nobody_knows_are_in_no_prediction(tmp_path):
    numbers, _ = predicted(tmp_path, waves(), {CELL.format(5): forecast(), "nobody's": forecast()})
    assert numbers["prediction"]["cells"] == []


@pytest.mark.parametrize("stored", [[], "x", {"cells": [1]}, {"seed": 1}])
def test_a_prediction_without_cells_is_named_and_left_out(tmp_path, stored):
    run = load(handmade_run.write(tmp_path / "run", waves(), prediction=stored))
    assert "run.json: the prediction has no named cells; left out." in run.warnings
    assert statistics.statistics(run)["prediction"] is None


@pytest.mark.parametrize(
    "damage",
    [
        {"share_at_n": None},
        {"avg_s": "1"},
        {"span_s": -1},
        {"span_s": 10**400},
        {"most_at_once": True},
        {"ranges": [1]},
        {"ranges": {"avg_s": [2, 1]}},
        {"ranges": {"avg_s": [1]}},
        {"ranges": {"span_s": "12"}},
    ],
    ids=str,
)
def test_a_damaged_cell_is_named_and_the_others_are_compared(tmp_path, damage):
    cells = {CELL.format(1): forecast() | damage, CELL.format(2): forecast()}
    numbers, warnings = predicted(tmp_path, [*waves(1), *waves()], cells)
    assert f"run.json: the prediction of {CELL.format(1)} can’t be read; left out." in warnings
    assert [row["concurrency"] for row in numbers["prediction"]["cells"]] == [2]


@pytest.mark.parametrize(
    ("place", "words"),
    [("aws", "the parameters for AWS, seed 1."), ("", "the parameters of an unknown place, seed 1.")],
)
def test_the_page_names_whose_parameters_they_are(place, words):
    row = Parameter("hand_over_s", 1.0, 1.0, 2.0, "s", "measured", "docs", "2026-05")
    assert words in _basis(Prediction(place, 1, "", [row], {}))


def test_what_an_earlier_version_predicted_of_its_own_machine_is_left_out(tmp_path):
    numbers, _ = predicted(tmp_path, waves(), {CELL.format(2): forecast()}, place="local")
    assert numbers["prediction"] is None


def test_a_parameter_without_a_source_is_named(tmp_path):
    row = {"name": "burst_s", "value": 1, "low": 1, "high": 2, "unit": "s", "known": "guessed", "date": "2026-05"}
    _, warnings = predicted(tmp_path, waves(), {}, parameters=[row, 7])
    assert any(words.startswith("run.json: burst_s has no source") for words in warnings)
    assert any(words.startswith("run.json: a parameter has no name") for words in warnings)


def test_what_only_records_tell_apart_was_predicted_together(tmp_path):
    place = {"storage": "efs", "dataset": "small", "memory_size": 1024}
    records = []
    for made in waves():
        read = "repeat" if made["seq"] > 2 else "first"
        records.append(made | place | {"read": read, "elapsed_seconds": 1 + made["seq"]})
    run = {
        "experiment": "filesystem",
        "prediction": {"place": "aws", "cells": {CELL.format(2): forecast()}},
        "cells": [{"cell": CELL.format(2), "concurrency_value": 2, **place}],
    }
    folder = handmade_run.write(tmp_path / "run", records, **run)
    numbers = statistics.statistics(load(folder))
    assert [(cell["read"], cell["count"]) for cell in numbers["cells"]] == [("first", 3), ("repeat", 7)]
    [row] = numbers["prediction"]["cells"]
    assert (row["avg_s"]["measured"], row["span_s"]["measured"]) == (5.5, 5.0)
    assert "read" not in row


def test_a_mean_outside_the_range_that_matches_it_is_shown_with_its_interval(tmp_path):
    wide = lasting([0.5, 1.5, 0.7, 1.3, 1.0, 0.6, 1.4, 0.8, 1.2, 1.1])
    numbers, _ = predicted(tmp_path, wide, {CELL.format(1): forecast(avg_s=0.85)})
    row = numbers["prediction"]["cells"][0]["avg_s"]
    assert row["inside"] and row["measured"] > row["high"]
    assert f"s measured (interval {row['interval']['low']:.3f} to " in numbers["prediction"]["words"]


def test_a_figure_that_only_the_tolerance_brings_into_its_range_is_marked_and_counted(tmp_path):
    late = [record | {"started_at_ms": record["started_at_ms"] + record["seq"] % 2 * 60} for record in waves()]
    cells = {CELL.format(2): forecast(ranges={"time_to_n_s": [0.011, 0.011]}, time_to_n_s=0.011)}
    stored = {"place": "aws", "seed": 1, "date": "2026-05-01", "parameters": [], "cells": cells}
    text = Page(report.build(handmade_run.write(tmp_path / "run", late, prediction=stored)).read_text()).text
    assert "time to N in 1 of 1 (1 only nearly)" in text and "≈ +445 %" in text


@pytest.mark.parametrize(("value_s", "shown"), [(1.1846, "1.18"), (1.03513, "1.04"), (0.06543, "0.065")])
def test_seconds_are_rounded_once_and_below_a_tenth_to_whole_milliseconds(value_s, shown):
    assert text("span_s", value_s) == shown


def test_a_mean_whose_interval_ends_within_the_error_of_its_resamples_is_no_miss_and_one_further_off_is(tmp_path):
    wide = lasting([0.5, 1.5, 0.7, 1.3, 1.0, 0.6, 1.4, 0.8, 1.2, 1.1])
    around = one_cell(tmp_path / "any", wide, n=1)["avg_s"]["interval"]
    for widths, inside in ((0.029, True), (0.031, False)):
        low_s = around["high"] + widths * (around["high"] - around["low"])
        row = one_cell(tmp_path / str(widths), wide, n=1, avg_s=low_s + 1, ranges={"avg_s": [low_s, low_s + 2]})[
            "avg_s"
        ]
        assert row["inside"] is inside
