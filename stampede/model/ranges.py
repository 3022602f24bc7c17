"""How certain a prediction is: the same cell with parameters drawn from their likely ranges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from stampede.model.parameters import Parameter, Parameters

# Sets of parameters to draw: more for a small flood, which is cheap and scatters widely.
FEWEST, MOST, MESSAGES_IN_ALL = 12, 30, 10_000
# Floods under a prediction's own parameters: chance moves small floods further than a few draws
# show. Another flood lies beyond all of k with a probability of 2 / (k + 1), whatever the
# distribution: 1.3 % for 150; for several correlated figures together, below 5 % of the floods.
MOST_FLOODS, FEWEST_FLOODS, MESSAGES_IN_FLOODS = 150, 40, 5_000
# A 95 % interval of a normal distribution extends this many standard deviations to both sides.
DEVIATIONS = 1.96
# A cell that rarely reaches N has a share of 0 in some draws, which has no logarithm.
SMALLEST_RATIO = 0.01


def count(messages: float) -> int:
    """How many sets of parameters a flood of so many messages gets."""
    return int(max(FEWEST, min(MOST, MESSAGES_IN_ALL / messages)))


def floods(messages: float) -> int:
    """How many floods show the effect of chance; 0 for large ones, for which the draws do."""
    number = int(min(MOST_FLOODS, MESSAGES_IN_FLOODS / messages))
    return number if number >= FEWEST_FLOODS else 0


def widened(
    ranges: Mapping[str, tuple[float, float]], floods_figures: Sequence[Mapping[str, float | None]]
) -> dict[str, tuple[float, float]]:
    """The `ranges`, extended to hold the figures of floods under the same parameters."""
    result = dict(ranges)
    for name, (low, high) in ranges.items():
        values = [figures[name] for figures in floods_figures if figures[name] is not None]
        result[name] = (min([low, *values]), max([high, *values]))
    return result


def draws(parameters: Parameters, number: int, seed: int) -> Iterator[Parameters]:
    """`number` sets of parameters, the same for the same seed.

    A parameter's `low` and `high` are the ends of a 95 % interval around its value, on each side
    separately and in proportion; no draw lies outside. A Latin hypercube (McKay, Beckman and
    Conover, Technometrics 21, 1979) draws once from every n-th of each parameter's distribution, so
    that a dozen sets show what a hundred would.
    """
    random = np.random.default_rng([seed, number])
    names = sorted(
        name for name in parameters if parameters.row(name).low < parameters.row(name).high
    )
    quantiles = [(random.permutation(number) + random.random(number)) / number for _ in names]
    for at in range(number):
        yield parameters.with_rows(
            value_at(parameters.row(name), float(of_name[at]))
            for name, of_name in zip(names, quantiles, strict=True)
        )


def value_at(row: Parameter, quantile: float) -> Parameter:
    """The parameter with the value at this quantile of its distribution."""
    deviations = NormalDist().inv_cdf(min(max(quantile, 1e-6), 1 - 1e-6)) / DEVIATIONS
    end = row.high if deviations > 0 else row.low
    return replace(row, value=row.value * (end / row.value) ** min(1.0, abs(deviations)))


def intervals(
    figures: Mapping[str, float | None],
    evaluated: Mapping[str, float | None],
    of_draws: Sequence[Mapping[str, float | None]],
    concurrency: int,
) -> dict[str, tuple[float, float]]:
    """Low and high of each of the `figures` that isn't None.

    `of_draws` are the figures of the draws, `evaluated` those under the parameters' own values,
    both of the whole flood or of the same part. A draw without a figure is skipped. No share
    exceeds 1, and at most `concurrency` run at once.
    """
    ranges, most = {}, {"share_at_n": 1.0, "most_at_once": float(concurrency)}
    for name, value in figures.items():
        own = evaluated[name]
        if value is None or own is None:
            continue
        drawn = [of_draw[name] for of_draw in of_draws if of_draw[name] is not None]
        if own:
            low, high = interval(value, [number / own for number in drawn])
        else:  # zero has no multiple: other parameters may reach the window
            low, high = value, max([value, *drawn])
        ranges[name] = (low, max(float(value), min(high, most.get(name, math.inf))))
    return ranges


def interval(value: float, ratios: Sequence[float]) -> tuple[float, float]:
    """Low and high of a figure whose draws are these multiples of it, wide enough for 95 % of
    log-normally distributed ones. Each side has its own deviation, as if the other mirrored it."""
    logs = [math.log(max(ratio, SMALLEST_RATIO)) for ratio in ratios]
    below, above = sum(min(0.0, log) ** 2 for log in logs), sum(max(0.0, log) ** 2 for log in logs)
    low, high = (math.sqrt(2 * squares / max(1, len(logs))) for squares in (below, above))
    return value * math.exp(-DEVIATIONS * low), value * math.exp(DEVIATIONS * high)
