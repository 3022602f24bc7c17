"""The figures of downloads, one set or two, from their definitions."""

from statistics import median

import numpy as np

from tests.unit.report.recompute_compare import Around, Text, WhyNull
from tests.unit.report.recompute_overlap import has_size

NEEDED = {"p5_s": 20, "p95_s": 20, "p99_s": 100, "mean_interval": 100, "median_interval": 10, "p99_interval": 1000}


def effect(ours, base, same_size):
    x, y = ([row["download_time_seconds"] for row in rows] for rows in (ours, base))
    expected = {
        "ratio_of_medians": None,
        "count": len(x),
        "base_count": len(y),
        "words": Text,
        "level": "cant_tell",
        "why": Text,
    }
    if min(len(x), len(y)) < 10 or min(x + y) < 1e-9:
        return expected
    return expected | {
        "ratio_of_medians": Around(np.median(x) / np.median(y), with_value=True),
        **({"level": Text, "why": None} if same_size else {}),
    }


def scaling(cells, key, base):
    result = {}
    for name, window in (("throughput", False), ("throughput_in_window", True)):
        parts = [cells[cell_key]["parallelism"] or {} for cell_key in (key, base)]
        ours, theirs = (((part.get("window") or {}) if window else part).get("mbit_per_s") for part in parts)
        ideal = None if theirs is None else theirs * key[1] / base[1]
        share = ours / ideal if ours is not None and ideal else None
        result[name] = {"mbit_per_s": ours, "ideal_mbit_per_s": ideal, "share_of_ideal": share}
    return result


def distribution(downloads):
    """The distribution of seconds and speed."""
    times = [row["download_time_seconds"] for row in downloads]
    seconds = {"count": len(times), "why": WhyNull}
    figures = {"min_s": 0, "p5_s": 5, "p25_s": 25, "median_s": 50, "p75_s": 75, "p95_s": 95, "p99_s": 99}
    for figure, percent in (figures | {"max_s": 100}).items():
        seconds[figure] = np.percentile(times, percent) if len(times) >= NEEDED.get(figure, 1) else None
    seconds["mean_s"] = np.mean(times) if times else None
    for figure in ("mean", "median", "p99"):
        is_stated = len(times) >= NEEDED[f"{figure}_interval"]
        seconds[f"{figure}_interval"] = Around(seconds[f"{figure}_s"]) if is_stated else None
    speed = dict.fromkeys(("per_function", "per_function_interval", "median", "p5", "p95")) | {"why": WhyNull}
    if times and all(map(has_size, downloads)) and min(times) >= 1e-9:
        bits = np.array([row["bytes"] * 8 / 1e6 for row in downloads])
        own = bits / np.array(times)
        speed |= {"per_function": bits.mean() / np.mean(times), "median": np.median(own)}
        if len(times) >= 20:
            speed |= {"p5": np.percentile(own, 5), "p95": np.percentile(own, 95)}
        if len(times) >= 100 and len(set(bits)) == 1:
            speed["per_function_interval"] = Around(speed["per_function"])
    return {"seconds": seconds, "mbit_per_s": speed}


def cold(downloads):
    """Cold downloads against warm ones."""
    groups, expected = {}, {"words": Text, "why": None}
    for flag, name in ((1, "cold"), (0, "warm")):
        groups[name] = times = [r["download_time_seconds"] for r in downloads if r.get("cold_start") == flag]
        middle, mean = (median(times), np.mean(times)) if times else (None, None)
        expected[name] = {"count": len(times), "median_s": middle, "mean_s": mean}
    is_stated = min(map(len, groups.values())) >= 10
    for figure, point in (("means", np.mean), ("medians", np.median)):
        value = point(groups["cold"]) - point(groups["warm"]) if is_stated else None
        expected[f"difference_of_{figure}_s"] = Around(value, with_value=True) if is_stated else None
    return expected | ({} if is_stated else {"why": Text})


def client(downloads):
    """What the downloads took of the function; null where a record lacks a number."""

    def column(name):
        values = [row.get(name) for row in downloads]
        is_known = downloads and all(type(value) in (int, float) and value >= 0 for value in values)
        return np.array(values) if is_known else None

    sizes, cpu, first = column("bytes"), column("client_cpu_seconds"), column("first_byte_seconds")
    times, retries, requests = column("download_time_seconds"), column("retries"), column("requests")
    moved, spent = (0 if sizes is None else sizes.sum()), (0 if times is None else times.sum())
    return {
        "mbit_per_s": moved / spent * 8 / 1e6 if sizes is not None and spent else None,
        "cpu_s_per_gib": cpu.sum() / (moved / 2**30) if cpu is not None and moved else None,
        "first_byte_s": None if first is None else first.mean(),
        "retries": None if retries is None else int(retries.sum()),
        "requests": None if requests is None else int(requests.sum()),
    }


def between(means):
    if len(means) < 2:
        return None
    ratio = max(means) / min(means) if min(means) >= 1e-9 else None
    return {"count": len(means), "lowest_mean_s": min(means), "highest_mean_s": max(means), "ratio": ratio}
