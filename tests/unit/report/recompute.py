"""Recounts the figures of a run's statistics.json from its records, the plain way.

Concurrency is counted millisecond by millisecond, except for cells that late messages of others ran
into; quantiles are numpy's. It shares with the report which cell a record belongs to, but no
counting.

    python -m tests.unit.report.recompute results/<run_id>

prints every mismatch and exits with 1 if there is one.
"""

import json
import math
import sys
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np

from experiments import EXPERIMENTS
from stampede.cell import Cell, cells_of

# The percentile, and how many values it needs.
QUANTILES = {"min_s": (0, 1), "p5_s": (5, 20), "p25_s": (25, 1), "median_s": (50, 1)}
QUANTILES |= {"p75_s": (75, 1), "p95_s": (95, 20), "p99_s": (99, 100), "max_s": (100, 1)}


def read_lines(path):
    rows = []
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):  # a torn line
            rows.append(json.loads(line))
    return rows


class Recount:
    """The records of a run, each with its place on the axes and whether it is measured."""

    def __init__(self, folder):
        manifest = json.loads((folder / "run.json").read_text())
        self.experiment = EXPERIMENTS[manifest["experiment"]]
        self.cells = cells_of(manifest, self.experiment)
        self.sent = {message_of(row) for row in read_lines(folder / "sent.jsonl")}
        rows = map(self._placed, read_lines(folder / "records.jsonl"))
        self.rows, succeeded = [row for row in rows if row], set()
        for row in self.rows:
            is_success, message = row["status"] == "ok" and not row["warm_up"], message_of(row)
            row["is_first"] = is_success and message not in succeeded
            succeeded |= {message} if is_success else set()

    def _placed(self, row):
        """None for a record with other settings than its cell's, or one that can't be counted."""
        axes, cell = self.experiment.axes, self.cells.get(row.get("cell"))
        if cell and cell.difference(row):
            return None
        coordinates = [row.get(axis.record_field) for axis in axes]
        place = Cell.at(axes, coordinates, cell.settings if cell else "")
        seconds = row.get(self.experiment.time_field)
        if row["status"] == "ok" and None in (place, seconds):
            return None
        nothing = {"cell": None, "round": 0, "warm_up": 0, "attempt": 1, "batch_index": 0}
        return nothing | row | {"place": place, "seconds": seconds}

    def totals(self):
        return counts_of(self.rows) | {
            "records": len(self.rows),
            "downloads": sum(row["is_first"] for row in self.rows),
            "sent": sum(not is_warm_up for *_, is_warm_up in self.sent),
            "sent_warm_up": sum(is_warm_up for *_, is_warm_up in self.sent),
        }

    def figures(self, place):
        """What statistics.json should have for the cell at `place`."""
        rows = [row for row in self.rows if row["place"] == place]
        names = {row["cell"] for row in rows}
        names |= {name for name, cell in self.cells.items() if cell.place() == place}
        seconds = {}
        for row in rows:
            if row["is_first"] and not row["batch_index"]:
                seconds.setdefault(row["cell"], []).append(row["seconds"])
        measured = counts_of(rows) | {"count": sum(map(len, seconds.values()))}
        return measured | {
            "sent": sum(cell in names and not is_warm_up for cell, _, is_warm_up in self.sent),
            "succeeded": sum(row["is_first"] and row["cell"] in names for row in self.rows),
            "seconds": spread([*chain(*seconds.values())]),
            "repeats": {name: np.mean(own) for name, own in seconds.items() if len(seconds) > 1},
            "overlap": self._overlap(rows, place.n),
        }

    def _overlap(self, rows, n):
        """The concurrency in the rounds of these records' cells."""
        cells, floods = {row["cell"] for row in rows if not row["warm_up"]}, {}
        for row in filter(is_timed, self.rows):
            if row["cell"] in cells:
                floods.setdefault((row["cell"], row["round"]), []).append(row)
        if not floods:
            return None
        running = [*map(at_once, floods.values())]
        every = np.concatenate(running)
        reached = [np.argmax(each >= n) / 1000 for each in running if each.max() >= n]
        return {
            "peak": every.max(),
            "mean": every.mean(),
            "share_at_n": (every >= n).mean(),
            "time_to_n_s": np.median(reached) if reached else None,
            "elapsed_s": len(every) / 1000,
            "floods": len(running),
            "reached": len(reached),
        }


def is_timed(row):
    """Whether it is a measured operation with a start and an end; the messages of a batch are
    one."""
    times = row.get("started_at_ms"), row.get("finished_at_ms")
    is_one = row["place"] and not row["warm_up"] and not row["batch_index"]
    return is_one and None not in times and times[0] < times[1]


def message_of(row):
    """The identity of a line's message: its cell, its number or id, whether it warms up."""
    has_number = None not in (row.get("cell"), row.get("seq"))
    return row.get("cell"), row.get("seq" if has_number else "message_id"), row.get("warm_up") == 1


def counts_of(rows):
    measured = [row for row in rows if not row["warm_up"]]
    errors = [row for row in rows if row["status"] == "error"]
    firsts = [row for row in measured if row["is_first"]]
    failed = sum(not row["warm_up"] for row in errors)
    return {
        "duplicates": len(measured) - failed - len(firsts),
        "errors": failed,
        "warm_ups": len(rows) - len(measured),
        "warm_up_errors": len(errors) - failed,
        "retried": sum(row["attempt"] > 1 and not row["batch_index"] for row in firsts),
    }


def spread(seconds):
    figures = {"count": len(seconds), "mean_s": np.mean(seconds) if seconds else None}
    for name, (percent, needed) in QUANTILES.items():
        figures[name] = np.percentile(seconds, percent) if len(seconds) >= needed else None
    return figures


def at_once(flood):
    """How many ran in each millisecond; an operation that ends in it doesn't count."""
    start = min(row["started_at_ms"] for row in flood)
    running = np.zeros(max(row["finished_at_ms"] for row in flood) - start, dtype=int)
    for row in flood:
        running[row["started_at_ms"] - start : row["finished_at_ms"] - start] += 1
    return running


def differences(recounted, stated, path):
    """Each recounted number that `stated` has differently, with its path."""
    if isinstance(recounted, dict) and isinstance(stated, dict):
        for name, value in recounted.items():
            yield from differences(value, stated.get(name), f"{path}.{name}")
    elif None in (recounted, stated) or isinstance(recounted, dict):
        if recounted != stated:
            yield f"{path}: {stated}, recounted {recounted}"
    elif not math.isclose(recounted, stated, rel_tol=1e-9, abs_tol=1e-12):
        yield f"{path}: {stated}, recounted {recounted}"


def mismatches(folder):
    """Every difference between statistics.json and the other files of the folder."""
    stated, run = json.loads((folder / "statistics.json").read_text()), Recount(folder)
    cells = {Cell.of_figures(run.experiment.axes, cell): cell for cell in stated["cells"]}
    wrong = [*differences(run.totals(), stated["totals"], "totals")]
    for place in sorted(cells.keys() | {row["place"] for row in run.rows} - {None}):
        recounted, stated_cell = run.figures(place), cells.get(place)
        if stated_cell and (stated_cell["overlap"] or {}).get("intruders"):
            del recounted["overlap"]  # with late messages of other cells
        wrong += differences(recounted, stated_cell, place.words)
    return wrong


if __name__ == "__main__":
    sys.exit("\n".join(mismatches(Path(sys.argv[1]))) or 0)
