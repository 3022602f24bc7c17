"""The rows of the saved query `methods`, evaluated again over the stored log events and checked against the
records.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from queries import insights
from report import cells, consistency, jsonl
from report.measured import clients, spreads
from report.run import Run


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
    try:
        return insights.evaluate(text, events).rows, []
    except insights.EventsError:
        lines, warnings = jsonl.read(events)
        return insights.evaluate(text, [row for _, row in lines]).rows, warnings
