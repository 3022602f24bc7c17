"""Which comparisons are read together: all that one section of the page makes."""

from collections.abc import Sequence
from itertools import combinations

from experiments import Experiment
from stampede.experiment.declaration import Compare, is_of_n
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.rules import MINIMUM_FOR_COMPARISON
from stampede.runs.cell_key import Key, ignored_axes

# The section that shows every scale.
THROUGHPUT = "throughput"
# Two cells, and which of their samples are compared.
Pair = tuple[frozenset[Key], str]


def sizes(cells: Sequence[Measured], experiment: Experiment) -> dict[str, int]:
    """How many comparisons of `cells` are read together with those of each Compare, by its name.

    On a scale that is each cell with its base, and where the scale is N, inside full overlap too. Of a choice it is
    every pair: which variant is the fastest, and so which two are compared, is read off the data.
    """
    sections: dict[str, set[Pair]] = {}
    found = {}
    for compare in experiment.compare:
        # Of what the embedded AWS ignores nothing is claimed.
        if compare.axes[0] in ignored_axes(experiment.axes):
            found[compare.name] = set()
            continue
        section = compare.section if compare.kind == "choice" else THROUGHPUT
        found[compare.name] = sections.setdefault(section, set())
        for group in groups(cells, compare):
            found[compare.name] |= _pairs(group, compare, is_of_n(experiment, compare))
    return {name: max(1, len(pairs)) for name, pairs in found.items()}


def groups(cells: Sequence[Measured], compare: Compare) -> list[list[Measured]]:
    """The cells that differ in what is compared alone, each group sorted by key."""
    found: dict[tuple[object, ...], list[Measured]] = {}
    for cell in sorted(cells, key=lambda one: one.key):
        found.setdefault(cell.key.without(compare.axes), []).append(cell)
    return list(found.values())


def _pairs(group: Sequence[Measured], compare: Compare, is_n: bool) -> set[Pair]:
    found: set[Pair] = set()
    for kind in ("everything", "inside") if is_n else ("everything",):
        keys = [one.key for one in group if len(getattr(one, kind)) >= MINIMUM_FOR_COMPARISON]
        pairs = combinations(keys, 2)
        if compare.kind == "scale":
            pairs = ((group[0].key, key) for key in keys[1:] if keys[0] == group[0].key)
        found |= {(frozenset(pair), kind) for pair in pairs}
    return found
