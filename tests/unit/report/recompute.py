"""Counts every number of statistics.json again from the files of a run, written from the definitions alone.

It shares no code with the report (standard library and NumPy only) and takes the plain way where the report takes the
fast one: overlap millisecond by millisecond. It is the one oracle of these numbers. What
isn't a count of records is held elsewhere and only looked at here: that bootstrap intervals lie right
(test_statistics_bootstrap.py; here: around their value), levels and the verdict (test_statistics_verdict.py), texts.

    python -m tests.unit.report.recompute results/<run_id>

prints every mismatch and exits 1 when there is one.
"""

import json
import math
import re
import sys
from itertools import combinations
from pathlib import Path
from statistics import median

from tests.unit.report.recompute_compare import Anything, compare
from tests.unit.report.recompute_figures import between, client, cold, distribution, effect, scaling
from tests.unit.report.recompute_overlap import Repeat, has_times, together


def read_lines(path):
    """The JSON objects of a file of lines; a line that isn't one is left out. None when there's no file."""
    if not path.exists():
        return None
    rows = []
    for line in path.read_bytes().split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def read_json(path, otherwise):
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise
    return value if isinstance(value, type(otherwise)) else otherwise


def key_of(row):
    key = (row.get("memory_size"), row.get("concurrency_limit"))
    return key + variant_of(row) if all(type(part) is int and part > 0 for part in key) else None


def variant_of(values):
    """(method, sink); records of before there was a choice downloaded as published."""
    method = values.get("method") or "download_file"
    usual = {"stream": "discard", "ranges": "memory"}.get(method.removeprefix("go_"), "tmp")
    return method, values.get("sink") or usual


def place(key):
    return dict(zip(("memory_size_mb", "concurrency", "method", "sink"), key or [None] * 4, strict=True))


def parsed(cell, fixed):
    """(memory, N, method, sink) of a cell's id or object, with what the plan fixes."""
    values = dict(fixed)
    if isinstance(cell, dict):
        values |= dict(re.findall(r"(\w+)=(\w+)", str(cell.get("cell", "")))) | cell | cell.get("values", {})
    else:
        values |= dict(re.findall(r"(\w+)=(\w+)", str(cell)))
    try:
        return int(values["memory_size"]), int(values["concurrency_value"]), *variant_of(values)
    except (KeyError, ValueError, TypeError):
        return None


def identity(row):
    if isinstance(row.get("cell"), str) and type(row.get("seq")) is int:
        return row["cell"], row["seq"]
    return row.get("message_id")


def is_download(row):
    seconds = row.get("download_time_seconds")
    return row.get("status") == "ok" and type(seconds) in (int, float) and 0 <= seconds <= 1e9 and key_of(row)


class Cell:
    """The records of one (memory, N, method, sink)."""

    def __init__(self):
        self.downloads, self.duplicates, self.errors, self.warm_ups, self.inside = [], [], [], [], []

    def parts(self):
        """(cell id, repeat, downloads, all attempts) of each repeat."""
        names = {str(row.get("cell") or "no cell named") for row in self.downloads + self.duplicates + self.errors}
        numbered = [(int(dict(re.findall(r"(\w+)=(\d+)", name)).get("repeat", 0)), name) for name in names]
        for repeat, name in sorted(numbered):
            mine = [row for row in self.downloads if str(row.get("cell") or "no cell named") == name]
            rest = self.duplicates + self.errors
            attempts = mine + [row for row in rest if str(row.get("cell") or "no cell named") == name]
            yield name, repeat or None, mine, attempts


class Recomputation:
    """The expected content of statistics.json for a results folder."""

    def __init__(self, directory):
        self.directory = directory
        self.manifest = read_json(directory / "run.json", {})
        plan = self.manifest.get("plan") or {}
        fixed = plan.get("fixed")
        self.fixed = fixed if isinstance(fixed, dict) else {}
        self.planned_cells = [*(plan.get("cells") or ()), *(self.manifest.get("cells") or ())]
        records = read_lines(directory / "records.jsonl") or []
        self.sent = read_lines(directory / "sent.jsonl")
        self.cells = {}
        self.seen, self.duplicates, self.errors, self.warm_ups = set(), 0, [], []
        for number, row in enumerate(records):
            self.sort(number, row)
        for key in self.planned():
            self.cells.setdefault(key, Cell())
        self.cells = dict(sorted(self.cells.items()))

    def sort(self, number, row):
        key, usable = key_of(row), row.get("status") == "error" or is_download(row)
        if not usable:
            return
        cell = self.cells.setdefault(key, Cell()) if key else Cell()
        if row.get("warm_up") == 1:
            self.warm_ups.append(row)
            cell.warm_ups.append(row)
        elif row["status"] == "error":
            self.errors.append(row)
            cell.errors.append(row)
        elif (identity(row) or number) in self.seen:
            self.duplicates += 1
            cell.duplicates.append(row)
        else:
            self.seen.add(identity(row) or number)
            cell.downloads.append(row)

    def planned(self):
        planned_cells = [*self.planned_cells]
        planned_cells += [row.get("cell") for row in read_json(self.directory / "accounting.json", [])]
        return {key for key in (parsed(cell, self.fixed) for cell in planned_cells) if key}

    def expected(self):
        cells = {key: self.cell(key, cell) for key, cell in self.cells.items()}
        of_cells = list(self.cells.values())
        sent = None if self.sent is None else [row for row in self.sent if row.get("warm_up") != 1]
        colds = sum(cell["cold"]["why"] is None for cell in cells.values())
        return {
            "format": 1,
            "run_id": self.manifest.get("run_id") or self.directory.name,
            "experiment": self.manifest.get("experiment") or "download",
            "target": self.manifest.get("target") or "unknown",
            "rules": Anything,
            "verdict": Anything,
            "totals": {
                "records": len(self.seen) + self.duplicates + len(self.errors) + len(self.warm_ups),
                "downloads": sum(len(cell.downloads) for cell in of_cells),
                "duplicates": self.duplicates,
                "errors": len(self.errors),
                "warm_ups": len(self.warm_ups),
                "warm_up_errors": sum(row["status"] == "error" for row in self.warm_ups),
                "retried": sum(cell["retried"] for cell in cells.values()),
                "sent": None if sent is None else len({identity(row) for row in sent}),
                "sent_warm_up": None if sent is None else len(self.sent) - len(sent),
            },
            "cells": [cell | {"cold": cell["cold"] | {"together": max(1, colds)}} for cell in cells.values()],
            "comparisons": self.comparisons(cells),
            "errors": self.error_rows(),
        }

    def error_rows(self):
        groups = {}
        for row in self.errors:
            groups.setdefault((key_of(row), row.get("error_type") or "not named"), []).append(row)
        rows = []
        for (key, kind), group in groups.items():
            messages = {identity(row) for row in group}
            counts = {"records": len(group), "messages": len(messages), "recovered": len(messages & self.seen)}
            rows.append(place(key) | {"error_type": kind} | counts)
        nowhere = (math.inf, math.inf, "", "")

        def order(row):
            at = tuple(row[name] for name in ("memory_size_mb", "concurrency", "method", "sink"))
            return (nowhere if None in at else at, -row["records"], row["error_type"])

        return sorted(rows, key=order)

    def cell(self, key, cell):
        attempts = {}
        for row in cell.downloads:
            name = str(row["attempt"]) if type(row.get("attempt")) is int else "unknown"
            attempts[name] = attempts.get(name, 0) + 1
        repeats, measured = [], []
        for name, repeat, downloads, tried in cell.parts():
            times = [row["download_time_seconds"] for row in downloads]
            measurement = Repeat(key[1], downloads, tried) if any(map(has_times, tried)) else None
            measured += [measurement] if measurement else []
            repeats.append(
                {
                    "cell": name,
                    "repeat": repeat,
                    "count": len(times),
                    "mean_s": sum(times) / len(times) if times else None,
                    "median_s": median(times) if times else None,
                    "parallelism": measurement.figures() if measurement else None,
                }
            )
        cell.inside = [row for measurement in measured for row in measurement.inside]
        sent = [
            row for row in self.sent or [] if row.get("warm_up") != 1 and parsed(row.get("cell"), self.fixed) == key
        ]
        return {
            **place(key),
            "count": len(cell.downloads),
            "duplicates": len(cell.duplicates),
            "errors": len(cell.errors),
            "warm_ups": len(cell.warm_ups),
            "warm_up_errors": sum(row["status"] == "error" for row in cell.warm_ups),
            "sent": None if self.sent is None else len({identity(row) for row in sent}),
            "attempts": attempts,
            "retried": sum(count for name, count in attempts.items() if name not in ("1", "unknown")),
            **distribution(cell.downloads),
            "client": client(cell.downloads),
            "repeats": repeats,
            "between_repeats": between([entry["mean_s"] for entry in repeats if entry["mean_s"] is not None]),
            "parallelism": together(key[1], measured),
            "inside_window": {"count": len(cell.inside), **distribution(cell.inside)},
            "cold": cold(cell.downloads),
        }

    def comparisons(self, cells):
        by_n, by_memory, by_variant, pairs_of_variants = [], [], [], set()
        for key in cells:
            alike = [candidate for candidate in cells if candidate[2:] == key[2:]]
            base = (key[0], min(n for memory, n, *_ in alike if memory == key[0]), *key[2:])
            if base != key:
                by_n.append((key, base))
            base = (min(memory for memory, n, *_ in alike if n == key[1]), *key[1:])
            if base != key:
                by_memory.append((key, base))
            variants = [candidate for candidate in cells if candidate[:2] == key[:2]]
            base = (
                *key[:2],
                *(("download_file", "tmp") if (*key[:2], "download_file", "tmp") in variants else variants[0][2:]),
            )
            pairs_of_variants |= {frozenset(pair) for pair in combinations(variants, 2)}
            if base != key:
                by_variant.append((key, base, variants))
        # All of a section hold at once; the embedded AWS ignores memory, and of that nothing is claimed.
        is_local = self.manifest.get("target") == "local"
        scales = self.enough(by_n, "downloads") + self.enough(by_n, "inside")
        scales += 0 if is_local else self.enough(by_memory, "downloads")
        variants_at_once = self.enough(pairs_of_variants, "downloads")
        comparisons = {
            "against_smallest_n": [self.compared(*pair, scales) | scaling(cells, *pair) for pair in by_n],
            "between_memories": [self.compared(*pair, 1 if is_local else scales) for pair in by_memory],
        }
        by_variant = [
            self.compared(key, base, variants_at_once) | {"against_fastest": self.against_fastest(key, variants)}
            for key, base, variants in by_variant
        ]
        return comparisons | ({"between_ways": by_variant} if by_variant else {})

    def enough(self, pairs, kind):
        """How many of the pairs have ten downloads of this kind on both sides."""
        return sum(min(len(getattr(self.cells[key], kind)) for key in pair) >= 10 for pair in pairs)

    def against_fastest(self, key, variants):
        times = {
            variant: [row["download_time_seconds"] for row in self.cells[variant].downloads] for variant in variants
        }
        fastest = min(
            (variant for variant in variants if times[variant]), key=lambda variant: median(times[variant]), default=key
        )
        if fastest == key:
            return None
        difference = effect(self.cells[key].downloads, self.cells[fastest].downloads, True)
        return {name: difference[name] for name in ("ratio_of_medians", "level", "why")}

    def compared(self, key, base, at_once):
        ours, theirs = self.cells[key], self.cells[base]
        sizes = {row.get("bytes") for row in ours.downloads + theirs.downloads}
        same_size = len(sizes) == 1 and all(type(size) is int for size in sizes)
        return {
            **place(key),
            "base": place(base),
            "together": max(1, at_once),
            "all": effect(ours.downloads, theirs.downloads, same_size),
            "inside_window": effect(ours.inside, theirs.inside, same_size),
        }


def mismatches(directory):
    """Every difference between statistics.json in the results folder `directory` and what its other files say."""
    stated = json.loads((directory / "statistics.json").read_text(encoding="utf-8"))
    return list(compare("statistics", Recomputation(directory).expected(), stated))


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tests.unit.report.recompute results/<run_id>")
    differences = mismatches(Path(sys.argv[1]))
    print("\n".join(differences) or "every number agrees")
    raise SystemExit(1 if differences else 0)


if __name__ == "__main__":
    main()
