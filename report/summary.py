"""The rows of the saved query `methods`, evaluated again over the stored log events and checked against the
records.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from queries import insights
from report import cells, consistency, jsonl
from report.measured import clients, spreads
from report.run import Run
from report.ways import key_of_figures


@dataclass(frozen=True)
class Summary:
    """The rows for cells.csv and, in words, where they come from.

    `compared` says that they were set against figures counted from the records by other code; `problems` put the
    figures in doubt, `warnings` name what was left out.
    """

    rows: list[Mapping[str, Any]]
    origin: str
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    compared: bool = False


def summarised(run: Run) -> Summary:
    """The rows of the saved query `methods` over the log events of `run`, checked against its records.

    Without log events the rows are those of the run's own cells.csv, and without that they are counted from
    the records; `origin` says which.
    """
    own, took = spreads(run), clients(run)
    events = run.directory / "log_events.jsonl"
    name = f"queries/{run.experiment}/methods.cwli"
    problems: list[str] = []
    warnings: list[str] = []
    try:
        found, warnings = _evaluated(run, events)
        rows = [cells.checked(row) for row in found]
        origin = f"the saved query {name} over log_events.jsonl"
        return Summary(rows, origin, consistency.disagreements(rows, own, took), warnings, compared=True)
    except (insights.InsightsError, cells.CellsError, OSError) as error:
        if events.exists():
            problems = [f"The saved query {name} gave no table: {error}"]
        else:
            warnings = ["log_events.jsonl is missing, so the saved query could not be run again."]
    if run.stored_rows is not None:
        problems += consistency.disagreements(run.stored_rows, own, took)
        return Summary(run.stored_rows, "the cells.csv that the run wrote", problems, warnings, compared=True)
    counted = cells.from_spreads(own, took)
    return Summary(counted, "records.jsonl, counted without the saved query", problems, warnings)


def _evaluated(run: Run, events: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows, and a warning for every line that had to be left out; the evaluator itself leaves none out."""
    text = (files("queries") / run.experiment / "methods.cwli").read_text(encoding="utf-8")
    # Other runs may have written to the same log group in the same hour.
    text = insights.with_filters(text, {"run_id": run.run_id})
    if run.foreign or any(run.cells.others(cell) for cell in run.cells.names()):
        lines, warnings = _lines(events)
        return _rows_by_settings(run, text, lines), warnings
    try:
        return insights.evaluate(text, events).rows, []
    except insights.EventsError:
        lines, warnings = _lines(events)
        return insights.evaluate(text, lines).rows, warnings


def _lines(events: Path) -> tuple[list[dict[str, Any]], list[str]]:
    lines, warnings = jsonl.read(events)
    return [row for _, row in lines], warnings


def _rows_by_settings(run: Run, text: str, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the query over the lines of each group of cells that differ in more than its columns tell, without
    records that aren't of their own cell."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        record = _record(line)
        if record is not None and run.cells.difference(record) is None:
            groups.setdefault(run.cells.others(record.get("cell")), []).append(line)
    rows = []
    for settings, group in groups.items():
        told = {cells.SETTINGS: settings} if settings else {}
        rows += [row | told for row in insights.evaluate(text, group).rows]
    return sorted(rows, key=lambda row: key_of_figures(cells.checked(row)))


def _record(line: dict[str, Any]) -> dict[str, Any] | None:
    try:
        record = json.loads(str(line.get("message")))
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
