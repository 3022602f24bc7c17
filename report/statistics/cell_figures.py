"""All figures of one cell, and the samples that comparisons between cells need."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from report.measured import client, is_size
from report.spread import quantile
from report.statistics import distribution, parallelism, rules
from report.statistics.bootstrap import Sample
from report.statistics.cold import cold_against_warm
from report.statistics.selection import Cell, Record
from report.ways import Key, as_figures, key_words


@dataclass(frozen=True)
class Measured:
    """One cell: its figures as they stand in statistics.json, and its samples of seconds.

    `object_bytes` is the size that its downloads had in common, None when they differ or don't say.
    """

    key: Key
    figures: dict[str, Any]
    everything: Sample
    inside: Sample
    object_bytes: int | None


def measured(cell: Cell) -> Measured:
    """Everything that can be said of one cell on its own."""
    label = key_words(cell.key)
    parts = cell.by_repeat()
    timed = {name: parallelism.measure(part) for name, part in parts.items()}
    overlapping = [one for one in timed.values() if one]
    inside = [record for one in overlapping for record in one.inside]
    everything = Sample(cell.seconds, f"{label}, all")
    inside_sample = Sample((r["download_time_seconds"] for r in inside), f"{label}, inside the window")
    repeats = [_repeat(name, cell.repeat_of(name), part, timed[name]) for name, part in parts.items()]
    figures = {
        **as_figures(cell.key),
        **_counts(cell),
        **_group(cell.downloads, everything),
        "client": asdict(client(cell.downloads)),
        "repeats": repeats,
        "between_repeats": _between(repeats),
        "parallelism": parallelism.combined(overlapping),
        "inside_window": {"count": len(inside)} | _group(inside, inside_sample),
        "cold": cold_against_warm(cell.downloads, label),
    }
    return Measured(cell.key, figures, everything, inside_sample, _common_size(cell.downloads))


def _counts(cell: Cell) -> dict[str, Any]:
    attempts = Counter(_attempt(record) for record in cell.downloads)
    return {
        "count": len(cell.downloads),
        "duplicates": len(cell.duplicates),
        "errors": len(cell.errors),
        "warm_ups": len(cell.warm_ups),
        "warm_up_errors": sum(record.get("status") == "error" for record in cell.warm_ups),
        "sent": cell.sent,
        "attempts": {name: attempts[name] for name in sorted(attempts, key=lambda name: (len(name), name))},
        "retried": sum(count for name, count in attempts.items() if name not in ("1", "unknown")),
    }


def _attempt(record: Record) -> str:
    attempt = record.get("attempt")
    return str(attempt) if type(attempt) is int else "unknown"


def _group(downloads: list[Record], sample: Sample) -> dict[str, Any]:
    seconds = distribution.seconds(sample)
    return {"seconds": seconds, "mbit_per_s": distribution.speed(downloads, seconds["mean_interval"])}


def _repeat(name: str, number: int | None, part: Cell, timed: parallelism.Repeat | None) -> dict[str, Any]:
    ordered = sorted(part.seconds)
    return {
        "cell": name,
        "repeat": number,
        "count": len(ordered),
        "mean_s": distribution.mean(ordered) if ordered else None,
        "median_s": quantile(ordered, 0.5) if ordered else None,
        "parallelism": parallelism.repeat_figures(timed) if timed else None,
    }


def _between(repeats: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How far the means of the repeats lie apart; None for fewer than two with downloads."""
    means = [one["mean_s"] for one in repeats if one["mean_s"] is not None]
    if len(means) < 2:
        return None
    lowest, highest = min(means), max(means)
    ratio = highest / lowest if lowest >= rules.SHORTEST_S else None
    return {"count": len(means), "lowest_mean_s": lowest, "highest_mean_s": highest, "ratio": ratio}


def _common_size(downloads: list[Record]) -> int | None:
    sizes = [record.get("bytes") for record in downloads]
    return sizes[0] if sizes and all(map(is_size, sizes)) and min(sizes) == max(sizes) else None
