"""Every number of the report, counted from the records: the content of statistics.json.

`selection` sorts the records into cells, `cell_figures` counts each of them (`distribution`, `parallelism`, `cold`),
`comparisons` sets them against each other (`effect`, `bootstrap`), as many at once as are read together (`families`,
`together`), `knee` finds up to where more gives a gain, `by_size` from which size on another choice pays (`crossing`),
`memory` which memory is the cheapest and which the fastest, `verdict` and `headline` (`ranking`) find the words, and
`rules` holds what counts as enough. Nothing here reads the experiment's saved query; tests/unit/report/recompute.py
counts all of it again. Only `memory` reads log events too, for what Lambda billed.
"""

import json
import re
from typing import Any

from stampede.report.accounting import failures
from stampede.report.run import Run
from stampede.report.statistics import knee, rules
from stampede.report.statistics.by_size import by_size
from stampede.report.statistics.cell_figures import measured
from stampede.report.statistics.cold import is_comparable
from stampede.report.statistics.comparisons import comparisons
from stampede.report.statistics.memory import memories
from stampede.report.statistics.selection import cells
from stampede.report.statistics.verdict import verdict

FORMAT = 1


def statistics(run: Run) -> dict[str, Any]:
    """The content of statistics.json for `run`, ready for JSON: the same records give the same numbers."""
    experiment, own_cells = run.experiment, cells(run)
    cold_among = max(1, sum(is_comparable(cell.done) for cell in own_cells))
    samples = [measured(cell, experiment, cold_among) for cell in own_cells]
    figures = [sample.figures for sample in samples]
    compared = comparisons(samples, experiment)
    sizes = by_size(samples, run) if experiment.by_size else []
    knees = knee.series_of(own_cells, experiment) if experiment.knee else []
    by_memory = memories(run, own_cells, samples) if "memory" in experiment.sections else []
    content = {
        "format": FORMAT,
        "run_id": run.run_id,
        "experiment": experiment.name,
        "target": run.target,
        "rules": rules.as_dict(experiment, figures, bool(knees)),
        "verdict": verdict(run, figures, compared, sizes, knees, by_memory),
        "totals": _totals(run, figures),
        "cells": figures,
        "comparisons": compared,
        "errors": _errors(run),
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
    own = run.operations
    is_own, is_error = ~own["is_warm_up"], own["is_error"]
    counted = {
        "records": is_own | True,
        "downloads": own["is_first_success"],
        "duplicates": is_own & ~is_error & ~own["is_first_success"],
        "errors": is_own & is_error,
        "warm_ups": ~is_own,
        "warm_up_errors": ~is_own & is_error,
    }
    sent = (
        [None, None] if run.sent is None else [sum(counts) for counts in zip((0, 0), *run.sent.values(), strict=True)]
    )
    return {
        **{name: int(which.sum()) for name, which in counted.items()},
        "retried": sum(cell["retried"] for cell in figures),
        "sent": sent and sent[0],
        "sent_warm_up": sent and sent[1],
    }


def _errors(run: Run) -> list[dict[str, Any]]:
    """Error records by cell and type, the most frequent first within a cell; without warm-ups. Those without the
    coordinates of a cell come last."""
    nowhere = dict.fromkeys(axis.name for axis in run.experiment.axes)
    rows = []
    for at, kind, records, messages, recovered, _ in failures(run, "place_at"):
        key = None if at is None else run.store.places[at]
        counts = {"error_type": kind, "records": records, "messages": messages, "recovered": recovered}
        place = (key.coordinates, key.settings) if key else ()
        rows.append(((key is None, place, -records, kind), {**(key.figures() if key else nowhere), **counts}))
    return [row for _, row in sorted(rows, key=lambda placed: placed[0])]
