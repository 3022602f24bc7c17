"""Many claims at once: where nothing differs, a page with forty comparisons claims nothing in 95 of 100 cases."""

from itertools import product

import numpy as np
import pytest

from experiments.download.declaration import DOWNLOAD
from stampede.report.statistics.bootstrap import Sample
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.comparisons import comparisons
from tests.unit.report import handmade_run

# Two methods in so many memory sizes.
PLACES = 40
RANKED = DOWNLOAD.with_(compare=[comparison for comparison in DOWNLOAD.compare if comparison.kind == "choice"])


def quiet(rng, count):
    return rng.lognormal(sigma=0.2, size=count)


def stalling(rng, count):
    """One operation in ten takes ten times as long."""
    return quiet(rng, count) * np.where(rng.random(count) < 0.1, 10, 1)


def cell(key, sample):
    """One of which nothing but its seconds is known, none of them inside full overlap."""
    return Measured(key, {}, sample, Sample(np.array([]), ""), 1, 1.0)


def page(draw, count, rng):
    """The comparisons of a page on which nothing differs."""
    cells = []
    for place, method in product(range(PLACES), ("download_file", "stream")):
        sample = Sample(draw(rng, count), f"{place} {method}")
        cells.append(cell(handmade_run.key(128 + place, method=method, sink="tmp"), sample))
    return comparisons(cells, RANKED)["between_ways"]


def drift(rng, count):
    """Everything becomes half as slow again, or half as fast."""
    return np.linspace(1, rng.choice([1.5, 1 / 1.5]), count)


def step(rng, count):
    """From some moment on everything takes half as long again."""
    return np.where(np.arange(count) < rng.integers(count), 1, 1.5)


def stalls(rng, count):
    """Now and then whatever runs takes five times as long, eight operations in a row."""
    slow = np.convolve(rng.random(count) < 0.02, np.ones(8))[:count] > 0
    return np.where(slow, 5.0, 1.0)


def interleaved(course, rng, places=6, rounds=20):
    """The comparisons of a page of equals that ran in rounds, each of which has one operation of every cell, shuffled,
    on a machine of this `course`."""
    pairs = product(range(places), ("download_file", "stream"))
    keys = [handmade_run.key(128 + place, method=method, sink="tmp") for place, method in pairs]
    order = np.concatenate([rng.permutation(len(keys)) for _ in range(rounds)])
    seconds = quiet(rng, len(order)) * course(rng, len(order))
    samples = [Sample(seconds[order == at], key.words) for at, key in enumerate(keys)]
    return comparisons(list(map(cell, keys, samples)), RANKED)["between_ways"]


def leaves_1_out(row):
    ratio = row["all"]["ratio_of_medians"]
    return not ratio["low"] <= 1 <= ratio["high"]


@pytest.mark.parametrize(("draw", "count"), [(quiet, 20), (stalling, 10)])
def test_of_pages_with_forty_comparisons_of_equals_5_in_100_claim_anything(draw, count):
    rng, pages = np.random.default_rng(count), 20
    assert sum(any(map(leaves_1_out, page(draw, count, rng))) for _ in range(pages)) <= 0.05 * pages


@pytest.mark.parametrize("course", [drift, step, stalls])
def test_interleaved_equals_on_a_machine_that_drifts_steps_or_stalls_are_called_so_in_5_of_100_pages(course):
    rng, pages = np.random.default_rng(11), 40
    assert sum(any(map(leaves_1_out, interleaved(course, rng))) for _ in range(pages)) <= 0.05 * pages


def test_a_difference_of_a_half_is_still_seen_among_forty():
    rng = np.random.default_rng(3)
    times = {"download_file": 1.0, "stream": 1.5}
    cells = []
    for place, method in product(range(PLACES), times):
        sample = Sample(times[method] * quiet(rng, 40), f"{place} {method}")
        cells.append(cell(handmade_run.key(128 + place, method=method, sink="tmp"), sample))
    levels = [row["all"]["level"] for row in comparisons(cells, RANKED)["between_ways"]]
    assert levels.count("slower") >= 0.9 * PLACES


def test_one_comparison_has_the_interval_of_one():
    rng = np.random.default_rng(2)
    ours, base = (Sample(quiet(rng, 20), name) for name in ("ours", "base"))
    samples = {"download_file": base, "stream": ours}
    cells = [cell(handmade_run.key(method=method, sink="tmp"), sample) for method, sample in samples.items()]
    [row] = comparisons(cells, RANKED)["between_ways"]
    assert row["together"] == 1
    low, high = (np.quantile(ours.medians / base.medians, share) for share in (0.0167, 0.9833))
    assert row["all"]["ratio_of_medians"]["low"] == pytest.approx(low, rel=0.01)
    assert row["all"]["ratio_of_medians"]["high"] == pytest.approx(high, rel=0.01)
