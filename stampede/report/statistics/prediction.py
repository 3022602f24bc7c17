"""What the model predicted beside what was measured: how far apart they are, and whether by more than it said."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments import Axis, Experiment
from stampede.phrases import significant
from stampede.report.statistics import rules
from stampede.report.statistics.bootstrap import interval
from stampede.report.statistics.cell_figures import Measured, measured
from stampede.report.statistics.selection import Cell
from stampede.runs.cell_key import Key, distinguishing
from stampede.runs.prediction import FIGURES, Forecast
from stampede.runs.run import Run

Figures = Mapping[str, Any]

# Records hold whole milliseconds.
RESOLUTION_S = 0.001
# Below it nothing can be told in proportion.
LEAST = {"time_to_n_s": RESOLUTION_S, "span_s": RESOLUTION_S}
# So much of the span earlier or later decides nothing, nor of the time in full overlap: clocks and hand-overs do it.
EARLY_OR_LATE = 0.01
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


def prediction(run: Run, cells: Sequence[Cell], found: Sequence[Measured]) -> dict[str, Any] | None:
    """What statistics.json says of it; None where nothing was predicted.

    Of each planned cell with a prediction and a record, each of FIGURES is null or {"predicted", "low", "high",
    "measured", "interval" {"low", "high"}, "difference" (of the predicted, 0.1 for 10 % more), "inside" (null where the
    model gave no range)}. `words` is the answer in a sentence.
    """
    if run.prediction is None:
        return None
    axes, forecasts = axes_of(run.experiment), {}
    for name, forecast in run.prediction.cells.items():
        key = run.key_of(name)
        if key is not None:
            forecasts.setdefault(key.on(axes), forecast)
    pooled: dict[Key, list[tuple[Cell, Measured]]] = {}
    for cell, one in zip(cells, found, strict=True):
        pooled.setdefault(cell.key.on(axes), []).append((cell, one))
    rows = []
    for key, parts in pooled.items():
        whole = _whole(parts, run.experiment) if key in forecasts else None
        if whole and (whole.figures["count"] or whole.figures["parallelism"]):
            beside = _beside(forecasts[key], _own(whole, key.n), key.n)
            rows.append({**key.figures(), **beside, "binds": forecasts[key].binds})
    head = {"place": run.prediction.place, "seed": run.prediction.seed, "date": run.prediction.date}
    return {**head, "words": answer(rows, run.experiment), "cells": rows}


def _whole(parts: Sequence[tuple[Cell, Measured]], experiment: Experiment) -> Measured:
    """A planned cell: where only records tell its parts apart, of all of them together."""
    (first, one), *others = parts
    if not others:
        return one
    kinds = ("done", "duplicates", "errors", "warm_ups")
    whole = {kind: getattr(first, kind).plus(*(getattr(cell, kind) for cell, _ in others)) for kind in kinds}
    none = first.beside.where(np.array([], dtype=np.int64))
    return measured(replace(first, **whole, beside=none), experiment)


# The overlap of a cell or of one of its repeats, as the model means it; None for an N that was never reached.
_OVERLAP: dict[str, Callable[[Figures, int], float | None]] = {
    # More than N is a matter of clocks.
    "most_at_once": lambda one, n: min(one["most_at_once"], n),
    "time_to_n_s": lambda one, n: None if one["time_to_full_ms"] is None else one["time_to_full_ms"] / 1000,
    "share_at_n": lambda one, n: _share_in_window(one),
    "span_s": lambda one, n: one["span_ms"] / one.get("repeats", 1) / 1000,
}


def _share_in_window(one: Figures) -> float:
    window = one["window"]
    if window is None:
        return 0.0
    return min(1.0, window["mean_at_once"] * window["length_ms"] / (one["mean_at_once"] * one["span_ms"]))


def _own(whole: Measured, n: int) -> dict[str, tuple[float | None, list[float | None]]]:
    """Each figure as it was measured, and what its own interval holds: that of the mean, and every repeat."""
    found: dict[str, tuple[float | None, list[float | None]]] = {}
    figures, sample = whole.figures, whole.everything
    if figures["count"]:
        between = figures["between_repeats"] or {}
        means = [between[name] for name in ("lowest_mean_s", "highest_mean_s") if between]
        mean_s = figures["seconds"]["mean_s"]
        # Few operations may hide a stall, so for a reader this interval is none; for a miss it is the least there is.
        enough = len(sample) >= rules.MINIMUM_FOR_INTERVAL
        around = interval(sample.means, sample.size).values() if enough else ()
        found["avg_s"] = (mean_s, [mean_s, *means, *around])
    if figures["parallelism"]:
        repeats = [one["parallelism"] for one in figures["repeats"] if one["parallelism"]]
        for name, of in _OVERLAP.items():
            found[name] = (of(figures["parallelism"], n), [of(one, n) for one in repeats])
    return found


def _beside(
    forecast: Forecast, own: Mapping[str, tuple[float | None, list[float | None]]], n: int
) -> dict[str, dict[str, Any] | None]:
    rows: dict[str, dict[str, Any] | None] = {}
    span_s, _ = own.get("span_s", (0.0, []))
    slack = {
        "time_to_n_s": max(RESOLUTION_S, EARLY_OR_LATE * span_s),
        "share_at_n": EARLY_OR_LATE,
        "span_s": RESOLUTION_S,
    }
    for name in FIGURES:
        if name not in own:
            rows[name] = None
            continue
        (value, around), predicted = own[name], forecast.values[name]
        known = [one for one in around if one is not None]
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
    known = [one for one in around if one is not None]
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
    """In how many cells the seconds lay within their range, and where they were furthest off."""
    timed = [row for row in rows if row["avg_s"] and row["avg_s"]["low"] is not None]
    if not timed:
        return "No cell has both a prediction with a range and a time, so there is nothing to compare."
    outside = [row for row in timed if not row["avg_s"]["inside"]]
    worst = max(outside or timed, key=lambda row: _apart("avg_s", row))
    figures, held = worst["avg_s"], len(timed) - len(outside)
    own, is_off = figures["interval"], not figures["low"] <= figures["measured"] <= figures["high"]
    around = f" (interval {between('avg_s', own)})" if own and is_off and figures["inside"] else ""
    told = [f"{text('avg_s', figures['predicted'])} s predicted ({between('avg_s', figures)})",
            f"{text('avg_s', figures['measured'])} s measured{around}"]  # fmt: skip
    told += [] if figures["difference"] is None else [percent(figures["difference"])]
    if len(timed) == 1:
        says = "matches" if held else "misses"
        return f"The mean of the only cell {says} the predicted range: {', '.join(told)}."
    cells = f"{held or 'none'} of {len(timed)} cells" if outside else f"all {len(timed)} cells"
    most = f"the {'largest miss' if outside else 'largest difference'} is with {_named(worst, rows, experiment)}"
    return f"The mean matches the predicted range in {cells}; {most}: {', '.join(told)}."


def misses(predicted: Figures | None, experiment: Experiment) -> list[str]:
    """The cells whose prediction missed by more than its stated uncertainty, the furthest off first, each with the
    figure that is so most."""
    found, rows = [], predicted["cells"] if predicted else ()
    for row in rows:
        outside = [(_apart(name, row), name) for name in FIGURES if row[name] and row[name]["inside"] is False]
        if outside:
            apart, name = max(outside, key=lambda one: one[0])
            found.append((apart, f"{_sentence(name, row[name], experiment)} with {_named(row, rows, experiment)}"))
    return [words for _, words in sorted(found, key=lambda one: -one[0])]


def text(name: str, value: float | None) -> str:
    """One of FIGURES for reading, without its unit; `never` for None, shares in percent."""
    if value is None:
        return NEVER
    if name in ("most_at_once", "share_at_n"):
        return f"{value:,.0f}" if name == "most_at_once" else f"{100 * value:.0f}"
    return significant(value if name == "avg_s" else round(value, 3))


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


def _sentence(name: str, row: Figures, experiment: Experiment) -> str:
    """How one figure missed."""
    measured, predicted = text(name, row["measured"]), between(name, row) or text(name, row["predicted"])
    one = experiment.operation[0]
    if measured == NEVER:
        return f"N never reached (predicted after {predicted} s)"
    if predicted == NEVER:
        what = "N reached after" if name == "time_to_n_s" else f"one {one} succeeded in"
        return f"{what} {measured} s (predicted: never)"
    off = "" if row["difference"] is None else f", {percent(row['difference'])}"
    return SENTENCES[name].format(measured=measured, predicted=predicted, off=off, one=one)


def _apart(name: str, row: Figures) -> float:
    """How far off a figure of a cell is, for telling the worst: its relative difference, which readers see beside it.

    Where only one of both says that N was reached, beyond all else; where there is no difference to show, because too
    little was predicted, shares in points and seconds as a part of the elapsed time.
    """
    one = row[name]
    if None in (one["predicted"], one["measured"]):
        return float("inf")
    if one["difference"] is not None:
        return abs(one["difference"])
    off = abs(one["measured"] - one["predicted"])
    return off / max(row["span_s"]["measured"], rules.SHORTEST_S) if name.endswith("_s") and row["span_s"] else off


def _named(row: Figures, rows: Sequence[Figures], experiment: Experiment) -> str:
    """A cell in words that tell it from the others."""
    axes = axes_of(experiment)
    return Key.of_figures(axes, row).words_without((), distinguishing(Key.of_figures(axes, one) for one in rows))
