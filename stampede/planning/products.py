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
        return [dict(zip(self.values, values, strict=True)) for values in itertools.product(*self.values.values())]


def products(matrix: Matrix) -> list[Product]:
    """Those of `matrix`; all name the same variables as the first, in its order, and maybe others."""
    return [_over(matrix.swept, also) for also in ({}, *matrix.also)]


def replaced(products: Sequence[Product], name: str, given: Sequence[Any]) -> list[Product]:
    """The products with the values `given` to the variable `name`, in their order; the rule is `make_plan`'s."""
    if all(isinstance(value, str) for value in given) and all(name in product.values for product in products):
        all_values = {value for product in products for value in product.values[name]}
        kept = [[value for value in given if value in product.values[name]] for product in products]
        kept[0] = [value for value in given if value in kept[0] or value not in all_values]
        return [_with(product, name, values) for product, values in zip(products, kept, strict=True) if values]
    return [_with(product, name, product.values[name] if name in product.pinned else given) for product in products]


def rest(experiment: Experiment, target: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What nobody set in a cell of these `values`: what the matrix of `target` gives it, and of the axes of the work
    order that have none there their default."""
    giving = experiment.matrices[target].rest
    rest_values: dict[str, Any] = {}
    before: list[Any] = []
    for axis in experiment.axes:
        name = axis.variable
        if values.get(name) is None and (name in giving or axis.in_order):
            rest_values[name] = giving[name]({**values, **rest_values}) if name in giving else axis.default_of(before)
        value = {**values, **rest_values}.get(name)
        before.append(axis.default_of(before) if value is None else value)
    variables = giving.keys() - {axis.variable for axis in experiment.axes} - values.keys()
    return rest_values | {name: giving[name]({**values, **rest_values}) for name in sorted(variables)}


def _over(swept: Mapping[str, Sequence[Any]], also: Mapping[str, Any]) -> Product:
    """The product of `swept` with `also` over it."""
    pinned = frozenset(name for name, values in also.items() if not isinstance(values, tuple))
    laid_over = {name: [values] if name in pinned else list(values) for name, values in also.items()}
    return Product({**{name: list(values) for name, values in swept.items()}, **laid_over}, pinned)


def _with(product: Product, name: str, values: Sequence[Any]) -> Product:
    """`product` with other values for a variable, which then stands last, as it was given last."""
    unchanged = {variable: product.values[variable] for variable in product.values if variable != name}
    return replace(product, values={**unchanged, name: list(values)})
