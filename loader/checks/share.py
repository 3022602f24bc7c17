"""Whether N will run at once for most of a cell's time: what the model says, before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

from experiments import Experiment
from experiments.finding import OK, WARNING, Finding
from loader.cost.demand import Demand
from model.prediction import Prediction

CHECK = "share at full N"
# Below this share of the operations' time, a table of N says more about how N was reached.
LEAST_SHARE = 0.5


def check(cells: Sequence[Demand], experiment: Experiment) -> list[Finding]:
    """A finding for each cell, repeats of one counted once; a single one where the experiment has no model."""
    found = [found for _, found in _findings(cells, experiment)]
    return found or [Finding(CHECK, OK, f"not predicted: the experiment {experiment.name} has no model")]


def warning(cells: Sequence[Demand], experiment: Experiment) -> str:
    """One sentence on the cells of which `check` warns, the one with the smallest share by name; empty without any."""
    low = [(predicted.share_at_n, found) for predicted, found in _findings(cells, experiment) if found.status != OK]
    if not low:
        return ""
    _, lowest = min(low, key=lambda one: one[0])
    more = f" ({len(low) - 1} more: `stampede doctor` with the same options)" if len(low) > 1 else ""
    return f"{CHECK}: {lowest.sentence}{more}"


def _findings(cells: Sequence[Demand], experiment: Experiment) -> list[tuple[Prediction, Finding]]:
    once = {cell.alike: cell for cell in cells}.values()
    return [(cell.predicted, finding(cell, cell.predicted, experiment)) for cell in once if cell.predicted is not None]


def finding(cell: Demand, predicted: Prediction, experiment: Experiment) -> Finding:
    """What is to be expected of one cell, with the advice where less than half of its time is at full N."""
    one, many = experiment.operation
    share = f"{cell.alike}: {_percent(predicted.share_at_n)} of the {many}' time with all {cell.concurrency:,} at once"
    never = f"never all {cell.concurrency:,} at once, {predicted.most_at_once:,} at most"
    reached = never if predicted.time_to_n_s is None else f"which takes {predicted.time_to_n_s:,.0f} s to reach"
    found = f"{share}, {reached}; one {one} takes {predicted.avg_s:.3g} s; what binds: {predicted.binds}"
    if predicted.dead_lettered:
        found += f"; {predicted.dead_lettered:,} of {predicted.count:,} messages end as dead letters"
    is_low = predicted.share_at_n < LEAST_SHARE or predicted.dead_lettered
    return Finding(CHECK, WARNING, found, predicted.advice) if is_low else Finding(CHECK, OK, found)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
