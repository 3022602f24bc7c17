"""Intervals agree with scipy where it does the same, and hold as often as they claim in simulations
with a known truth."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats.mstats import mquantiles

from stampede.report.intervals import (
    CONFIDENCE,
    MANY,
    ROUND_BITS,
    Sample,
    quantile,
    rounds_in_common,
    speed_ratio,
    student_quantile,
    tail_probability,
)

NOISE, DRIFT = 0.1, 0.25


def in_rounds(seconds, rounds, label="cell", name="stack", repeats=1):
    """A sample with this number of rounds in each repeat; another `name` draws other rounds."""
    units = np.repeat(np.arange(rounds * repeats), len(seconds) // (rounds * repeats))
    stacks = [(f"{name} {repeat}", rounds) for repeat in range(repeats)]
    return Sample(seconds, label, (units // rounds << ROUND_BITS) | units % rounds + 1, stacks)


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_quantiles_are_of_type_7(size):
    values = np.sort(np.random.default_rng(size).lognormal(size=size))
    shares = [0, 0.05, 0.25, 0.5, 0.99, 1]
    assert [quantile(values, share) for share in shares] == pytest.approx(
        mquantiles(values, shares, 1, 1)
    )


@pytest.mark.parametrize(("degrees", "most"), [(4, 0.02), (9, 1e-3), (99, 1e-5)])
def test_quantiles_are_those_of_student(degrees, most):
    shares = np.array([0.975, (1 + CONFIDENCE ** (1 / 40)) / 2])
    own = [student_quantile(share, degrees) for share in shares]
    assert own == pytest.approx(stats.t.ppf(shares, degrees), rel=most)
    widened = stats.norm.cdf(-np.sqrt((degrees + 1) / degrees) * stats.t.ppf(0.975, degrees))
    assert tail_probability(degrees + 1) == pytest.approx(widened, rel=0.05)


@pytest.mark.parametrize(
    ("size", "name"), [(10, "median"), (101, "median"), (30, "mean"), (MANY, "mean")]
)
def test_resamples_are_distributed_like_those_of_a_bootstrap_by_the_book(size, name):
    values = np.random.default_rng(size).lognormal(size=size)
    own = getattr(Sample(values, "cell"), f"{name}s")
    book = stats.bootstrap(
        [values], getattr(np, name), n_resamples=2000, method="percentile", rng=1
    )
    assert stats.ks_2samp(own, book.bootstrap_distribution).pvalue > 0.01


def simulated(unit, dice, run):
    """Seconds whose true median is 1, which drift from one `unit` to the next."""
    if unit == "value":
        return Sample(dice.lognormal(0, DRIFT, 10), f"{run}")
    seconds = np.exp(np.repeat(dice.normal(0, DRIFT, 10), 6) + dice.normal(0, NOISE, 60))
    return (
        in_rounds(seconds, 10, name=run)
        if unit == "round"
        else in_rounds(seconds, 2, name=run, repeats=10)
    )


@pytest.mark.parametrize("unit", ["value", "round", "repeat"])
def test_the_interval_of_a_median_holds_it_as_often_as_it_says(unit):
    dice, runs = np.random.default_rng(1), 300
    intervals = [simulated(unit, dice, run).median_interval() for run in range(runs)]
    assert 0.93 <= sum(each.low <= 1 <= each.high for each in intervals) / runs <= 0.999


@pytest.mark.parametrize(("is_interleaved", "least", "most"), [(True, 0, 0.05), (False, 0.3, 1)])
def test_equal_cells_that_drift_differ_in_5_of_100_runs_where_they_are_interleaved(
    is_interleaved, least, most
):
    dice, apart, runs = np.random.default_rng(2), 0, 200
    for run in range(runs):
        noise = np.exp(dice.normal(0, NOISE, (2, 10)))
        drift = np.exp(np.cumsum(dice.normal(0, DRIFT, 20)))
        if is_interleaved:
            sides = [
                in_rounds(own * drift[:10], 10, label, run)
                for own, label in zip(noise, "ab", strict=True)
            ]
        else:
            sides = [
                Sample(own, f"{label}{run}")
                for own, label in zip(noise * drift.reshape(2, 10), "ab", strict=True)
            ]
        apart += speed_ratio(*sides).leaves_1_out
    assert least <= apart / runs <= most


def test_40_simultaneous_ratios_of_equals_all_hold_on_95_of_100_pages():
    dice, pages, excluded = np.random.default_rng(11), 40, 0
    for page in range(pages):
        pairs = [
            [Sample(dice.lognormal(0, 0.2, 20), f"{page} {pair} {side}") for side in "ab"]
            for pair in range(40)
        ]
        excluded += any(speed_ratio(*pair, among=40).leaves_1_out for pair in pairs)
    assert excluded <= 0.05 * pages


def test_draws_are_those_of_the_values_and_of_their_cell():
    values = np.random.default_rng(3).lognormal(size=50)
    same, other = Sample(values[::-1], "a"), Sample(values, "b")
    assert (Sample(values, "a").medians == same.medians).all()
    assert all((each.medians != same.medians).any() for each in (other, same.salted("run")))


TEN, SHORT, ONE_EACH = np.ones(10), in_rounds(np.ones(4), 4), in_rounds(np.ones(10), 1, repeats=5)


@pytest.mark.parametrize(
    ("first", "second", "rounds"),
    [
        (in_rounds(TEN, 10), in_rounds(TEN, 5), 5),
        (in_rounds(TEN, 10), SHORT, None),
        (in_rounds(TEN, 10), Sample(TEN), None),
        (ONE_EACH, ONE_EACH, 0),  # one after the other
    ],
)
def test_drift_is_in_a_ratio_of_cells_that_share_rounds_or_have_repeats(first, second, rounds):
    assert rounds_in_common(first, second) == rounds_in_common(second, first) == rounds
