"""Which comparisons are read together: all that one section of the page makes."""

from collections.abc import Sequence
from itertools import combinations

from experiments import Experiment
from stampede.cell import Cell, ignored_axes
from stampede.experiment import Compare, is_of_n
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.rules import MINIMUM_FOR_COMPARISON

# The section that shows every scale.
THROUGHPUT = "throughput"
# Two cells, and whether their samples inside full overlap are compared.
Pair = tuple[frozenset[Cell], bool]


def sizes(cells: Sequence[Measured], experiment: Experiment) -> dict[str, int]:
    """How many comparisons of `cells` are read together with those of each Compare, by its name.

    On a scale that is each cell with its base, and where the scale is N, inside full overlap too. Of a choice it is
    every pair: which variant is the fastest, and so which two are compared, is read off the data.
    """
    sections: dict[str, set[Pair]] = {}
    pairs: dict[str, set[Pair]] = {}
    for compare in experiment.compare:
        # Of what the embedded AWS ignores nothing is claimed.
        if compare.axes[0] in ignored_axes(experiment.axes):
            pairs[compare.name] = set()
            continue
        section = compare.section if compare.kind == "choice" else THROUGHPUT
        pairs[compare.name] = sections.setdefault(section, set())
        for group in groups(cells, compare):
            pairs[compare.name] |= _pairs(group, compare, inside=False)
            if is_of_n(experiment, compare):
                pairs[compare.name] |= _pairs(group, compare, inside=True)
    return {name: max(1, len(own)) for name, own in pairs.items()}


def groups(cells: Sequence[Measured], compare: Compare) -> list[list[Measured]]:
    """The cells that differ in what is compared alone, each group sorted by key."""
    alike: dict[tuple[object, ...], list[Measured]] = {}
    for cell in sorted(cells, key=lambda cell: cell.key):
        alike.setdefault(cell.key.without(compare.axes), []).append(cell)
    return list(alike.values())


def _pairs(group: Sequence[Measured], compare: Compare, *, inside: bool) -> set[Pair]:
    samples = {cell.key: cell.inside if inside else cell.everything for cell in group}
    keys = [key for key, sample in samples.items() if len(sample) >= MINIMUM_FOR_COMPARISON]
    if compare.kind == "choice":
        return {(frozenset(pair), inside) for pair in combinations(keys, 2)}
    base = group[0].key
    return {(frozenset((base, key)), inside) for key in keys if base in keys and key != base}
