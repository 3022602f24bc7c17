"""A choice of two by the size of an object: what is faster, what is cheaper, and from which size on."""

import json
from itertools import product

import numpy as np
import pytest

from experiments import EXPERIMENTS
from stampede import report
from stampede.phrases import decimal_size
from stampede.report import prices
from stampede.report.figures.by_size import BySize
from stampede.report.figures.subject import Subject
from stampede.report.statistics import crossing
from stampede.report.statistics.bootstrap import Resampled, Sample, interval
from tests.unit.report import sized_run
from tests.unit.report.page_parser import Page

NAMES, SAYS = ("faster", "slower"), "reading is {} on it"
SIZES = (1_000, 1_000_000)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Writes a run, builds its report, and gives its statistics and its page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPERIMENTS, sized_run.SIZED.name, sized_run.SIZED)

        def build(**options):
            folder = sized_run.write(tmp_path_factory.mktemp("runs") / "sized-1", **options)
            report.build(folder)
            numbers = json.loads((folder / "statistics.json").read_text())
            return numbers, Page((folder / "report.html").read_text())

        yield build


@pytest.fixture(scope="module")
def aws(built):
    return built()


@pytest.fixture(scope="module")
def local(built):
    return built(target="local", sizes=(1_000, 100_000), parallels=(1,))


def even(values, spread=0.01, count=12):
    """The break-even of these ratios at SIZES, each resampled with so much spread (of its logarithm), where the other
    one takes 1 s."""
    dice = np.random.default_rng(1)
    ratios = [Resampled(value, value * np.exp(dice.normal(0, spread, 2000))) for value in values]
    ratio_rows = [{"value": ratio.value} | interval(ratio.values, count) for ratio in ratios]
    apart = [Resampled(ratio.value - 1, ratio.values - 1) for ratio in ratios]
    return crossing.break_even(SIZES, ratio_rows, apart, count, NAMES, SAYS)


def test_where_a_stand_in_ran_only_the_intervals_that_are_shown_hold_together(local):
    numbers, _ = local
    points = [point for series in numbers["by_size"] for point in series["points"]]
    shown = sum(bool(point[kind] and point[kind]["low"]) for point in points for kind in ("speedup", "cheapness"))
    assert {series["together"] for series in numbers["by_size"]} == {shown}


def test_straight_lines_pass_0_between_a_height_above_and_one_below():
    assert crossing.crossings(SIZES, (3, -1)) == [(pytest.approx(1000 + 999_000 * 3 / 4), False)]
    assert crossing.crossings((1, 2, 4), (-1, 1, -1)) == [(1.5, True), (3, False)]
    assert crossing.crossings(SIZES, (4, 2)) == []


def test_a_break_even_is_named_with_its_interval():
    break_even = even((4, 0.25))
    low, high = break_even["interval"]["low"], break_even["interval"]["high"]
    assert break_even["at_bytes"] == pytest.approx(1000 + 999_000 * 3 / 3.75)
    assert low < break_even["at_bytes"] < high < 1.05 * low
    assert break_even["words"] == (
        "reading is faster on it for objects below about 800 KB (800 to 810 KB, 95 %), slower above"
    )
    assert even((0.25, 4))["words"].startswith("reading is faster on it for objects above about ")


def test_where_both_cost_the_same_is_found_however_far_the_measured_sizes_lie_apart(built):
    # A request takes its time and so does every byte: between 10 KB and 100 MB nothing else is to be known.
    numbers, _ = built(sizes=(10_000, 100_000_000), parallels=(1,), queries=False, messages=10)
    [reading, _] = numbers["by_size"]

    def apart(size):
        return usd("download", "standard", size, 1) - usd("download", "express", size, 1)

    at = reading["cost"]["at_bytes"]
    assert apart(0.9 * at) > 0 > apart(1.1 * at)
    assert reading["cost"]["interval"]["low"] < at < reading["cost"]["interval"]["high"]


def test_an_interval_that_reaches_beyond_the_sizes_has_no_end_there():
    # The fewest measurements of any size decide how wide it is, so it may be wider than the one that is clear.
    dice = np.random.default_rng(1)
    ratios = [Resampled(value, value * np.exp(dice.normal(0, 0.02, 2000))) for value in (4, 0.955)]
    ratio_rows = [{"low": 3.8, "high": 4.2}, {"low": 0.92, "high": 0.99}]
    apart = [Resampled(ratio.value - 1, ratio.values - 1) for ratio in ratios]
    break_even = crossing.break_even(SIZES, ratio_rows, apart, 10, NAMES, SAYS)
    assert break_even["interval"]["high"] is None
    assert " KB or more, 95 %), slower above" in break_even["words"]


def claimed(factors, runs=150, count=12, spread=0.1):
    """How often a break-even is claimed of two whose medians differ by these factors, size by size."""
    dice, times = np.random.default_rng(5), 0
    sizes = [10.0**at for at in range(3, 3 + len(factors))]
    for run in range(runs):
        pairs = []
        for at, own in enumerate(factors):
            drawn = ((name, factor * dice.lognormal(0, spread, count)) for name, factor in (("base", 1), ("ours", own)))
            pairs.append([Sample(values, f"{name} {at} {run}") for name, values in drawn])
        both = [[Resampled(float(np.median(sample.values)), sample.medians) for sample in pair] for pair in pairs]
        ratio_rows = [{"value": base.over(ours).value} | interval(base.over(ours).values, count) for base, ours in both]
        apart = [base.less(ours) for base, ours in both]
        times += crossing.break_even(sizes, ratio_rows, apart, count, NAMES, SAYS)["at_bytes"] is not None
    return times / runs


def test_equal_ones_and_one_that_is_5_percent_faster_everywhere_come_out_even_nowhere():
    assert claimed([1.0] * 4) <= 0.02
    assert claimed([0.95] * 4) <= 0.02
    # A break-even that is there is found.
    assert claimed([0.7, 0.9, 1.1, 1.3]) >= 0.5


def test_where_nothing_passes_1_it_is_said_of_all_sizes_and_where_nothing_is_clear_that_it_can_t_be_told():
    assert even((4, 2))["words"] == "reading is faster on it at all measured sizes, 1 KB to 1 MB"
    assert even((0.5, 0.25))["words"] == "reading is slower on it at all measured sizes, 1 KB to 1 MB"
    assert (
        even((1.01, 0.99), spread=0.2)["words"]
        == "it is too close to call at every measured size whether reading is faster on it"
    )
    unclear = even((4, 1.01), spread=0.1)
    assert unclear["words"] == "reading is faster on it at 1 KB; too close to call at 1 MB"
    assert unclear["short"] == "at 1 KB"


def test_too_few_measurements_name_no_break_even():
    ratio_rows = [{"value": value, "low": None, "high": None} for value in (4, 0.25)]
    apart = [Resampled(value, np.ones(2000)) for value in (3, -1)]
    break_even = crossing.break_even(SIZES, ratio_rows, apart, 3, NAMES, SAYS)
    assert (break_even["level"], break_even["short"]) == ("unclear", "")
    assert break_even["words"].startswith(
        "it is unknown whether reading is faster on it: each variant needs 10 measurements"
    )


def usd(operation, storage, size_bytes, parallel):
    """What moving one object costs, from the tariffs as they stand in the module of the run."""
    seconds = sized_run.seconds_of(operation, storage, size_bytes, parallel, 1)
    tariff, size_gb = sized_run.TARIFFS[storage], size_bytes / 2**30
    is_read = operation == "download"
    request = tariff.read_usd if is_read else tariff.write_usd
    gigabyte = tariff.read_gb_usd if is_read else tariff.write_gb_usd
    return request + size_gb * gigabyte + seconds * 2 * sized_run.PRICES["lambda_gb_s_arm64"]


def test_time_and_cost_are_counted_for_every_operation_limit_and_size(aws):
    numbers, _ = aws
    points = [point for series in numbers["by_size"] for point in series["points"]]
    points_by_place = {(point["operation"], point["parallel"], point["size_bytes"]): point for point in points}
    assert points_by_place.keys() == set(product(sized_run.OPERATIONS, (1, 64), sized_run.SIZES))
    for (operation, parallel, size), point in points_by_place.items():
        base, ours = (
            sized_run.seconds_of(operation, storage, size, parallel, 1) for storage in ("standard", "express")
        )
        assert point["speedup"]["value"] == pytest.approx(base / ours, rel=0.1)
        assert point["speedup"]["low"] < point["speedup"]["value"] < point["speedup"]["high"]
        dollars = {
            "ours": usd(operation, "express", size, parallel),
            "base": usd(operation, "standard", size, parallel),
        }
        assert point["usd"] == pytest.approx(dollars, rel=0.05)
        assert point["cheapness"]["value"] == pytest.approx(point["usd"]["base"] / point["usd"]["ours"])


def test_the_page_answers_first_for_which_size_and_marks_what_was_published(aws):
    numbers, page = aws
    [reading] = [entry for entry in numbers["by_size"] if entry["words"] == "download, 1 at a time"]
    assert reading["time"]["words"] in page.text
    assert f"below about {decimal_size(reading['cost']['at_bytes'], 2)} (" in page.text
    assert "writing 10 KB was 4.29 × as fast, reading 10 KB was 3.69 × as fast" in page.text
    assert numbers["verdict"]["headline"].startswith("On AWS, us-east-1, express, 64 at a time, is faster below about ")
    assert ", and cheaper below about " in numbers["verdict"]["headline"]
    assert page.faults == []


def test_the_picture_has_room_for_what_was_published(aws, drawn):
    published = [("read", 10_000, 40.0), ("write", 10_000, 0.01)]
    picture = BySize(Subject.of(sized_run.SIZED, aws[0]), "express", sized_run.BASE, published)
    [speedups, _] = picture.figure.axes
    low, high = speedups.get_ylim()
    assert (low < 0.01, high > 40) == (True, True)


def test_one_in_more_slices_is_set_against_the_other_by_what_each_moved(built, tmp_path, monkeypatch):
    # Half of the objects, in half of the time.
    real = sized_run._record

    def sliced(run_id, cell, values, seq, target, dice):
        made = real(run_id, cell, values, seq, target, dice)
        if values["storage"] == sized_run.BASE:
            made |= {"objects": values["objects"] // 2, "bytes": made["bytes"] // 2}
            made["elapsed_seconds"] /= 2
        return made

    monkeypatch.setattr(sized_run, "_record", sliced)
    folder = sized_run.write(tmp_path / "sliced", sizes=(1_000,), parallels=(1,), queries=False)
    manifest = json.loads((folder / "run.json").read_text())
    for cell in manifest["cells"]:
        if cell["storage"] == sized_run.BASE:
            cell["objects"] //= 2
    manifest["plan"]["cells"] = manifest["cells"]
    (folder / "run.json").write_text(json.dumps(manifest))
    report.build(folder)
    series = json.loads((folder / "statistics.json").read_text())["by_size"]
    assert [entry["words"] for entry in series] == ["download, 1 at a time", "upload, 1 at a time"]
    assert series[0]["points"][0]["speedup"]["value"] == pytest.approx(0.0182 / 0.005, rel=0.1)


def test_where_something_stood_in_the_headline_says_first_that_nothing_follows(local):
    numbers, page = local
    assert numbers["verdict"]["headline"] == (
        "The stand-in for express was a general purpose bucket, so this run says nothing about express; it shows "
        "that the rest of the path works."
    )
    assert {entry["time"]["words"] for entry in numbers["by_size"]} == {
        "a stand-in ran, so this says nothing about express"
    }
    assert {row["all"]["level"] for row in numbers["comparisons"]["between_classes"]} == {"cant_tell"}
    claims = ("is faster on", "is slower on", "cheaper on", "(faster)", "(slower)", "comes next")
    assert not [claim for claim in claims if claim in page.text]
    assert "“a general bucket”: no emulator has one." in page.text
    assert "A general purpose bucket is the stand-in for express; its figures say nothing about express." in page.text


@pytest.fixture
def lacking(tmp_path, monkeypatch):
    """Builds the report of a run at two sizes without those of its records of which `left_out` says so."""
    monkeypatch.setitem(EXPERIMENTS, sized_run.SIZED.name, sized_run.SIZED)

    def build(left_out):
        folder = sized_run.write(tmp_path / "run", sizes=(1_000, 100_000), parallels=(1,))
        records = map(json.loads, (folder / "records.jsonl").read_text().splitlines())
        kept = [json.dumps(record) + "\n" for record in records if not left_out(record)]
        (folder / "records.jsonl").write_text("".join(kept))
        report.build(folder)
        return json.loads((folder / "statistics.json").read_text()), Page((folder / "report.html").read_text())

    return build


def test_of_one_class_alone_it_is_said_that_the_other_lacks(lacking):
    numbers, page = lacking(lambda record: record["storage"] == "express")
    assert numbers["by_size"] == []
    assert (
        "Without a counterpart, and so not compared: download, 1,000 bytes, 1 at a time, "
        "1,000 objects; 3 more." in page.text
    )
    assert "How many times as fast" not in page.text
    assert page.faults == []


def test_a_size_with_too_few_measurements_is_named_and_the_others_still_tell(lacking):
    numbers, _ = lacking(lambda record: record["size_bytes"] == 1_000 and record["seq"] > 5)
    assert [entry["time"]["words"] for entry in numbers["by_size"]] == [
        f"{verb} is faster on express at 100 KB; too few measurements at 1 KB" for verb in ("reading", "writing")
    ]


def test_of_queries_alone_the_headline_says_which_class_is_the_faster_one(lacking):
    numbers, page = lacking(lambda record: record["operation"] != "count")
    assert "express is the fastest with count, 10,000 bytes" in numbers["verdict"]["headline"]
    [row] = [row for row in numbers["comparisons"]["between_classes"] if row["operation"] == "count"]
    assert f" {1 / row['all']['ratio_of_medians']['value']:.2f} " in page.text.partition("Athena’s own times")[2]


def test_where_no_aws_was_paid_or_without_prices_nothing_is_said_of_cost(local, built):
    (numbers, page), without_prices = local, built(sizes=(1_000, 100_000), parallels=(1,), prices={})
    for series in numbers["by_size"], without_prices[0]["by_size"]:
        assert [entry["cost"] for entry in series] == [None, None]
    assert "USD" not in page.text and "cheap" not in page.text
    assert "No prices are stored with this run, so there are no costs." in without_prices[1].text


def test_what_opening_a_session_took_is_told_apart_from_the_times(aws):
    assert "CreateSession took 41.0 ms per message; it isn’t part of these times and costs." in aws[1].text


def test_queries_are_told_apart_from_functions_and_their_cost_is_of_bytes_scanned(aws, local):
    _, page = aws
    assert "Athena’s own times" in page.text
    assert "0.0318" in page.text  # 7 GB at 5 USD for 2**40 bytes
    assert "per query USD" in page.text and "per query" not in local[1].text
    assert "the bytes scanned, so" not in page.text


def test_a_second_is_priced_by_the_architecture_of_its_own_cell(tmp_path):
    cells = [
        {"cell": name, "concurrency_value": 1, "memory_size": 512, "architecture": name} for name in ("arm64", "x86_64")
    ]
    plan = {"swept": {"architecture": ["arm64", "x86_64"]}, "fixed": {}, "cells": cells}
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "target": "aws", "plan": plan}))
    run = report.load(tmp_path)
    usd = {"lambda_gb_s_arm64": 1024, "lambda_gb_s_x86_64": 2048}
    assert [prices.mb_second_usd(run, usd, key) for key in run.cell_keys()] == [1, 2]
