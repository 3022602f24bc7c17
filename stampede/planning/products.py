"""The products of values of which a matrix consists, what `--set` makes of them, and what nobody set."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments import Experiment, Matrix


@dataclass(frozen=True)
class Product:
    """Every combination of `values`; those of the variables in `pinned` are the only ones that have a meaning here."""

    values: dict[str, list[Any]]
    pinned: frozenset[str] = frozenset()

    def combinations(self) -> list[dict[str, Any]]:
        """Each of them, by variable."""
        return [dict(zip(self.values, one, strict=True)) for one in itertools.product(*self.values.values())]


def products(matrix: Matrix) -> list[Product]:
    """Those of `matrix`; all name the same variables as the first, in its order, and maybe others."""
    return [_over(matrix.swept, also) for also in ({}, *matrix.also)]


def replaced(products: Sequence[Product], name: str, given: Sequence[Any]) -> list[Product]:
    """The products with the values `given` to the variable `name`, in their order; the rule is `make_plan`'s."""
    if all(isinstance(value, str) for value in given) and all(name in one.values for one in products):
        known = {value for one in products for value in one.values[name]}
        own = [[value for value in given if value in one.values[name]] for one in products]
        own[0] = [value for value in given if value in own[0] or value not in known]
        return [_with(one, name, values) for one, values in zip(products, own, strict=True) if values]
    return [_with(one, name, one.values[name] if name in one.pinned else given) for one in products]


def rest(experiment: Experiment, target: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What nobody set in a cell of these `values`: what the matrix of `target` gives it, and of the axes of the work
    order that have none there their default."""
    giving = experiment.matrices[target].rest
    found: dict[str, Any] = {}
    before: list[Any] = []
    for axis in experiment.axes:
        name = axis.variable
        if values.get(name) is None and (name in giving or axis.in_order):
            found[name] = giving[name]({**values, **found}) if name in giving else axis.default_of(before)
        told = {**values, **found}.get(name)
        before.append(axis.default_of(before) if told is None else told)
    others = giving.keys() - {axis.variable for axis in experiment.axes} - values.keys()
    return found | {name: giving[name]({**values, **found}) for name in sorted(others)}


def _over(swept: Mapping[str, Sequence[Any]], also: Mapping[str, Any]) -> Product:
    """The product of `swept` with `also` over it."""
    pinned = frozenset(name for name, values in also.items() if not isinstance(values, tuple))
    laid_over = {name: [values] if name in pinned else list(values) for name, values in also.items()}
    return Product({**{name: list(values) for name, values in swept.items()}, **laid_over}, pinned)


def _with(one: Product, name: str, values: Sequence[Any]) -> Product:
    """`one` with other values for a variable, which then stands last, as it was given last."""
    return replace(one, values={**{key: of for key, of in one.values.items() if key != name}, name: list(values)})
