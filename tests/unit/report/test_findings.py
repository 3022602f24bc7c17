"""What cells say against each other, and when they say nothing."""

import numpy as np
import pytest

from experiments.copy.declaration import COPY
from experiments.download.declaration import DOWNLOAD
from experiments.function.declaration import FUNCTION
from stampede.cell import Cell, as_emulated
from stampede.experiment import StandIn
from stampede.report.findings import STAND_IN_RAN, compared, find, level_of
from stampede.report.intervals import Estimate, Sample, speed_ratio
from tests.unit.report.handmade_run import figures, key

METHODS = DOWNLOAD.compare[0]
SECONDS = np.linspace(0.9, 1.1, 12)
EMULATED = as_emulated(DOWNLOAD.with_(stand_ins={"method": {"stream": StandIn("a double", "A double ran.")}}))


@pytest.mark.parametrize(
    ("low", "high", "level"),
    [
        (0.91, 1.1, "holds"),
        (0.5, 0.89, "slower"),
        (0.5, 0.91, "unclear"),
        (1.12, 2, "faster"),
        (1.05, 2, "unclear"),
        (None, None, "unknown"),
    ],
)
def test_a_level_is_what_the_whole_interval_allows(low, high, level):
    assert level_of(Estimate(1.0, low, high)) == level


@pytest.mark.parametrize(
    ("seconds", "changes", "why"),
    [
        (SECONDS, {}, ""),
        (SECONDS[:9], {}, "fewer than 10"),
        (SECONDS, {"size_bytes": 1}, "amounts"),
        (SECONDS, {"size_bytes": None}, "amounts"),
        (SECONDS * 1e-10, {}, "no measurable time"),
    ],
)
def test_what_is_not_alike_or_too_few_is_not_compared(seconds, changes, why):
    base = figures(key(), seconds, **changes)
    finding = compared("choice", METHODS, figures(key(method="crt"), SECONDS), base, DOWNLOAD, 1)
    assert why in finding.why
    assert (finding.ratio is None) is (finding.level == "unknown") is bool(why)


def test_nothing_is_claimed_where_a_stand_in_ran():
    cells = [
        figures(Cell.at(EMULATED.axes, (1024, n, method, "tmp")), SECONDS)
        for method in ("download_file", "stream")
        for n in (1, 5)
    ]
    whys = {(finding.kind, finding.why) for finding in find(cells, EMULATED)}
    assert whys == {("choice", STAND_IN_RAN), ("scale", "")}


def test_each_of_a_scale_is_set_against_the_smallest_and_each_choice_against_the_fastest_of_one_sink():
    factors = {(1, "download_file"): 2, (5, "download_file"): 1, (9, "download_file"): 3}
    factors |= {(1, "crt"): 1, (1, "mounted"): 3}
    cells = [figures(key(n=n, method=method, sink="tmp"), SECONDS * at) for (n, method), at in factors.items()]
    cells.append(figures(key(method="ranges", sink="memory"), SECONDS / 9))
    rows = [
        (finding.kind, finding.subject.n, finding.subject["method"], finding.baseline["method"], finding.ratio.value)
        for finding in find(cells, DOWNLOAD)
    ]
    assert rows == [
        ("choice", 1, "crt", "download_file", pytest.approx(2)),
        ("choice", 1, "crt", "mounted", pytest.approx(3)),
        ("scale", 5, "download_file", "download_file", pytest.approx(2)),
        ("scale", 9, "download_file", "download_file", pytest.approx(2 / 3)),
    ]


def test_ratios_of_a_kind_hold_together_and_of_a_choice_every_pair():
    cells = [figures(key(n=n, method=method), SECONDS * n) for n in (1, 5) for method in ("download_file", "crt", "go")]
    samples = {cell.cell: cell.sample for cell in cells}
    findings = find(cells, DOWNLOAD)
    assert {(finding.kind, finding.among) for finding in findings} == {("choice", 6), ("scale", 3)}
    for finding in findings:
        assert finding.ratio == speed_ratio(samples[finding.subject], samples[finding.baseline], finding.among)


def page_of_equals(run, factor=1.0):
    """Two methods at five N that ran interleaved in twelve rounds on a machine that drifts."""
    dice, cells = np.random.default_rng(run), []
    for n in (1, 5, 10, 50, 100):
        drift = np.exp(np.cumsum(dice.normal(0, 0.1, 12)))
        for method in ("download_file", "crt"):
            seconds = drift * dice.lognormal(0, 0.1, 12) * (factor if method == "crt" else 1)
            stacks = [(f"{run} {n}", 12)]
            sample = Sample(seconds, f"{n} {method}", np.arange(1, 13), stacks)
            cells.append(figures(key(n=n, method=method), sample=sample))
    return [finding for finding in find(cells, DOWNLOAD) if finding.kind == "choice"]


def test_of_twenty_pages_of_two_equal_methods_four_claim_something_at_most():
    pages = [page_of_equals(run) for run in range(20)]
    excluded = [[finding.ratio.leaves_1_out for finding in page] for page in pages]
    assert sum(map(any, excluded)) <= 4
    assert np.mean(excluded) <= 0.05


def test_a_method_that_takes_half_as_long_again_is_seen_on_such_a_page():
    levels = [finding.level for run in range(5) for finding in page_of_equals(run, 1.5)]
    assert levels.count("faster") >= 0.9 * len(levels)


@pytest.mark.parametrize(
    ("speeds", "titles"),
    [
        ([[100] * 5, [101] * 5, [99] * 5], [{"knee": True}, {}, {}]),
        ([[10] * 5, [80] * 5, [700] * 5], [{"below": True}, {"below": True}, {"knee": True}]),
        ([[10] * 5, [700] * 5, [740] * 5], [{"below": True}, {"knee": True}, {}]),
        # A gain that chance may explain.
        (
            [[10] * 5, [60, 90, 95, 140, 150], [70, 120, 125, 130, 200]],
            [{"below": True}, {"knee": False}, {"knee": False}],
        ),
        ([[10] * 5, [700] * 5, [700] * 4], [None, None, None]),
    ],
)
def test_the_knee_is_a_range_of_the_limits_that_no_larger_one_is_sure_to_beat(speeds, titles):
    cells = [
        figures(Cell.at(COPY.axes, [limit, *[None] * 7]), [1.0] * 5, speeds=Sample(np.array(own), f"{limit}"))
        for limit, own in zip((1, 10, 100), speeds, strict=True)
    ]
    findings = [finding for finding in find(cells, COPY) if finding.kind == "knee"]
    assert [finding.titles for finding in findings] == titles
    assert all(("fewer than" in finding.why) is (finding.titles is None) for finding in findings)
    assert [finding.ratio.value for finding in findings][1:] == [
        np.median(own) / np.median(speeds[0]) for own in speeds[1:]
    ]


PACKAGE = Cell.at(FUNCTION.axes, [1024, 1, "package", *[None] * (len(FUNCTION.axes) - 3)])


@pytest.mark.parametrize(
    ("experiment", "cell", "factor", "levels"),
    [(DOWNLOAD, key(), 2, ["slower"]), (DOWNLOAD, key(), 1, []), (FUNCTION, PACKAGE, 2, [])],
)
def test_first_operations_are_set_against_later_ones_where_they_differ(experiment, cell, factor, levels):
    """And where they aren't cells of their own."""
    samples = {"cold": Sample(SECONDS * factor, "cold"), "warm": Sample(SECONDS, "warm")}
    findings = find([figures(cell, SECONDS, **samples)], experiment)
    assert [finding.level for finding in findings if finding.kind == "start"] == levels
