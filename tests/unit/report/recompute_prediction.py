"""Sets what run.json says was predicted beside the recomputed figures; its words, and whether the mean's bootstrap
interval touches the predicted range, are left to test_statistics_prediction.py."""

from tests.unit.report.recompute_compare import Anything


def prediction(stored, key_of, cells):
    """`key_of` gives the place of a cell from its name, `cells` are the recomputed ones by place."""
    if stored is None:
        return None
    first, rows = {}, []
    for name, predicted in stored["cells"].items():
        first.setdefault(key_of(name), predicted)
    for key, cell in cells.items():
        if key in first and (cell["count"] or cell["parallelism"]):
            place = {name: cell[name] for name in ("memory_size_mb", "concurrency", "method", "sink")}
            rows.append(place | figures(first[key], cell, key[1]) | {"binds": first[key]["binds"]})
    return {name: stored[name] for name in ("place", "seed", "date")} | {"words": Anything, "cells": rows}


def figures(predicted, cell, n):
    measures = {
        "most_at_once": lambda parallelism: min(n, parallelism["most_at_once"]),
        "time_to_n_s": lambda parallelism: (
            None if parallelism["time_to_full_ms"] is None else parallelism["time_to_full_ms"] / 1000
        ),
        "share_at_n": share,
        "span_s": lambda parallelism: parallelism["span_ms"] / parallelism.get("repeats", 1) / 1000,
    }
    mean_s, whole = cell["seconds"]["mean_s"], cell["parallelism"]
    rows = {"avg_s": beside("avg_s", predicted, mean_s, Anything, Anything) if cell["count"] else None}
    for name, measure in measures.items():
        if not whole:
            rows[name] = None
            continue
        own = [measure(repeat["parallelism"]) for repeat in cell["repeats"] if repeat["parallelism"]]
        reached = [value for value in own if value is not None]
        several = {"low": min(reached), "high": max(reached)} if len(own) > 1 and reached else None
        low, high = predicted["ranges"][name]
        span_s = measures["span_s"](whole)
        slack = {"time_to_n_s": max(0.001, span_s / 100), "span_s": 0.001, "share_at_n": 0.01}.get(name, 0)
        never = len(reached) < len(own) and predicted["ranges"]["most_at_once"][0] < n
        touches = any(value >= low - slack for value in reached) and any(value <= high + slack for value in reached)
        inside = never or touches
        if name == "span_s" and n == 1 and mean_s:  # has the bootstrap interval, too
            several = inside = Anything
        rows[name] = beside(name, predicted, measure(whole), several, inside)
    return rows


def beside(name, predicted, measured, interval, inside):
    low, high = predicted["ranges"][name]
    least = 0.001 if name in ("time_to_n_s", "span_s") else 1e-9
    difference = (
        (measured - predicted[name]) / predicted[name] if measured is not None and predicted[name] >= least else None
    )
    return {
        "predicted": predicted[name],
        "low": low,
        "high": high,
        "measured": measured,
        "interval": interval,
        "difference": difference,
        "inside": inside,
    }


def share(parallelism):
    """The part of all running time that lies inside the window."""
    window = parallelism["window"] or {"mean_at_once": 0, "length_ms": 0}
    return window["mean_at_once"] * window["length_ms"] / (parallelism["mean_at_once"] * parallelism["span_ms"])
