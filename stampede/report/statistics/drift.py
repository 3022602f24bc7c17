"""Whether the intervals of comparisons contain what drifts while a sweep runs, in a sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import Experiment
from stampede.experiment import Compare
from stampede.report.statistics.rules import MINIMUM_ROUNDS

# Of what records alone tell apart, such as cold starts and first reads, one kind is the first of its cell.
FIRST_AT_ONE_TIME = (
    "Those that come first in a cell ran at one time: what else went on then is in no interval, and only repeats show "
    "it."
)


def between_cells(compare: Compare, experiment: Experiment) -> bool:
    """Whether it compares planned cells: what records alone tell apart, such as cold and warm, ran in the same cell."""
    return any(axis.variable for axis in experiment.axes if axis.name in compare.axes)


def sentence(compared: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> str:
    """`compared` are rows of statistics.json that compare cells, and `cells` all cells; empty where nothing was
    compared."""
    if not compared:
        return ""
    rounds = [row.get("rounds") for row in compared]
    interleaved = sorted(count for count in rounds if count)
    ends = " to ".join(dict.fromkeys(f"{count:,}" for count in interleaved[:1] + interleaved[-1:]))
    repeats = max(len(cell["repeats"]) for cell in cells)
    if len(interleaved) == len(rounds):
        return f"Drift is in these intervals: the compared cells ran interleaved in {ends} rounds."
    if None not in rounds:
        return f"Drift between repeats is in these intervals: every cell ran {repeats} times."
    in_rounds = any((cell["parallelism"] or {}).get("rounds") for cell in cells)
    few_rounds = f" or have fewer than {MINIMUM_ROUNDS} rounds in common" if in_rounds else ""
    in_turn = f"ran one after the other{few_rounds}, so a difference may be drift"
    if interleaved:
        return (
            f"Drift is in the intervals of {len(interleaved)} of {len(rounds)} comparisons, whose cells ran "
            f"interleaved in {ends} rounds. The cells of the others {in_turn}."
        )
    few = f"{repeats} repeats are too few" if repeats > 1 else "there were no repeats"
    why = f"{few} (--repeats {MINIMUM_ROUNDS})"
    if repeats >= MINIMUM_ROUNDS:
        why = f"not all of them have {MINIMUM_ROUNDS} repeats with records of their rounds"
    return f"Drift between cells isn’t accounted for: the compared ones {in_turn}; {why}."
