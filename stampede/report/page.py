"""Assembles the page of one run."""

from __future__ import annotations

import base64
import gzip
import os
import shlex
from dataclasses import replace
from pathlib import Path

from stampede.phrases import some
from stampede.report import pictures
from stampede.report.analysis import Analysis
from stampede.report.answer import Answer
from stampede.report.charts import Chart
from stampede.report.details import cost, details, failures
from stampede.report.render import Detail, Download, Page, render
from stampede.report.results import comparisons
from stampede.report.run import Run
from stampede.runs import stored_json
from stampede.tables import Table

# Larger records stay in a separate file: the page must open on a phone.
LARGEST_EMBEDDED_BYTES = 5_000_000
# Nobody reads a longer list to its end.
MOST_NAMED = 6


def page(
    analysis: Analysis,
    answer: Answer,
    results: Table,
    statistics: str,
    problems: list[str],
    warnings: list[str],
) -> tuple[str, list[Chart]]:
    """The HTML, and its charts, the one of the answer first."""
    run, first = analysis.run, pictures.first(analysis)
    compared = comparisons(analysis.findings, analysis.experiment)
    context = Page(
        title=f"{run.experiment.name} · {run.run_id}",
        kicker=["Stampede", run.experiment.name, run.run_id],
        headline=answer.headline,
        basis=answer.basis,
        command=f"stampede report results/{run.run_id}",
        problems=problems,
        warnings=warnings,
        chart=first,
        tables=[results, compared] if compared else [results],
        caveats=answer.caveats,
        failures=failures(analysis),
        cost=cost(run),
        details=[_without(detail, first) for detail in details(analysis)],
        downloads=_downloads(run, results, statistics),
    )
    charts = [chart for detail in context.details for chart in detail.charts]
    return render(context), [first, *charts] if first else charts


def _without(detail: Detail, first: Chart | None) -> Detail:
    """A detail without the chart that is already shown with the answer."""
    return replace(
        detail, charts=[chart for chart in detail.charts if not first or chart.name != first.name]
    )


def unfinished(run: Run, resume: str | None = None) -> list[str]:
    """A warning if the plan wasn't finished; `resume` is the argument of --resume (default: the
    run's id, for a page that is read elsewhere)."""
    missing = run.unfinished
    if not missing:
        return []
    cells = some([run.cell_words(cell) for cell in missing], MOST_NAMED)
    return [
        f"{len(missing)} of {len(run.cells)} planned cells "
        f"{'was' if len(missing) == 1 else 'were'} not finished: {cells}. To finish, run `stampede "
        f"sweep {run.experiment.name} --resume {resume or shlex.quote(run.run_id)}`."
    ]


def _downloads(run: Run, results: Table, statistics: str) -> list[Download]:
    texts = (
        ("table.csv", results.csv(), "text/csv"),
        ("table.md", results.markdown(), "text/markdown"),
        ("table.json", results.json(), "application/json"),
        ("statistics.json", statistics, "application/json"),
    )
    files = [embedded(label, f"{run.run_id}.{label}", text, kind) for label, text, kind in texts]
    records = _records(run.directory, run.run_id)
    return [*files, records] if records else files


def embedded(label: str, file_name: str, text: str, kind: str) -> Download:
    """A file inside the page; `kind` is its media type."""
    return Download(
        label,
        file_name,
        f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}",
    )


def _records(folder: Path, run_id: str) -> Download | None:
    """The raw records: small ones inside the page, compressed, else a file next to it; None without
    records.

    A script decompresses them on download; without a script, the compressed file is saved.
    """
    try:
        with stored_json.opened(folder / "records.jsonl") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(LARGEST_EMBEDDED_BYTES + 1)
    except (OSError, stored_json.NotAFile):
        return None
    name = f"{run_id}.records.jsonl"
    if size > LARGEST_EMBEDDED_BYTES:
        return Download(
            "records.jsonl",
            name,
            "records.jsonl",
            f"{size / 1e6:,.1f} MB, a file in the same folder",
        )
    packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    return Download(
        "records.jsonl", f"{name}.gz", f"data:application/gzip;base64,{packed}", "compressed", name
    )
