"""What the model predicted beside what was measured: how far apart they are, and whether by more than it said."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments import Axis, Experiment
from stampede.cell import Cell, distinguishing
from stampede.phrases import significant
from stampede.report.columns import none_of, together
from stampede.report.run import Run
from stampede.report.statistics import rules
from stampede.report.statistics.bootstrap import interval
from stampede.report.statistics.cell_figures import Measured, measured
from stampede.report.statistics.selection import CellRecords
from stampede.runs.prediction import FIGURES, Forecast

Figures = Mapping[str, Any]

# Records hold whole milliseconds.
RESOLUTION_S = 0.001
# Below it nothing can be told in proportion.
LEAST = {"time_to_n_s": RESOLUTION_S, "span_s": RESOLUTION_S}
# So much of the span earlier or later decides nothing, nor of the time in full overlap: clocks and hand-overs do it.
EARLY_OR_LATE = 0.01
# The standard error of an end of an interval is that of the resamples' quantile: sqrt(p (1 - p) / n) over the density
# there, 1.5 % of the interval's width for a normal distribution, p = 0.025 and n = 2,000. Two of these.
RESAMPLING = 0.03
NEVER = "never"
SENTENCES = {
    "avg_s": "{measured} s for one {one} ({predicted} s predicted{off})",
    "most_at_once": "a peak concurrency of {measured} ({predicted} predicted{off})",
    "time_to_n_s": "N reached after {measured} s ({predicted} s predicted{off})",
    "share_at_n": "{measured} % of the {one} time in full overlap ({predicted} % predicted{off})",
    "span_s": "{measured} s elapsed ({predicted} s predicted{off})",
}


def axes_of(experiment: Experiment) -> list[Axis]:
    """The axes of what is predicted: a planned cell, without what only its records tell."""
    return [axis for axis in experiment.axes if axis.variable]


def prediction(run: Run, cells: Sequence[CellRecords], figures: Sequence[Measured]) -> dict[str, Any] | None:
    """What statistics.json says of it; None where nothing was predicted.

    Of each planned cell that was finished, with a prediction and a record, each of FIGURES is null or {"predicted",
    "low", "high", "measured", "interval" {"low", "high"}, "difference" (of the predicted, 0.1 for 10 % more), "inside"
    (null where the model gave no range)}. `words` is the answer in a sentence.
    """
    if run.prediction is None:
        return None
    axes = axes_of(run.experiment)
    forecasts: dict[Cell, Forecast] = {}
    for name, forecast in run.prediction.cells.items():
        if (key := run.key_of(name)) is not None:
            forecasts.setdefault(key.on(axes), forecast)
    planned: dict[Cell, list[tuple[CellRecords, Measured]]] = {}
    for cell, own in zip(cells, figures, strict=True):
        planned.setdefault(cell.key.on(axes), []).append((cell, own))
    rows, partial = [], {key.on(axes) for name in run.unfinished if (key := run.key_of(name)) is not None}
    for key, parts in planned.items():
        whole = _whole(parts, run.experiment) if key in forecasts and key not in partial else None
        if whole and (whole.figures["count"] or whole.figures["parallelism"]):
            beside = _beside(forecasts[key], _own(whole, key.n), key.n)
            rows.append({**key.figures(), **beside, "binds": forecasts[key].binds})
    head = {"place": run.prediction.place, "seed": run.prediction.seed, "date": run.prediction.date}
    return {**head, "words": answer(rows, run.experiment), "cells": rows}


def _whole(parts: Sequence[tuple[CellRecords, Measured]], experiment: Experiment) -> Measured:
    """A planned cell: where only records tell its parts apart, of all of them together."""
    (first, figures), *further = parts
    if not further:
        return figures
    kinds = ("done", "duplicates", "errors", "warm_ups")
    whole = {kind: together(*(getattr(cell, kind) for cell, _ in parts)) for kind in kinds}
    return measured(replace(first, **whole, beside=none_of(first.beside)), experiment)


def _own(whole: Measured, n: int) -> dict[str, tuple[float | None, list[float | None]]]:
    """Each figure as it was measured, and what its own interval holds: that of the mean, and every repeat."""
    own: dict[str, tuple[float | None, list[float | None]]] = {}
    figures, sample, mean_s = whole.figures, whole.everything, None
    if figures["count"]:
        mean_s, around = figures["seconds"]["mean_s"], []
        if repeats := figures["between_repeats"]:
            around += [repeats["lowest_mean_s"], repeats["highest_mean_s"]]
        # Few operations may hide a stall, so for a reader this interval is none; for a miss it is the least there is.
        if len(sample) >= rules.MINIMUM_FOR_INTERVAL:
            around += interval(sample.means, sample.size).values()
        own["avg_s"] = (mean_s, [mean_s, *around])
    if figures["parallelism"]:
        together = _overlap(figures["parallelism"], n)
        apart = [_overlap(repeat["parallelism"], n) for repeat in figures["repeats"] if repeat["parallelism"]]
        own |= {name: (value, [overlap[name] for overlap in apart]) for name, value in together.items()}
        if n == 1 and mean_s:  # one operation after the other: as uncertain, in proportion, as their mean
            span_s, spans = own["span_s"]
            own["span_s"] = (span_s, [*spans, *(span_s * near_s / mean_s for near_s in own["avg_s"][1][1:])])
    return own


def _overlap(parallelism: Figures, n: int) -> dict[str, float | None]:
    """The overlap of a cell or of one of its repeats, as the model means it; None for an N that was never reached."""
    to_n_ms, window, share = parallelism["time_to_full_ms"], parallelism["window"], 0.0
    if window:
        busy_ms = parallelism["mean_at_once"] * parallelism["span_ms"]
        share = min(1.0, window["mean_at_once"] * window["length_ms"] / busy_ms)
    return {
        # More than N is a matter of clocks.
        "most_at_once": min(parallelism["most_at_once"], n),
        "time_to_n_s": None if to_n_ms is None else to_n_ms / 1000,
        "share_at_n": share,
        "span_s": parallelism["span_ms"] / parallelism.get("repeats", 1) / 1000,
    }


def _beside(
    forecast: Forecast, own: Mapping[str, tuple[float | None, list[float | None]]], n: int
) -> dict[str, dict[str, Any] | None]:
    rows: dict[str, dict[str, Any] | None] = dict.fromkeys(FIGURES)
    span_s, _ = own.get("span_s", (0.0, []))
    resampled = {"avg_s", "span_s"} if n == 1 else {"avg_s"}
    slack = {
        "time_to_n_s": max(RESOLUTION_S, EARLY_OR_LATE * span_s),
        "share_at_n": EARLY_OR_LATE,
        "span_s": RESOLUTION_S,
    }
    for name in resampled & own.keys():
        ends = [end for end in own[name][1] if end is not None]
        slack[name] = slack.get(name, 0.0) + RESAMPLING * (max(ends) - min(ends))
    for name, (value, around) in own.items():
        predicted = forecast.values[name]
        known = [end for end in around if end is not None]
        low, high = forecast.ranges.get(name, (None, None))
        comparable = value is not None and predicted is not None and predicted >= LEAST.get(name, rules.SHORTEST_S)
        rows[name] = {
            "predicted": predicted,
            "low": low,
            "high": high,
            "measured": value,
            "interval": {"low": min(known), "high": max(known)} if len(around) > 1 and known else None,
            "difference": value / predicted - 1 if comparable else None,
            "inside": _is_inside(name, forecast, around, n, slack.get(name, 0.0)),
        }
    return rows


def _is_inside(name: str, forecast: Forecast, around: Sequence[float | None], n: int, slack: float) -> bool | None:
    """Whether anything of what was measured, give or take `slack`, lies in the range; None where there is none."""
    known = [end for end in around if end is not None]
    if name == "time_to_n_s":
        at_once = forecast.values["most_at_once"]
        least, most = forecast.ranges.get("most_at_once", (at_once, at_once))
        if len(known) < len(around) and (forecast.values[name] is None or least < n):
            return True  # N wasn't reached, and the model didn't say that it would be
        if known and forecast.values[name] is None and most >= n:
            return True  # or it was, and the model didn't rule that out
    if name not in forecast.ranges:
        return None if known and forecast.values[name] is not None else False
    low, high = forecast.ranges[name]
    return bool(known) and min(known) - slack <= high and low <= max(known) + slack


def answer(rows: Sequence[Figures], experiment: Experiment) -> str:
    """In how many cells the mean seconds, or only their interval, lay within the range, and where they were furthest
    off."""
    timed = [row for row in rows if row["avg_s"] and row["avg_s"]["low"] is not None]
    if not timed:
        return "No finished cell has both a prediction with a range and a time, so there is nothing to compare."
    outside = [row for row in timed if not row["avg_s"]["inside"]]
    worst = max(outside or timed, key=lambda row: _apart("avg_s", row))
    figures = worst["avg_s"]
    clauses = [
        f"{text('avg_s', figures['predicted'])} s predicted ({between('avg_s', figures)})",
        f"{text('avg_s', figures['measured'])} s measured",
    ]
    within = [row for row in timed if row["avg_s"]["inside"] and not is_near(row["avg_s"])]
    if figures["interval"] and figures["inside"] and worst not in within:
        clauses[-1] += f" (interval {between('avg_s', figures['interval'])})"
    if figures["difference"] is not None:
        clauses.append(percent(figures["difference"]))
    if len(timed) == 1:
        result = "lies within" if within else "misses" if outside else "lies outside, but its interval reaches into,"
        return f"The mean of the only cell {result} the predicted range: {', '.join(clauses)}."
    cells = f"all {len(timed)} cells" if len(within) == len(timed) else f"{len(within)} of {len(timed)} cells"
    if reaching := len(timed) - len(within) - len(outside):
        cells += f", and its interval reaches into that range in {reaching} more"
    kind = "only miss" if len(outside) == 1 else "largest miss" if outside else "largest difference"
    most = f"its {kind} is with {_named(worst, rows, experiment)}"
    return f"The mean lies within the predicted range in {cells}; {most}: {', '.join(clauses)}."


def misses(predicted: Figures | None, experiment: Experiment) -> list[str]:
    """The cells whose prediction missed by more than its stated uncertainty, the furthest off first, each with the
    figure that is so most."""
    missed, rows = [], predicted["cells"] if predicted else ()
    for row in rows:
        outside = [(_apart(name, row), name) for name in FIGURES if row[name] and row[name]["inside"] is False]
        if outside:
            apart, name = max(outside, key=lambda miss: miss[0])
            missed.append((apart, f"{_sentence(name, row[name], experiment)} with {_named(row, rows, experiment)}"))
    return [words for _, words in sorted(missed, key=lambda miss: -miss[0])]


def text(name: str, value: float | None) -> str:
    """One of FIGURES for reading, without its unit; `never` for None, shares in percent."""
    if value is None:
        return NEVER
    if name in ("most_at_once", "share_at_n"):
        return f"{value:,.0f}" if name == "most_at_once" else f"{100 * value:.0f}"
    # What is measured in milliseconds has no finer digits; above 0.1 s, three significant digits are no finer.
    return significant(value if name == "avg_s" or value >= 0.1 else round(value, 3))


def between(name: str, row: Figures) -> str:
    """The range of a prediction for reading, without its unit; "" where it has none."""
    if row["low"] is None:
        return ""
    low, high = (text(name, row[end]) for end in ("low", "high"))
    return low if low == high else f"{low} to {high}"


def percent(difference: float) -> str:
    """A relative difference for reading: `+28 %`, `−3 %`; `24 ×` for more than ten times as much."""
    rounded = round(100 * difference)
    if rounded >= 900:
        return f"{difference + 1:,.0f} ×"
    return f"{'+' if rounded > 0 else '−' if rounded < 0 else ''}{abs(rounded):,} %"


def is_near(row: Figures) -> bool:
    """Whether a figure matches its range only by its interval or the tolerance."""
    if not row["inside"] or None in (row["low"], row["measured"]):
        return False
    return not row["low"] <= row["measured"] <= row["high"]


def _sentence(name: str, row: Figures, experiment: Experiment) -> str:
    """How one figure missed."""
    measured, predicted = text(name, row["measured"]), between(name, row) or text(name, row["predicted"])
    operation = experiment.operation[0]
    if measured == NEVER:
        return f"N never reached (predicted after {predicted} s)"
    if predicted == NEVER:
        what = "N reached after" if name == "time_to_n_s" else f"one {operation} succeeded in"
        return f"{what} {measured} s (predicted: never)"
    # The difference is that from what was predicted, and not from the end of its range.
    expected, off = text(name, row["predicted"]), "" if row["difference"] is None else f"; {percent(row['difference'])}"
    span = f", {predicted}" if predicted != expected else ""
    return SENTENCES[name].format(measured=measured, predicted=expected, off=f"{span}{off}", one=operation)


def _apart(name: str, row: Figures) -> float:
    """How far off a figure of a cell is, for telling the worst: its relative difference, which readers see beside it.

    Where only one of both says that N was reached, beyond all else; where there is no difference to show, because too
    little was predicted, shares in points and seconds as a part of the elapsed time.
    """
    figure = row[name]
    if None in (figure["predicted"], figure["measured"]):
        return float("inf")
    if figure["difference"] is not None:
        return abs(figure["difference"])
    off = abs(figure["measured"] - figure["predicted"])
    is_seconds = name not in ("most_at_once", "share_at_n")
    return off / max(row["span_s"]["measured"], rules.SHORTEST_S) if is_seconds and row["span_s"] else off


def _named(row: Figures, rows: Sequence[Figures], experiment: Experiment) -> str:
    """A cell in words that tell it from the others."""
    axes = axes_of(experiment)
    return Cell.of_figures(axes, row).words_without((), distinguishing(Cell.of_figures(axes, other) for other in rows))
