"""How sure a prediction is: the same cell again under parameters drawn from where their true values may lie."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from model.parameters import Parameters

# Sets of parameters that are drawn.
DRAWS = 12
# A 95 % interval of a normal distribution is so many of its standard deviations to both sides.
DEVIATIONS = 1.96


def draws(parameters: Parameters, seed: int, number: int = DRAWS) -> Iterator[Parameters]:
    """`number` sets of parameters, the same for the same seed.

    A parameter's `low` and `high` are taken for the ends of a 95 % interval around its value, on each side for itself
    and in proportion; none lies outside. A Latin hypercube (McKay, Beckman and Conover, Technometrics 21, 1979): of
    each parameter every n-th of its distribution is drawn from once, so that a dozen sets tell what a hundred would.
    """
    random = np.random.default_rng([seed, number])
    names = sorted(name for name in parameters if parameters.row(name).low < parameters.row(name).high)
    quantiles = [(random.permutation(number) + random.random(number)) / number for _ in names]
    for at in range(number):
        yield parameters.with_rows(
            replace(parameters.row(name), value=drawn(parameters, name, float(one[at])))
            for name, one in zip(names, quantiles, strict=True)
        )


def drawn(parameters: Parameters, name: str, quantile: float) -> float:
    """The value of a parameter at a quantile of what it may be."""
    row = parameters.row(name)
    deviations = NormalDist().inv_cdf(min(max(quantile, 1e-6), 1 - 1e-6)) / DEVIATIONS
    end = row.high if deviations > 0 else row.low
    return row.value * (end / row.value) ** min(1.0, abs(deviations))


def intervals(
    figures: Mapping[str, float | None],
    evaluated: Mapping[str, float | None],
    others: Sequence[Mapping[str, float | None]],
    concurrency: int,
) -> dict[str, tuple[float, float]]:
    """Low and high of each of the `figures` that there is. `others` are what draws gave where the parameters' own
    values gave `evaluated`, of the whole or of a part; what doesn't have a figure tells nothing of it. No share is
    above 1, and no more than `concurrency` run at once."""
    most = {"share_at_n": 1.0, "most_at_once": float(concurrency)}
    found = {}
    for name, value in figures.items():
        own = evaluated[name]
        if value is None or own is None:
            continue
        factor = value / own if own else 1.0
        drawn_ones = [factor * one[name] for one in others if one[name] is not None]
        found[name] = interval(value, drawn_ones, most.get(name, math.inf))
    return found


def interval(value: float, others: Sequence[float], most: float = math.inf) -> tuple[float, float]:
    """Low and high of a figure: to each side so far that 95 % of normally distributed ones would lie within. Each side
    has a deviation of its own, as if the other side were its mirror image."""
    low, high = (
        math.sqrt(2 * sum(max(0.0, side * (one - value)) ** 2 for one in others) / max(1, len(others)))
        for side in (-1, 1)
    )
    return max(0.0, value - DEVIATIONS * low), max(value, min(most, value + DEVIATIONS * high))
