"""The rows of cells.csv: the experiment's saved query, run again over a run's log events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stampede import insights
from stampede.cell import SETTINGS, Cell
from stampede.checkout import QUERIES
from stampede.insights import log_columns
from stampede.report.cells import counted_rows
from stampede.report.run import Run
from stampede.runs import cells, stored_json
from stampede.runs.store import IS_ONE

_RECORDED = f"""
SELECT count(*) FROM operations
WHERE status = 'ok' AND NOT is_warm_up AND NOT is_foreign AND place_at IS NOT NULL AND {IS_ONE}
"""


@dataclass(frozen=True)
class Answered:
    """The rows; `problems` put them in doubt, `warnings` say what was left out."""

    rows: list[Mapping[str, Any]]
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def answered(run: Run) -> Answered:
    """The query's rows; without log events, those of the stored cells.csv, else of the records."""
    events = run.directory / "log_events.jsonl"
    problems: list[str] = []
    warnings: list[str] = []
    try:
        rows = [cells.checked(row, run.experiment) for row in _evaluated(run, events, warnings)]
        return Answered(rows, _of_other_number(run, rows), warnings)
    except (insights.InsightsError, cells.CellsError, OSError, stored_json.NotAFile) as error:
        if events.exists():
            problems = [
                f"The saved query {run.experiment.name}/{run.experiment.query}.cwli failed: {error}"
            ]
        else:
            warnings = ["log_events.jsonl is missing, so the saved query couldn’t be run again."]
    return Answered(
        counted_rows(run) if run.stored_rows is None else run.stored_rows, problems, warnings
    )


def _of_other_number(run: Run, rows: list[dict[str, Any]]) -> list[str]:
    """A problem if log events and records have different numbers of operations."""
    logged, [(recorded,)] = sum(row["count"] for row in rows), run.store.rows(_RECORDED)
    if logged == recorded:
        return []
    many = run.experiment.operation[1]
    return [
        f"log_events.jsonl has {logged:,} {many} and records.jsonl {recorded:,}: restore the "
        "damaged file."
    ]


def _evaluated(run: Run, events: Path, warnings: list[str]) -> list[dict[str, Any]]:
    """The rows, without records of foreign cells. Cells whose settings aren't among the columns are
    evaluated separately."""
    query = (QUERIES / run.experiment.name / f"{run.experiment.query}.cwli").read_text(
        encoding="utf-8"
    )
    # Other runs may share the log group within the same hour.
    text = insights.with_filters(query, {"run_id": run.run_id})
    for cell, differences in run.store.differences.items():
        for difference in differences:
            text = insights.without(text, {"cell": cell, difference.field: difference.own})
    groups: dict[str, list[str]] = {}
    for cell in run.cell_names:
        groups.setdefault(run.cells[cell].settings if cell in run.cells else "", []).append(cell)
    rows: list[dict[str, Any]] = []
    for settings, names in groups.items() if any(groups) else [("", [])]:
        narrowed = text
        if settings or len(groups) > 1:
            narrowed = insights.with_filters(text, {"cell": names})
        column = {SETTINGS: settings} if settings else {}
        rows += [row | column for row in _rows(narrowed, events, warnings)]
    if len(groups) == 1:
        return rows
    axes = run.experiment.axes
    return sorted(rows, key=lambda row: Cell.of_figures(axes, cells.checked(row, run.experiment)))


def _rows(text: str, events: Path, warnings: list[str]) -> list[dict[str, Any]]:
    """The rows over `events`. Unreadable lines, which the evaluator refuses, become warnings."""
    try:
        return log_columns.answer(text, events).rows
    except insights.EventsError:
        left_out: list[str] = []
        rows = insights.evaluate(text, [row for _, row in stored_json.rows(events, left_out)]).rows
        warnings += [warning for warning in left_out if warning not in warnings]
        return rows
