"""Up to where more parallel calls pay: the rule, its intervals, and what the page says."""

import json

import numpy as np
import pytest

from experiments import EXPERIMENTS
from experiments.copy.declaration import COPY
from stampede import report
from stampede.cell import Cell
from stampede.report import published, statistics
from stampede.report.statistics.bootstrap import Sample
from stampede.report.statistics.knee import Series
from tests.unit.report import copied_run
from tests.unit.report.page_parser import Page

AXIS = next(axis for axis in COPY.axes if axis.name == "parallel_limit")


def numbers(folder):
    """What statistics.json will have."""
    return json.loads(statistics.to_text(statistics.statistics(report.load(folder))))


def knee(folder):
    [series] = numbers(folder)["knees"]["series"]
    return series


def test_the_knee_is_the_smallest_limit_that_no_larger_one_beats_beyond_chance(tmp_path):
    speeds = {
        1: [10, 11, 10, 9, 10],
        10: [90, 95, 92, 91, 96],
        50: [180, 178, 181, 185, 179],
        100: [183, 181, 179, 180, 182],
    }
    found = knee(copied_run.write(tmp_path / "run", speeds))
    assert (found["level"], found["knee"], found["speed"]) == ("knee", 50, 180)
    assert found["best_beyond"]["parallel_limit"] == 100
    assert found["against_smallest"]["value"] == 18
    assert found["words"] == (
        "beyond a limit of 50, more parallel calls gained at most 10 %: a median of 180 calls/s there, and "
        "1.01 × (0.96 to 1.03) as much with a limit of 100"
    )


def test_a_gain_of_the_median_that_chance_explains_moves_no_knee_and_is_reported_as_such(tmp_path):
    speeds = {10: [90, 95, 60, 150, 140], 100: [120, 200, 70, 125, 130]}
    series = knee(copied_run.write(tmp_path / "run", speeds))
    assert series["best_beyond"]["value"] > 1.1 and series["best_beyond"]["low"] < 1
    assert (series["level"], series["range"]) == ("cant_tell", {"low": 10, "high": None})
    assert series["words"].startswith(
        "no gain above 10 % from more parallel calls could be shown beyond a limit of 10, the smallest tried: a "
        "median of 95 calls/s there, and 1.3"
    )


def test_a_gain_that_an_interval_leaves_room_for_is_not_called_nothing(tmp_path):
    speeds = {1: [20] * 5, 50: [100, 90, 110, 95, 105], 100: [101, 60, 150, 95, 104]}
    series = knee(copied_run.write(tmp_path / "run", speeds))
    assert series["best_beyond"]["value"] < 1.1 < series["best_beyond"]["high"]
    assert series["words"].startswith(
        "no gain above 10 % from more parallel calls could be shown beyond a limit of 50: a median of 100 calls/s"
    )


def test_a_gain_below_a_tenth_moves_no_knee_even_when_it_is_certain(tmp_path):
    series = knee(copied_run.write(tmp_path / "run", {10: [100] * 5, 100: [108] * 5}))
    assert (series["knee"], series["best_beyond"]["low"]) == (10, 1.08)
    assert "more parallel calls gained at most 10 %: a median of 100 calls/s there, and 1.08 ×" in series["words"]


def test_the_gain_up_to_the_knee_has_its_interval(tmp_path):
    folder = copied_run.write(tmp_path / "run", {1: [10] * 5, 10: [44, 45, 46, 45, 44], 100: [45] * 5})
    page = Page(report.build(folder).read_text())
    assert "A limit of 10 gives 4.50 × (4.40 to 4.60) the throughput of a limit of 1." in page.text


def test_a_loss_before_a_gain_is_no_knee(tmp_path):
    series = knee(copied_run.write(tmp_path / "run", {1: [50] * 5, 10: [40] * 5, 100: [90] * 5}))
    assert series["knee"] == 100


def test_where_everything_scales_it_says_so(tmp_path):
    folder = copied_run.write(tmp_path / "run", {1: [10] * 5, 10: [80] * 5, 100: [700] * 5})
    figures = numbers(folder)
    [series] = figures["knees"]["series"]
    assert (series["level"], series["knee"], series["best_beyond"]) == ("scales", 100, None)
    assert figures["verdict"]["headline"] == (
        "On this machine, more parallel calls gave a gain up to a limit of 100, the largest tried: a median of 700 "
        "calls/s."
    )


def test_five_runs_of_one_limit_are_too_few_for_an_interval_because_there_is_no_knee(tmp_path):
    text = Page(report.build(copied_run.write(tmp_path / "run", {10: [590, 600, 610, 620, 700]})).read_text()).text
    assert "5 copy runs per cell, too few for intervals; no repeats." in text
    assert "There are too few copy runs for intervals" in text


def test_one_run_a_cell_has_no_interval_and_the_page_says_so(tmp_path):
    folder = copied_run.write(tmp_path / "run", {100: [690], 800: [3050], 2000: [2300]}, experiment="copy_host")
    figures = numbers(folder)
    [series] = figures["knees"]["series"]
    assert (series["level"], series["knee"], series["range"]) == ("cant_tell", None, None)
    assert figures["verdict"]["headline"] == (
        "On this machine, how many parallel calls are worth making is unknown: 1 copy run per cell, of 5 needed; "
        "690 calls/s with a limit of 100 to 3,050 calls/s with a limit of 800."
    )
    page = Page(report.build(folder).read_text())
    assert "beyond the knee" not in page.text and "3,050.0" in page.text
    assert "“throughput”: the mean of the rates of the copy runs" in page.text
    # One N, and the messages that prepare the destination are no warm-ups of the plan.
    assert "for every N" not in page.text and "warm up messages" not in page.text
    assert "There are too few copy runs for intervals: another run may give other figures" in page.text
    assert "in these intervals" not in page.text
    assert page.faults == []


def test_a_table_without_a_published_row_does_not_promise_one(tmp_path):
    folder = copied_run.write(tmp_path / "run", {10: [690], 50: [700]}, experiment="copy_host")
    page = Page(report.build(folder).read_text())
    assert "Seconds for one copy run" in page.text and "easured and published" not in page.text


def test_each_series_has_its_own_knee_and_the_headline_counts_them(tmp_path):
    speeds = {1: [10] * 5, 10: [80] * 5, 100: [81] * 5}
    folder = copied_run.write(tmp_path / "run", speeds, settings=["pace=fixed,adaptive"])
    rows = copied_run.records(folder)
    for row in rows:
        if (row["pace"], row["parallel_limit"]) == ("adaptive", 100):
            row["calls_per_s"] = 300
    copied_run.save(folder, rows)
    figures = numbers(folder)
    assert [(entry["pace"], entry["knee"]) for entry in figures["knees"]["series"]] == [
        ("adaptive", 100),
        ("fixed", 10),
    ]
    headline = figures["verdict"]["headline"]
    assert "beyond a limit of 10, more parallel calls gained at most 10 %, in 1" in headline and len(headline) <= 200


def test_five_runs_have_an_interval_of_nearly_their_range_and_four_none(tmp_path):
    speeds = {1: [10, 12, 14, 16, 18], 10: [90, 95, 92, 91]}
    first, second = knee(copied_run.write(tmp_path / "run", speeds))["points"]
    assert first["interval"] == pytest.approx({"low": 10, "high": 18}, abs=0.5)
    assert second["interval"] is None


def test_a_cell_in_which_nothing_got_through_divides_nothing(tmp_path):
    folder = copied_run.write(tmp_path / "run", {1: [10] * 5, 10: [80] * 5})
    rows = [
        record | {"calls_per_s": 0} if record["parallel_limit"] == 1 else record
        for record in copied_run.records(folder)
    ]
    copied_run.save(folder, rows)
    series = knee(folder)
    assert (series["level"], series["knee"], series["against_smallest"]) == ("cant_tell", None, None)
    assert "nothing got through with a limit of 1" in series["words"]


def test_where_the_intervals_leave_room_for_a_knee_between_two_limits_both_are_named(tmp_path):
    speeds = {1: [10] * 5, 10: [100, 90, 110, 80, 120], 50: [112, 110, 114, 111, 113], 100: [111] * 5}
    series = knee(copied_run.write(tmp_path / "run", speeds))
    assert (series["level"], series["knee"], series["range"]) == ("knee", 50, {"low": 10, "high": 50})
    assert series["words"].startswith(
        "no gain above 10 % from more parallel calls could be shown beyond a limit of 10, and from a limit of 50 up "
        "to a limit of 100, the largest tried, the intervals rule one out: a median of 100 calls/s with a limit of "
        "10, and 1.12 ×"
    )


LIMITS = (1, 10, 20, 50, 100, 200, 500, 1000)
CURVES = {
    "the universal scalability law": lambda n: n / (1 + 0.005 * (n - 1) + 1e-4 * n * (n - 1)),
    "Amdahl": lambda n: n / (1 + 0.02 * (n - 1)),
    "a cap": lambda n: min(n, 75),
    "a gain just too small": lambda n: 1 if n == 1 else 1.08,
}


@pytest.mark.parametrize(
    ("curve", "spread", "least_named"),
    [
        ("the universal scalability law", 0.25, 0.3),
        ("Amdahl", 0.25, 0.3),
        ("a cap", 0.25, 0.3),
        ("a gain just too small", 0.05, 0),
    ],
)
def test_the_range_holds_the_true_knee_of_curves_of_every_kind(curve, spread, least_named, runs=30):
    speeds = [CURVES[curve](limit) for limit in LIMITS]
    true = next(limit for at, limit in enumerate(LIMITS) if max(speeds[at:]) <= 1.1 * speeds[at])
    dice, held, named = np.random.default_rng(2), 0, 0
    keys = [Cell.at((AXIS,), (limit,)) for limit in LIMITS]
    for _ in range(runs):
        samples = [
            Sample(dice.lognormal(0, spread, 5) * speed, key.words) for key, speed in zip(keys, speeds, strict=True)
        ]
        series = Series(COPY, keys, samples).figures()
        held += series["range"]["low"] <= true <= (series["range"]["high"] or LIMITS[-1])
        named += series["knee"] == true
    assert held >= 0.95 * runs
    assert named >= least_named * runs


def failing(folder, limits):
    """All objects of these limits fail."""
    rows = copied_run.records(folder)
    for row in rows:
        if row["parallel_limit"] in limits:
            row |= {"copied": 0, "failed": 1000, "calls_per_s": 0, "call_p50_ms": 0.0}
    copied_run.save(folder, rows)


def test_limits_at_which_every_object_failed_are_named_and_the_page_says_so_first(tmp_path):
    folder = copied_run.write(tmp_path / "run", {1: [10] * 5, 10: [80] * 5, 100: [80] * 5})
    failing(folder, (100,))
    figures = numbers(folder)
    [series] = figures["knees"]["series"]
    assert series["words"].endswith(": a median of 80 calls/s; no copy run finished with a limit of 100")
    assert "5,000 of 15,000 objects failed: 5,000 with a limit of 100." in figures["verdict"]["caveats"]


def test_of_a_run_whose_objects_all_failed_nothing_is_said_about_speed(tmp_path):
    folder = copied_run.write(tmp_path / "run", {1: [10] * 5, 1000: [80] * 5})
    failing(folder, (1, 1000))
    assert numbers(folder)["verdict"]["headline"] == (
        "10,000 of 10,000 objects failed, so this run says nothing about speed."
    )
    page = Page(report.build(folder).read_text())
    assert "failed objects 10,000 of 10,000" in page.text and "gain up to" not in page.text


# The published figures.


def theirs(experiment, label=""):
    return [cell for cell in published.every_cell(EXPERIMENTS[experiment]) if label in cell.published.label]


def test_the_published_copies_of_one_function_have_their_mean_their_runs_and_their_speed():
    speed = EXPERIMENTS["copy"].speed
    cells = {cell.key["parallel_limit"]: cell for cell in theirs("copy")}
    assert sorted(cells) == [1, 10, 20, 50, 100, 200, 500, 1000]
    assert cells[100].figures["avg_s"] == 5.98
    assert (cells[100].figures["min_s"], cells[100].figures["max_s"]) == (4.354, 9.09)
    assert cells[100].runs_s == [5.975, 5.355, 4.354, 5.111, 9.09]
    assert cells[100].speed(speed) == pytest.approx(1000 / 5.98)


def test_the_published_rates_of_a_host_are_those_of_its_instance_type():
    speed = EXPERIMENTS["copy_host"].speed
    cells = [cell for cell in theirs("copy_host") if cell.published.file == "copy_host_rate"]
    speeds = {(cell.key["instance_type"], cell.key["parallel_limit"]): cell.speed(speed) for cell in cells}
    assert len(speeds) == 18
    assert speeds["m5a.8xlarge", 800] == 3043.3
    assert speeds["m5a.12xlarge", 800] == 3844.2
    assert speeds["m5a.4xlarge", 800] == 1660.0


def test_published_retries_are_attempts_less_one_and_three_runs_are_their_mean():
    cells = {cell.key["retry_attempts"]: cell for cell in theirs("copy_host", "2,191,200")}
    assert sorted(cells) == [5, 11]
    assert cells[11].figures["failed"] == 0
    assert cells[5].figures["failed"] == (2781 + 1039 + 1523) / 3
    assert cells[5].figures["calls_per_s"] == pytest.approx((3166.5 + 3139.3 + 3184.9) / 3)


def test_another_program_stands_once_beside_a_cell_of_as_many_calls_at_once(tmp_path):
    types = ["instance_type=m5a.4xlarge,m5a.8xlarge"]
    folder = copied_run.write(tmp_path / "run", {50: [400], 100: [600]}, experiment="copy_host", settings=types)
    report.build(folder)
    table = (folder / "table.md").read_text()
    [line] = [line for line in table.splitlines() if line.startswith("|") and "AWS CLI, published 2019" in line]
    assert line.startswith("| 100 |") and "| 29.6 |" in line
    assert "10,800 objects by AWS CLI through xargs" in table


# What copies: hosts.


def test_what_a_host_gets_is_said_of_hosts(tmp_path):
    hosts = {"experiment": "copy_host", "settings": ["concurrency_value=1,3"]}
    made = [copied_run.write(tmp_path / name, {100: [per_s] * 12}, **hosts) for name, per_s in (("a", 600), ("b", 500))]
    found = numbers(made[0])
    told = Page(report.build(made[0]).read_text()).text
    assert found["verdict"]["headline"].startswith(
        "On this machine, median throughput per host holds within 10 % from N = 1"
    )
    page = Page(report.compare(made, tmp_path).read_text()).text
    assert "calls/s per host" in page and "600.0" in page
    assert "function" not in page + told and "Mbit/s per" not in page
