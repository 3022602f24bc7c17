"""Every number of the report, counted from the records alone: the content of statistics.json.

`selection` sorts the records into cells, `cell_figures` counts each of them (`distribution`, `parallelism`, `cold`),
`comparisons` sets them against each other (`effect`, `bootstrap`), `verdict` finds the words, and `rules` holds what
counts as enough. Nothing here reads the saved query; tests/unit/report/recompute.py counts all of it again.
"""

import json
import re
from typing import Any

from report.run import Run, record_key
from report.statistics import rules
from report.statistics.cell_figures import measured
from report.statistics.comparisons import comparisons
from report.statistics.selection import cells, first_of_each, message
from report.statistics.verdict import verdict
from report.ways import as_figures

FORMAT = 1
NOWHERE = dict.fromkeys(("memory_size_mb", "concurrency", "method", "sink"))


def statistics(run: Run) -> dict[str, Any]:
    """The content of statistics.json for `run`, ready for JSON: the same records give the same numbers."""
    found = [measured(cell) for cell in cells(run)]
    figures = [cell.figures for cell in found]
    compared = comparisons(found)
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "experiment": run.experiment,
        "target": run.target,
        "rules": rules.as_dict(),
        "verdict": verdict(run, figures, compared["against_smallest_n"]),
        "totals": _totals(run, figures),
        "cells": figures,
        "comparisons": compared,
        "errors": _errors(run),
    }


def to_text(numbers: dict[str, Any]) -> str:
    """`numbers` as the text of statistics.json: indented, each list of plain numbers on one line."""
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[[-\d.,e+\s]+\]", lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n"


def _totals(run: Run, figures: list[dict[str, Any]]) -> dict[str, Any]:
    first, further = first_of_each(run.downloads)
    sent = None if run.sent is None else len({message(row) for row in run.sent if row.get("warm_up") != 1})
    warm = None if run.sent is None else len({message(row) for row in run.sent if row.get("warm_up") == 1})
    return {
        "records": len(run.downloads) + len(run.errors) + len(run.warm_ups),
        "downloads": len(first),
        "duplicates": len(further),
        "errors": len(run.errors),
        "warm_ups": len(run.warm_ups),
        "warm_up_errors": sum(record.get("status") == "error" for record in run.warm_ups),
        "retried": sum(cell["retried"] for cell in figures),
        "sent": sent,
        "sent_warm_up": warm,
    }


def _errors(run: Run) -> list[dict[str, Any]]:
    """Error records by cell and type, the most frequent first within a cell; without warm-ups."""
    succeeded = {message(record) for record in run.downloads} - {None}
    groups: dict[tuple[Any, str], list[Any]] = {}
    for record in run.errors:
        groups.setdefault((record_key(record), str(record.get("error_type") or "not named")), []).append(record)
    rows = []
    for (key, error_type), records in groups.items():
        messages = {message(record) for record in records}
        rows.append(
            {
                **(as_figures(key) if key else NOWHERE),
                "error_type": error_type,
                "records": len(records),
                "messages": len(messages),
                "recovered": len(messages & succeeded),
            }
        )
    return sorted(
        rows,
        key=lambda row: (
            row["memory_size_mb"] is None,
            row["memory_size_mb"] or 0,
            row["concurrency"] or 0,
            (row["method"] or "", row["sink"] or "", row.get("settings", "")),
            -row["records"],
            row["error_type"],
        ),
    )
