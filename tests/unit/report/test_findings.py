"""How cells compare, and when no claim is made."""

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

SECONDS = np.linspace(0.9, 1.1, 12)
EMULATED = as_emulated(
    DOWNLOAD.with_(stand_ins={"method": {"stream": StandIn("a double", "A double ran.")}})
)


def findings_of(kind, cells, experiment=DOWNLOAD):
    return [finding for finding in find(cells, experiment) if finding.kind == kind]


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
    ("base", "why"),
    [
        (figures(key(), SECONDS), ""),
        (figures(key(), SECONDS[:9]), "fewer than 10"),
        (figures(key(), SECONDS, size_bytes=1), "amounts"),
        (figures(key(), SECONDS * 1e-10), "no measurable time"),
    ],
)
def test_unlike_or_too_few_measurements_are_not_compared(base, why):
    finding = compared(
        "choice", DOWNLOAD.compare[0], figures(key(method="crt"), SECONDS), base, DOWNLOAD, 1
    )
    assert why in finding.why
    assert (finding.ratio is None) is (finding.level == "unknown") is bool(why)


def test_nothing_is_claimed_where_a_stand_in_ran_or_no_size_is_on_record():
    places = [(1024, n, method, "tmp") for method in ("download_file", "stream") for n in (1, 5)]
    cells = [figures(Cell.at(EMULATED.axes, place), SECONDS) for place in places]
    assert {(row.kind, row.why) for row in find(cells, EMULATED)} == {
        ("choice", STAND_IN_RAN),
        ("scale", ""),
    }
    unsized = [figures(cell.cell, SECONDS, size_bytes=None) for cell in cells]
    assert {row.ratio for row in find(unsized, EMULATED)} == {None}


def test_scales_compare_with_the_smallest_and_choices_with_the_fastest():
    factors = {(1, "download_file"): 2, (5, "download_file"): 1, (9, "download_file"): 3}
    factors |= {(1, "crt"): 1, (1, "mounted"): 3}
    cells = [
        figures(key(n=n, method=method, sink="tmp"), SECONDS * at)
        for (n, method), at in factors.items()
    ]
    samples = {cell.cell: cell.sample for cell in cells}
    findings = find([*cells, figures(key(method="ranges", sink="memory"), SECONDS / 9)], DOWNLOAD)
    # All of a kind hold simultaneously, and for a choice every pair.
    assert [
        (row.kind, row.subject.n, row.subject["method"], row.baseline["method"], row.among)
        for row in findings
    ] == [
        ("choice", 1, "crt", "download_file", 3),
        ("choice", 1, "crt", "mounted", 3),
        ("scale", 5, "download_file", "download_file", 2),
        ("scale", 9, "download_file", "download_file", 2),
    ]
    for row in findings:
        assert row.ratio == speed_ratio(samples[row.subject], samples[row.baseline], row.among)


BELOW, KNEE, PERHAPS = {"below": True}, {"knee": True}, {"knee": False}


@pytest.mark.parametrize(
    ("speeds", "titles"),
    [
        ([[100] * 5, [101] * 5, [99] * 5], [KNEE, {}, {}]),
        # Larger limits, which weren't tried, may gain more.
        ([[10] * 5, [80] * 5, [700] * 5], [BELOW, BELOW, PERHAPS]),
        ([[10] * 5, [700] * 5, [740] * 5], [BELOW, KNEE, {}]),
        # A gain that may be chance.
        ([[10] * 5, [60, 90, 95, 140, 150], [70, 120, 125, 130, 200]], [BELOW, PERHAPS, PERHAPS]),
        ([[10] * 5, [700] * 5, [700] * 4], [None, None, None]),
    ],
)
def test_the_knee_is_a_range_of_the_limits_that_no_larger_one_is_sure_to_beat(speeds, titles):
    places = [Cell.at(COPY.axes, [limit, *[None] * 7]) for limit in (1, 10, 100)]
    samples = [
        Sample(np.array(own), place.words) for own, place in zip(speeds, places, strict=True)
    ]
    cells = [
        figures(place, [1.0] * 5, speeds=own) for place, own in zip(places, samples, strict=True)
    ]
    findings = findings_of("knee", cells, COPY)
    assert [finding.titles for finding in findings] == titles
    assert [finding.ratio.value for finding in findings] == [
        own.median / samples[0].median for own in samples
    ]


PACKAGE = Cell.at(FUNCTION.axes, [1024, 1, "package", *[None] * (len(FUNCTION.axes) - 3)])


@pytest.mark.parametrize(
    ("experiment", "cell", "factor", "levels"),
    [(DOWNLOAD, key(), 2, ["slower"]), (DOWNLOAD, key(), 1, []), (FUNCTION, PACKAGE, 2, [])],
)
def test_first_operations_are_compared_with_later_ones_if_they_differ(
    experiment, cell, factor, levels
):
    """Unless they are separate cells."""
    samples = {"cold": Sample(SECONDS * factor, "cold"), "warm": Sample(SECONDS, "warm")}
    findings = findings_of("start", [figures(cell, SECONDS, **samples)], experiment)
    assert [finding.level for finding in findings] == levels
