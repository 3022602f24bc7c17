"""Whether each cell has enough measurements for the conclusion that the experiment is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments import Experiment
from stampede.experiment import MINIMUM_FOR_COMPARISON
from stampede.finding import OK, WARNING, Finding
from stampede.planning.demand import Demand

CHECK = "measurements"


def check(cells: Sequence[Demand], experiment: Experiment) -> list[Finding]:
    """A finding for an experiment that draws conclusions by size, of the cells that count for them; else none."""
    if experiment.by_size is None:
        return []
    name, moves = experiment.by_size.moves
    variable = next(axis.variable for axis in experiment.axes if axis.name == name)
    counts: Counter[str] = Counter()
    for demand in cells:
        if demand.cell.values.get(variable) in moves:
            counts[demand.cell.alike] += demand.cell.messages
    if not counts:
        return []
    least = min(counts.values())
    if least >= MINIMUM_FOR_COMPARISON:
        return [Finding(CHECK, OK, f"{least} or more in each cell; the report needs {MINIMUM_FOR_COMPARISON}")]
    few = f"{least} in the smallest cell; the report draws a conclusion about a size from {MINIMUM_FOR_COMPARISON} on"
    return [Finding(CHECK, WARNING, few, "raise --messages-per-concurrency or --repeats")]
