"""Every number of the report, counted from the records: the content of statistics.json.

`selection` sorts the records into cells, `cell_figures` counts each of them (`distribution`, `parallelism`, `cold`),
`comparisons` sets them against each other (`effect`, `bootstrap`), as many at once as are read together (`families`,
`together`), `knee` finds up to where more gives a gain, `by_size` from which size on another choice pays (`crossing`),
`memory` which memory is the cheapest and which the fastest, `prediction` sets what the model said beside it all,
`verdict` and `headline` (`ranking`) find the words, and `rules` holds what counts as enough. Nothing here reads the
experiment's saved query; tests/unit/report/recompute.py counts all of it again. Only `memory` reads log events too, for
what Lambda billed.
"""

import json
import re
from typing import Any

import numpy as np

from stampede.report.statistics import knee, rules
from stampede.report.statistics.by_size import by_size
from stampede.report.statistics.cell_figures import failed, measured
from stampede.report.statistics.cold import is_comparable
from stampede.report.statistics.comparisons import comparisons
from stampede.report.statistics.memory import memories
from stampede.report.statistics.prediction import prediction
from stampede.report.statistics.selection import cells, first_of_each
from stampede.report.statistics.verdict import verdict
from stampede.runs.records import NO_MESSAGE, UNKNOWN, distinct
from stampede.runs.run import Run

FORMAT = 1


def statistics(run: Run) -> dict[str, Any]:
    """The content of statistics.json for `run`, ready for JSON: the same records give the same numbers."""
    experiment, own_cells = run.experiment, cells(run)
    cold_among = max(1, sum(is_comparable(cell.done) for cell in own_cells))
    samples = [measured(cell, experiment, cold_among) for cell in own_cells]
    figures = [sample.figures for sample in samples]
    compared, foreseen = comparisons(samples, experiment), prediction(run, own_cells, samples)
    sizes = by_size(samples, run) if experiment.by_size else []
    knees = knee.series_of(own_cells, experiment) if experiment.knee else []
    by_memory = memories(run, own_cells, samples) if "memory" in experiment.sections else []
    content = {
        "format": FORMAT,
        "run_id": run.run_id,
        "experiment": experiment.name,
        "target": run.target,
        "rules": rules.as_dict(experiment, figures, bool(knees)),
        "verdict": verdict(run, figures, compared, foreseen, sizes, knees, by_memory),
        "totals": _totals(run, figures),
        "cells": figures,
        "comparisons": compared,
        "errors": _errors(run),
        "prediction": foreseen,
    }
    if experiment.knee:
        content["knees"] = {"rule": knee.rule(experiment), "series": [series.figures() for series in knees]}
    if experiment.by_size:
        content["by_size"] = sizes
    if "memory" in experiment.sections:
        content["memory"] = by_memory
    return content


def to_text(numbers: dict[str, Any]) -> str:
    """`numbers` as the text of statistics.json: indented, each list of plain numbers on one line."""
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[[-\d.,e+\s]+\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), text) + "\n"


def _totals(run: Run, figures: list[dict[str, Any]]) -> dict[str, Any]:
    first, further = first_of_each(run.done)
    sent = sent_warm_up = None
    if run.sent is not None:
        sent = len(distinct(run.sent.message[~run.sent.warm_up]))
        sent_warm_up = len(distinct(run.sent.message[run.sent.warm_up]))
    return {
        "records": len(run.done) + len(run.errors) + len(run.warm_ups),
        "downloads": len(first),
        "duplicates": len(further),
        "errors": len(run.errors),
        "warm_ups": len(run.warm_ups),
        "warm_up_errors": failed(run.warm_ups),
        "retried": sum(cell["retried"] for cell in figures),
        "sent": sent,
        "sent_warm_up": sent_warm_up,
    }


def _errors(run: Run) -> list[dict[str, Any]]:
    """Error records by cell and type, the most frequent first within a cell; without warm-ups. Those without the
    coordinates of a cell come last."""
    succeeded = distinct(run.done["message"][run.done["message"] != NO_MESSAGE])
    nowhere = dict.fromkeys(axis.name for axis in run.experiment.axes)
    rows = []
    pairs = run.errors["key"] << 32 | run.errors["kind"]
    for pair in np.unique(pairs).tolist():
        at, kind = pair >> 32, pair & 0xFFFFFFFF
        messages = np.unique(run.errors["message"][pairs == pair])
        key = None if at == UNKNOWN else run.errors.keys[at]
        row = {
            **(key.figures() if key else nowhere),
            "error_type": run.errors.kinds[kind],
            "records": int((pairs == pair).sum()),
            "messages": len(messages),
            "recovered": int(np.isin(messages, succeeded).sum()),
        }
        place = (key.values, key.settings) if key else ()
        rows.append(((key is None, place, -row["records"], row["error_type"]), row))
    return [row for _, row in sorted(rows, key=lambda placed: placed[0])]
