"""Counts every number of a run's statistics.json again from its other files.

It shares no code with the report, only the declaration's axes and metrics, and takes the plain way
where the report takes the fast one: what ran at once is counted millisecond by millisecond. Of an
interval it looks only whether it is in order.

    python -m tests.unit.report.recompute results/<run_id>

prints every mismatch and exits 1 when there is one.
"""

import json
import math
import sys
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np

from experiments import EXPERIMENTS

# Percent, and how many seconds it takes.
QUANTILES = {
    "p5_s": (5, 20),
    "p25_s": (25, 1),
    "median_s": (50, 1),
    "p75_s": (75, 1),
    "p95_s": (95, 20),
}
QUANTILES |= {"min_s": (0, 1), "max_s": (100, 1), "p99_s": (99, 100)}
FOR_AN_INTERVAL, FOR_ROUNDS = 10, 5


class Operation:
    """A record that counts, and where."""

    def __init__(self, row, place, seconds):
        self.row, self.place, self.seconds = row, place, seconds
        self.is_warm_up, self.has_failed, self.is_first = (
            row.get("warm_up") == 1,
            row["status"] == "error",
            False,
        )
        self.cell, self.round, self.attempt = (
            row.get("cell"),
            row.get("round") or 0,
            row.get("attempt", 1),
        )
        self.start, self.end = row.get("started_at_ms"), row.get("finished_at_ms")
        planned, failed, before = (
            row.get(name) or 0 for name in ("planned", "failed", "already_there")
        )
        self.is_one = not row.get("batch_index")  # all messages of a batch have its times
        # Its own work is all of the operation, and most of it succeeded.
        self.is_whole = not before and not (failed and failed >= planned / 2)


def identity(row):
    """Of which message a line is."""
    return (
        row.get("message_id")
        if None in (row.get("cell"), row.get("seq"))
        else (row["cell"], row["seq"])
    )


def read_lines(path):
    rows = []
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):  # a torn line
            rows.append(json.loads(line))
    return rows


def place_of(axes, values, settings):
    """The coordinates of a record or a planned cell, and its settings; None where a coordinate
    isn't there."""
    place = []
    for axis, value in zip(axes, values, strict=True):
        place.append(as_recorded(value) or axis.default_of(place))
    return None if None in place else (*place, settings)


def as_recorded(value):
    """A setting as records have it: a path is its last part."""
    return Path(value).name if isinstance(value, str) else value


class Recount:
    """The records of a run, each where it belongs."""

    def __init__(self, folder):
        self.manifest = json.loads((folder / "run.json").read_text())
        self.experiment = EXPERIMENTS[self.manifest["experiment"]]
        self.axes = self.experiment.axes
        self.planned = self._planned()
        self.sent = read_lines(folder / "sent.jsonl")
        self.operations = [
            *filter(None, map(self._operation, read_lines(folder / "records.jsonl")))
        ]
        seen = set()
        for operation in self.operations:
            message = identity(operation.row)
            if not operation.is_warm_up and not operation.has_failed and message not in seen:
                operation.is_first = True
                seen |= {message} - {None}
        self.firsts = [operation for operation in self.operations if operation.is_first]
        self.floods = self._floods()

    def _planned(self):
        """What each cell was set to, in both formats of run.json."""
        if self.manifest["format"] > 1:
            return {
                row["cell"]: row["values"] | {"settings": row["settings"]}
                for row in self.manifest["cells"]
            }
        plan, planned = self.manifest["plan"], {}
        for row in [*plan.get("cells", ()), *self.manifest["cells"]]:
            planned.setdefault(row["cell"], dict(plan["fixed"])).update(row)
        for name, values in (self.manifest.get("settings") or {}).items():
            planned.setdefault(name, {}).update(values)
        return planned

    def _operation(self, row):
        """None for a record of another cell's settings, or of nothing that can be counted."""
        values = self.planned.get(row.get("cell"), {})
        told = [row.get(axis.record_field) for axis in self.axes]
        wanted = [as_recorded(values.get(axis.variable)) for axis in self.axes]
        if any(None not in pair and pair[0] != pair[1] for pair in zip(told, wanted, strict=True)):
            return None
        place, seconds = (
            place_of(self.axes, told, values.get("settings", "")),
            row.get(self.experiment.time_field),
        )
        is_counted = row["status"] == "error" or None not in (seconds, place)
        return Operation(row, place, seconds) if is_counted else None

    def _floods(self):
        """What ran at once in each round of a cell, late messages of other cells among it."""
        floods = {}
        for each in self.operations:
            is_timed = each.start is not None and each.start < each.end
            if is_timed and not each.is_warm_up and each.place and each.is_one:
                floods.setdefault((each.cell, each.round), []).append(each)
        late = [
            each for flood in floods.values() for each in flood if each.attempt > 1 and each.round
        ]
        for (cell, at), flood in floods.items():
            first = [each for each in flood if each.attempt == 1]
            if at and first:
                start, end = min(each.start for each in first), max(each.end for each in first)
                flood += [
                    each
                    for each in late
                    if each.cell != cell and each.start < end and each.end > start
                ]
        return floods

    def stated(self, figures):
        """The place of a cell of statistics.json."""
        return *(figures[axis.name] for axis in self.axes), figures.get("settings", "")

    def totals(self):
        counts = counts_of(self.operations) | {
            "count": sum(each.is_first for each in self.operations)
        }
        sent, warm_ups = self._sent(self.sent)
        totals = {"records": len(self.operations), "downloads": counts.pop("count")}
        return totals | counts | {"sent": sent, "sent_warm_up": warm_ups}

    def _sent(self, rows):
        """How many messages were sent to be measured, and to warm up."""
        messages = {(row.get("cell"), identity(row), row.get("warm_up") == 1) for row in rows}
        warm_ups = sum(is_warm_up for *_, is_warm_up in messages)
        return len(messages) - warm_ups, warm_ups

    def figures(self, place):
        """A cell of statistics.json."""
        here = [each for each in self.operations if each.place == place]
        own, names = (
            [each for each in here if each.is_first and each.is_one],
            {each.cell for each in here},
        )
        for name, values in self.planned.items():
            coordinates = [values.get(axis.variable or axis.name) for axis in self.axes]
            if place_of(self.axes, coordinates, values.get("settings", "")) == place:
                names.add(name)
        by_cell = {}
        for each in own:
            by_cell.setdefault(each.cell or "", []).append(each.seconds)
        rounds = {
            (each.cell, each.round)
            for each in own
            if not self.experiment.shared_list or each.is_whole
        }
        is_in_rounds = len(rounds) >= FOR_ROUNDS and all(cell and at for cell, at in rounds)
        return {
            **{axis.name: value for axis, value in zip(self.axes, place[:-1], strict=True)},
            **({"settings": place[-1]} if place[-1] else {}),
            **counts_of(here),
            "sent": self._sent([row for row in self.sent if row.get("cell") in names])[0],
            "succeeded": sum(each.cell in names for each in self.firsts),
            "seconds": spread(
                [each.seconds for each in own],
                FOR_ROUNDS if self.experiment.knee else FOR_AN_INTERVAL,
            ),
            "metrics": {
                metric.name: self._metric(metric, own) for metric in self.experiment.metrics[1:]
            },
            "overlap": self._overlap(place),
            "repeats": {
                name: mean(seconds) for name, seconds in by_cell.items() if len(by_cell) > 1
            },
            "rounds": len(rounds) if is_in_rounds else 0,
        }

    def _metric(self, metric, own):
        if metric.how == "mean" and self.experiment.shared_list:
            own = [each for each in own if each.is_whole]
        values = [1 if metric.how == "per_second" else each.row.get(metric.field) for each in own]
        if not own or None in values:
            return None
        spent, sizes = sum(each.seconds for each in own), [each.row.get("bytes") for each in own]
        divisors = {"sum": 1, "mean": len(own), "per_second": spent, "rate": spent / 8 * 1e6}
        divisors["per_gib"] = 0 if None in sizes else sum(sizes) / 2**30
        if metric.how == "seconds_per":
            return spent / sum(values) if sum(values) else None
        return sum(values) / divisors[metric.how] if divisors[metric.how] else None

    def _overlap(self, place):
        cells = {
            each.cell for each in self.operations if each.place == place and not each.is_warm_up
        }
        floods = {at: flood for at, flood in self.floods.items() if at[0] in cells}
        if not floods:
            return None
        n = place[[axis.record_field for axis in self.axes].index("concurrency_limit")]
        running = [at_once(flood) for flood in floods.values()]
        every, attempts = (
            np.concatenate(running),
            [each for flood in floods.values() for each in flood],
        )
        reached = [int(np.argmax(each >= n)) / 1000 for each in running if each.max() >= n]
        amounts, factor = [each.row.get("bytes") for each in attempts], 8 / 1e6
        if self.experiment.shared_list or self.experiment.takes_payload:
            amounts, factor = (
                [each.row.get("copied", each.row.get("batch", 1)) for each in attempts],
                1,
            )
        return {
            "peak": every.max(),
            "mean": every.mean(),
            "share_at_n": (every >= n).mean(),
            "time_to_n_s": median(reached) if reached else None,
            "elapsed_s": len(every) / 1000,
            "floods": len(floods),
            "reached": len(reached),
            "intruders": sum(
                each.cell != cell for (cell, _), flood in floods.items() for each in flood
            ),
            "aggregate_per_s": None
            if None in amounts
            else sum(amounts) * factor / (len(every) / 1000),
        }

    def ratio(self, finding):
        """How many times as fast the subject is as the baseline, where the finding says it."""
        if finding["ratio"] is None:
            return None
        places = [self.stated(finding[side]) for side in ("subject", "baseline")]
        sides = [
            [each for each in self.firsts if each.place == place and each.is_one]
            for place in places
        ]
        if self.experiment.shared_list:
            sides = [[each for each in side if each.is_whole] for side in sides]
        if finding["kind"] == "knee":
            rate = self.experiment.speed.field
            return np.divide(*(median(each.row[rate] for each in side) for side in sides))
        if finding["kind"] == "start":
            sides = [
                [each for each in sides[0] if each.row.get("cold_start") == cold] for cold in (1, 0)
            ]
        ratio = np.divide(*(median(each.seconds for each in side) for side in reversed(sides)))
        if finding["kind"] == "size":
            ratio *= np.divide(*(mean([each.row["bytes"] for each in side]) for side in sides))
        return ratio


def counts_of(operations):
    measured = [each for each in operations if not each.is_warm_up]
    warm_ups = [each for each in operations if each.is_warm_up]
    return {
        "count": sum(each.is_first and each.is_one for each in measured),
        "duplicates": sum(not each.is_first and not each.has_failed for each in measured),
        "errors": sum(each.has_failed for each in measured),
        "warm_ups": len(warm_ups),
        "warm_up_errors": sum(each.has_failed for each in warm_ups),
        "retried": sum(each.is_first and each.is_one and each.attempt != 1 for each in measured),
    }


def mean(values):
    return math.fsum(values) / len(values) if values else None


def spread(seconds, for_an_interval):
    figures = {
        "count": len(seconds),
        "mean_s": mean(seconds),
        "median_interval": len(seconds) >= for_an_interval,
    }
    for name, (percent, needed) in QUANTILES.items():
        figures[name] = np.percentile(seconds, percent) if len(seconds) >= needed else None
    return figures


def at_once(flood):
    """How many ran in each millisecond; one that ends in it doesn't."""
    start = min(each.start for each in flood)
    running = np.zeros(max(each.end for each in flood) - start, dtype=int)
    for each in flood:
        running[each.start - start : each.end - start] += 1
    return running


def leaves(value, path):
    """Each number or text with its place."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(part, f"{path}.{name}")


def is_same(recounted, stated):
    if isinstance(recounted, str) or None in (recounted, stated):
        return recounted == stated
    return math.isclose(recounted, stated, rel_tol=1e-9, abs_tol=1e-12)


def mismatches(folder):
    """Every difference between statistics.json and what the other files of the folder say."""
    stated, run = json.loads((folder / "statistics.json").read_text()), Recount(folder)
    for cell in stated["cells"]:
        interval = cell["seconds"]["median_interval"]
        cell["seconds"]["median_interval"] = (
            bool(interval) and 0 < interval["low"] <= interval["high"]
        )
    places = [run.stated(cell) for cell in stated["cells"]]
    recounted = {"totals": run.totals(), "cells": [run.figures(place) for place in places]}
    recounted["ratios"] = [run.ratio(finding) for finding in stated["findings"]]
    recounted["unstated"] = sorted(
        {operation.place for operation in run.operations} - {*places, None}
    )
    stated["ratios"] = [
        finding["ratio"] and finding["ratio"]["value"] for finding in stated["findings"]
    ]
    again = dict(leaves(recounted, "statistics"))
    said = dict(
        leaves(
            {"totals": stated["totals"], "cells": stated["cells"], "ratios": stated["ratios"]},
            "statistics",
        )
    )
    return [
        f"{path}: {said.get(path, 'nothing')}, recounted {again.get(path, 'nothing')}"
        for path in sorted(again.keys() | said.keys())
        if path not in again or path not in said or not is_same(again[path], said[path])
    ]


if __name__ == "__main__":
    sys.exit("\n".join(mismatches(Path(sys.argv[1]))) or 0)
