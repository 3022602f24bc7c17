"""Every number of the report, counted from the records alone: the content of statistics.json.

`selection` sorts the records into cells, `cell_figures` counts each of them (`distribution`, `parallelism`, `cold`),
`comparisons` sets them against each other (`effect`, `bootstrap`), as many at once as are read together (`families`,
`together`), `knee` finds up to where more buys anything, `by_size` from which size on another choice pays (`crossing`),
`prediction` sets what the model said beside it all, `verdict` and `headline` find the words, and `rules` holds what
counts as enough. Nothing here reads the saved query;
tests/unit/report/recompute.py counts all of it again.
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
from stampede.report.statistics.prediction import prediction
from stampede.report.statistics.selection import cells, first_of_each
from stampede.report.statistics.verdict import verdict
from stampede.runs.cell_key import SETTINGS
from stampede.runs.records import NO_MESSAGE, UNKNOWN, distinct
from stampede.runs.run import Run

FORMAT = 1


def statistics(run: Run) -> dict[str, Any]:
    """The content of statistics.json for `run`, ready for JSON: the same records give the same numbers."""
    sorted_out = cells(run)
    cold_among = max(1, sum(is_comparable(cell.done) for cell in sorted_out))
    found = [measured(cell, run.experiment, cold_among) for cell in sorted_out]
    figures = [cell.figures for cell in found]
    compared, foreseen = comparisons(found, run.experiment), prediction(run, sorted_out, found)
    knees = knee.series_of(sorted_out, run.experiment) if run.experiment.knee else []
    sizes = by_size(found, run) if run.experiment.by_size else []
    own: dict[str, Any] = {}
    if run.experiment.knee:
        own["knees"] = {"rule": knee.rule(run.experiment), "series": [series.figures() for series in knees]}
    if run.experiment.by_size:
        own["by_size"] = sizes
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "experiment": run.experiment.name,
        "target": run.target,
        "rules": rules.as_dict(run.experiment),
        "verdict": verdict(run, figures, compared, foreseen, sizes, knees),
        "totals": _totals(run, figures),
        "cells": figures,
        "comparisons": compared,
        "errors": _errors(run),
        "prediction": foreseen,
        **own,
    }


def to_text(numbers: dict[str, Any]) -> str:
    """`numbers` as the text of statistics.json: indented, each list of plain numbers on one line."""
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[[-\d.,e+\s]+\]", lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n"


def _totals(run: Run, figures: list[dict[str, Any]]) -> dict[str, Any]:
    first, further = first_of_each(run.done)
    sent = warm = None
    if run.sent is not None:
        warm_up = run.sent.warm_up
        sent, warm = (len(distinct(run.sent.message[which])) for which in (~warm_up, warm_up))
    return {
        "records": len(run.done) + len(run.errors) + len(run.warm_ups),
        "downloads": len(first),
        "duplicates": len(further),
        "errors": len(run.errors),
        "warm_ups": len(run.warm_ups),
        "warm_up_errors": failed(run.warm_ups),
        "retried": sum(cell["retried"] for cell in figures),
        "sent": sent,
        "sent_warm_up": warm,
    }


def _errors(run: Run) -> list[dict[str, Any]]:
    """Error records by cell and type, the most frequent first within a cell; without warm-ups."""
    succeeded = distinct(run.done["message"][run.done["message"] != NO_MESSAGE])
    nowhere = dict.fromkeys(axis.name for axis in run.experiment.axes)
    rows = []
    pairs = run.errors["key"] << 32 | run.errors["kind"]
    for pair in np.unique(pairs).tolist():
        at, kind = pair >> 32, pair & 0xFFFFFFFF
        messages = np.unique(run.errors["message"][pairs == pair])
        rows.append(
            {
                **(nowhere if at == UNKNOWN else run.errors.keys[at].figures()),
                "error_type": run.errors.kinds[kind],
                "records": int((pairs == pair).sum()),
                "messages": len(messages),
                "recovered": int(np.isin(messages, succeeded).sum()),
            }
        )
    return sorted(rows, key=lambda row: (_place(row, nowhere), -row["records"], row["error_type"]))


def _place(row: dict[str, Any], names: dict[str, Any]) -> tuple[Any, ...]:
    """What error rows are sorted by: their cell's coordinates, and those without at the end."""
    values = tuple(row[name] for name in names)
    return (True, ()) if None in values else (False, (*values, row.get(SETTINGS, "")))
