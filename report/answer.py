"""What the published figures say about the same N. The verdict on our own is report.statistics.verdict."""

from collections.abc import Mapping

from report import published
from report.phrases import listed
from report.run import Key, Run
from report.spread import Spread


def published_sentence(run: Run, spreads: Mapping[Key, Spread]) -> str | None:
    """How the published means at the largest N of `run` compare with those at its smallest, planned cells included;
    None when the write-up lacks one of them, or there's nothing of ours to set beside it.
    """
    if not spreads:
        return None
    numbers = {n for _, n in spreads} | {n for _, n in run.cell_keys()}
    low, high = min(numbers), max(numbers)
    table = published.download()
    parts = [
        f"{table[memory, high].avg_s / table[memory, low].avg_s:.2f} × with {memory} MB"
        for memory in sorted({memory for memory, _ in spreads})
        if (memory, low) in table and (memory, high) in table
    ]
    if low == high or not parts:
        return None
    return f"Published for AWS in 2025, from N = {low} to N = {high}: {listed(parts)}."
