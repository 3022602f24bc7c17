"""What is counted in a cell, what isn't, and when a figure isn't stated."""

import json

import numpy as np
import pytest

from stampede.report import load, statistics
from stampede.report.statistics.bootstrap import Sample
from stampede.report.statistics.distribution import seconds
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import error, lasting, record


def numbers_of(tmp_path, records, plan=None, **manifest):
    return statistics.statistics(load(handmade_run.write(tmp_path / "run", records, plan, **manifest)))


def only_cell(tmp_path, records):
    (cell,) = numbers_of(tmp_path, records)["cells"]
    return cell


def test_only_the_first_success_of_a_message_counts_and_the_others_are_named(tmp_path):
    again = record(900, 1900, seq=1) | {"download_time_seconds": 99.0}
    cell = only_cell(tmp_path, [record(0, 500), record(500, 900, seq=1), again])
    assert (cell["count"], cell["duplicates"]) == (2, 1)
    assert cell["seconds"]["max_s"] == 0.5
    assert cell["parallelism"]["attempts"] == 3


def test_warm_ups_are_counted_and_count_in_no_figure(tmp_path):
    warm_ups = [record(0, 9000, seq=7, warm_up=1), error(0, 9000, seq=8, warm_up=1)]
    numbers = numbers_of(tmp_path, [*warm_ups, record(10_000, 10_500)])
    (cell,) = numbers["cells"]
    assert (cell["count"], cell["warm_ups"], cell["warm_up_errors"], cell["errors"]) == (1, 2, 1, 0)
    assert (cell["sent"], numbers["totals"]["sent"], numbers["totals"]["sent_warm_up"]) == (1, 1, 2)
    assert cell["seconds"]["max_s"] == 0.5
    assert cell["parallelism"]["span_ms"] == 500
    assert numbers["errors"] == []
    assert numbers["totals"]["records"] == 3


def test_records_from_before_there_were_warm_ups_count(tmp_path):
    made = record(0, 500)
    del made["warm_up"]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "records.jsonl").write_text(json.dumps(made) + "\n")
    assert statistics.statistics(load(tmp_path / "run"))["cells"][0]["count"] == 1


def test_repeats_are_pooled_and_their_means_shown_apart(tmp_path):
    cell = only_cell(tmp_path, lasting([1.5] * 10, repeat=2) + lasting([1.0] * 10, repeat=1))
    assert cell["count"] == 20
    assert [(repeat["repeat"], repeat["mean_s"]) for repeat in cell["repeats"]] == [(1, 1.0), (2, 1.5)]
    assert cell["between_repeats"] == {"count": 2, "lowest_mean_s": 1.0, "highest_mean_s": 1.5, "ratio": 1.5}
    assert cell["parallelism"]["most_at_once"] == 1  # both began at the same time, but in different repeats


def test_planned_cells_without_records_are_there_and_say_why_there_is_nothing(tmp_path):
    numbers = numbers_of(tmp_path, [], {"memory_size": [1024], "concurrency_value": [1, 5]})
    assert [(cell["concurrency"], cell["count"], cell["sent"]) for cell in numbers["cells"]] == [(1, 0, 0), (5, 0, 0)]
    figures = numbers["cells"][0]["seconds"]
    assert figures["median_s"] is None
    assert figures["why"]["median_s"] == "median needs a measurement; there are none"
    assert numbers["cells"][0]["parallelism"] is None
    assert numbers["verdict"]["level"] == "cant_tell"


def test_a_memory_that_is_fixed_and_not_swept_is_known_from_the_plan(tmp_path):
    names = [{"cell": f"concurrency_value={n}", "concurrency_value": n} for n in (1, 5)]
    plan = {"cells": names, "fixed": {"memory_size": 512}}
    made = [record | {"cell": "concurrency_value=1"} for record in lasting([0.5], memory=512)]
    directory = handmade_run.write(tmp_path / "run", made)
    (directory / "run.json").write_text(json.dumps({"format": 1, "plan": plan}))
    numbers = statistics.statistics(load(directory))
    assert [(cell["memory_size_mb"], cell["concurrency"]) for cell in numbers["cells"]] == [(512, 1), (512, 5)]
    assert numbers["cells"][0]["sent"] == 1


@pytest.mark.parametrize(
    ("figure", "needed"),
    [
        ("p5_s", 20),
        ("p95_s", 20),
        ("p99_s", 100),
        ("mean_interval", 100),
        ("median_interval", 10),
        ("p99_interval", 1000),
    ],
)
def test_a_figure_is_stated_from_its_minimum_on_and_not_before(figure, needed):
    short, enough = (seconds(Sample([1 + at / 100 for at in range(size)], "cell")) for size in (needed - 1, needed))
    assert short[figure] is None
    assert f"needs {needed} measurements; there are {needed - 1}" in short["why"][figure]
    assert enough[figure] is not None
    assert figure not in enough["why"]


def test_intervals_hold_what_they_are_about_and_come_in_order(tmp_path):
    figures = only_cell(tmp_path, lasting([0.5 + at % 17 / 100 for at in range(120)]))["seconds"]
    for name in ("mean", "median"):
        interval = figures[f"{name}_interval"]
        assert interval["low"] <= figures[f"{name}_s"] <= interval["high"]
        assert figures["min_s"] <= interval["low"] and interval["high"] <= figures["max_s"]


def test_speed_is_bytes_over_time_and_its_interval_the_turned_one_of_the_mean(tmp_path):
    cell = only_cell(tmp_path, lasting([0.5, 1.0] * 50))
    speed, mean = cell["mbit_per_s"], cell["seconds"]["mean_interval"]
    assert speed["per_function"] == pytest.approx(8 / 0.75)
    assert speed["per_function_interval"]["low"] == pytest.approx(8 / mean["high"])
    assert speed["median"] == pytest.approx(12)  # halfway between 16 and 8


def test_attempts_retries_and_errors_are_counted(tmp_path):
    records = [
        error(0, 10),
        record(20, 30, attempt=2),
        error(0, 5, seq=1),
        error(6, 9, seq=1, attempt=2),
        record(30, 40, seq=2),
        error(5, 6, seq=3, error_type="ReadTimeout"),
        record(50, 60, seq=4, attempt=None),
    ]
    numbers = numbers_of(tmp_path, records)
    (cell,) = numbers["cells"]
    assert cell["attempts"] == {"1": 1, "2": 1, "unknown": 1}
    assert cell["retried"] == numbers["totals"]["retried"] == 1
    place = {"memory_size_mb": 1024, "concurrency": 1, "method": "download_file", "sink": "tmp"}
    assert numbers["errors"] == [
        place | {"error_type": "ClientError", "records": 3, "messages": 2, "recovered": 1},
        place | {"error_type": "ReadTimeout", "records": 1, "messages": 1, "recovered": 0},
    ]


def test_an_error_without_coordinates_is_in_no_cell_but_in_the_list(tmp_path):
    numbers = numbers_of(tmp_path, [error(0, 1, memory_size=None, cell=None, seq=None)])
    assert numbers["cells"] == []
    assert numbers["errors"][0]["memory_size_mb"] is None
    assert numbers["totals"]["errors"] == 1


def test_cold_downloads_that_take_longer_are_found_and_few_of_them_are_not_judged(tmp_path):
    times = [0.9 + at % 5 / 50 for at in range(12)] + [0.5 + at % 5 / 50 for at in range(30)]
    made = [record | {"cold_start": int(at < 12)} for at, record in enumerate(lasting(times))]
    cold = only_cell(tmp_path, made)["cold"]
    assert cold["difference_of_medians_s"]["low"] > 0.3
    assert "s longer than later ones" in cold["words"]
    few = statistics.statistics(load(handmade_run.write(tmp_path / "few", made[3:])))["cells"][0]["cold"]
    assert few["difference_of_means_s"] is None
    assert few["words"] == (
        "Cold and warm can’t be compared: each needs 10 measurements, but there are 9 cold and 30 warm."
    )


def test_cold_and_warm_alike_are_said_to_show_no_difference(tmp_path):
    made = [
        record | {"cold_start": at % 2}
        for at, record in enumerate(lasting([0.5 + at // 2 % 7 / 50 for at in range(60)]))
    ]
    assert only_cell(tmp_path, made)["cold"]["words"].startswith(
        "The first download of a function instance and later ones are too close to call"
    )


def test_the_same_records_give_the_same_text_whatever_their_order(tmp_path):
    made = lasting([0.5 + at % 7 / 50 for at in range(30)])
    texts = {
        statistics.to_text(statistics.statistics(load(handmade_run.write(tmp_path / name / "run", rows))))
        for name, rows in (("forth", made), ("back", made[::-1]))
    }
    assert len(texts) == 1


def test_the_text_is_json_with_the_same_numbers_and_rows_of_numbers_on_one_line(tmp_path):
    numbers = numbers_of(tmp_path, lasting([0.5, 0.25, 1e-7]))
    text = statistics.to_text(numbers)
    assert json.loads(text) == numbers
    assert '"running": [ 1, 0 ]' in text


def test_of_operations_one_in_ten_of_which_stalls_intervals_hold_the_median_and_the_mean_where_it_has_one():
    def draw(count):
        values = dice.lognormal(0, 0.1, count)
        return np.where(dice.random(count) < 0.1, 10 * values, values)

    dice = np.random.default_rng(3)
    truth = {"mean": 1.9 * np.exp(0.005), "median": np.median(draw(400_000))}
    for count, names in ((10, ["median"]), (100, ["median", "mean"])):
        held, runs = dict.fromkeys(names, 0), 100
        for run in range(runs):
            figures = {name: value for name, value in seconds(Sample(draw(count), str(run))).items() if value}
            assert [name for name in ("median", "mean") if f"{name}_interval" in figures] == names
            for name in names:
                interval = figures[f"{name}_interval"]
                held[name] += interval["low"] <= truth[name] <= interval["high"]
        assert min(held.values()) >= 0.88 * runs
