"""What the published figures say about the same N. The verdict on our own is report.statistics.verdict."""

from collections.abc import Mapping

from report import published
from report.phrases import listed
from report.run import Run
from report.spread import Spread
from report.ways import Key


def published_sentence(run: Run, spreads: Mapping[Key, Spread]) -> str | None:
    """How the published means at the largest N of `run` compare with those at its smallest, planned cells included;
    None when the write-up lacks one of them, or there's nothing of ours to set beside it.
    """
    ours = {key for key in spreads if key.is_published_way}
    if not ours:
        return None
    numbers = {key.n for key in [*ours, *run.cell_keys()] if key.is_published_way}
    low, high = min(numbers), max(numbers)
    table = published.download()
    parts = [
        f"{table[memory, high].avg_s / table[memory, low].avg_s:.2f} × with {memory} MB"
        for memory in sorted({key.memory_mb for key in ours})
        if (memory, low) in table and (memory, high) in table
    ]
    if low == high or not parts:
        return None
    return f"Published for AWS in 2025, from N = {low} to N = {high}: {listed(parts)}."
