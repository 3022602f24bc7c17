"""Runs any number of sides in turn, and sums up what each of their processes took."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.download import Side
from bench.measure import Entry, Samples
from stampede.progress import say


def in_turn(sides: Sequence[Side], runs: int, seconds_a_round: int) -> None:
    """Run every side once to warm up, then `runs` rounds of all of them: what else the machine does hits all alike."""
    say(f"{len(sides)} clients in turn, {runs} rounds after one to warm up (about {(runs + 1) * seconds_a_round} s)")
    for side in sides:
        side.run()
    for number in range(1, runs + 1):
        for side in sides:
            measured = side()
            figures = f"{measured['wall_s']:.3f} s, {measured['cpu_s']:.3f} CPU-s"
            say(f"  round {number} {side.label}: {figures}", style="dim")


def median(side: Side, figure: str) -> float:
    """The median of one figure (`wall_s`, `cpu_s`, `peak_mb`) of all runs of a side."""
    return statistics.median(run[figure] for run in side.measured)


def sentence(side: Side) -> str:
    """The medians of the whole process in words."""
    wall_s, cpu_s, peak_mb = (median(side, figure) for figure in ("wall_s", "cpu_s", "peak_mb"))
    return f"{side.label}: {wall_s:.3f} s, {cpu_s:.3f} CPU-s, peak {peak_mb:.0f} MiB"


def entry(name: str, ours: Side, peer: Side, figure: str, unit: str) -> Entry:
    """Compare one figure, of which less is better. Raises BenchError when a side has none."""
    return samples(ours, peer, figure).entry(name, unit, higher_is_better=False)


def samples(ours: Side, peer: Side, figure: str) -> Samples:
    """One figure of every run of two sides."""
    return Samples(*(tuple(run[figure] for run in side.measured) for side in (ours, peer)))
