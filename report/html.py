"""The report as one self-contained page: no request, everything inline, whole without a script."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from report import (
    accounting,
    answer,
    cell_grids,
    cost,
    downloads,
    environment,
    errors,
    figures,
    statistics,
    table,
    unfinished,
)
from report.comparing import Comparison, size_words
from report.figures import Picture, drawing, overlap_timeline
from report.grid import Grid
from report.measured import spreads
from report.phrases import duration, unbroken
from report.published_grid import published_grid
from report.run import Run
from report.summary import Summary

Numbers = Mapping[str, Any]


def page(run: Run, summary: Summary, beside: Comparison, numbers: Numbers, pictures: Mapping[str, Picture]) -> str:
    """The HTML of the report of `run`: its summary rows, the same beside the published ones, its statistics and
    pictures. Every text from the run is escaped.
    """
    return render("report.html.j2", _context(run, summary, beside, numbers, pictures))


def render(template: str, context: dict[str, Any]) -> str:
    """`template` of report/templates with `context` and what every page needs: style, script, colours."""
    script = (files("report") / "templates" / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    common = {
        "script": Markup(script),
        # Nothing may be loaded, and no script but ours may run, whatever a record says.
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'",
        "figure_colours": drawing.css_variables(),
    }
    return _templates().get_template(template).render(common | context)


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "unbroken": unbroken,
        "inlined": inlined,
        "thousands": "{:,}".format,
    }
    return templates


def inlined(picture: Picture) -> Markup:
    """The SVG of `picture`, ready for the page."""
    return Markup(drawing.inline(picture.svg, picture.name, escape(picture.title), escape(picture.words)))


def _context(
    run: Run, summary: Summary, beside: Comparison, numbers: Numbers, pictures: Mapping[str, Picture]
) -> dict[str, Any]:
    book = accounting.account_book(run)
    return {
        "run": run,
        "cell_words": run.cell_words,
        "numbers": numbers,
        "verdict": numbers["verdict"],
        "level": cell_grids.LEVELS[numbers["verdict"]["level"]],
        "published_sentence": answer.published_sentence(run, spreads(run)),
        "facts": _facts(run, numbers, book),
        "problems": [*summary.problems, *book.problems],
        "warnings": [*unfinished.sentences(run), *_no_records(run), *run.warnings, *summary.warnings],
        "origin": summary.origin,
        "checked": summary.compared and bool(run.downloads) and not summary.problems,
        "caption": beside.caption,
        "beside": published_grid(beside) if beside.rows else None,
        "pictures": dict.fromkeys(figures.NAMES) | pictures,
        "timelines_left_out": overlap_timeline.left_out(numbers),
        "grids": _grids(numbers),
        "downloads": _downloads(run, beside, numbers),
        "book": book,
        "failures": errors.failures(run),
        "dead_letters": errors.dead_letters(run),
        "cost": _cost(run),
        "environment": environment.groups(run),
        "rules": _rules(numbers["rules"]),
    }


def _no_records(run: Run) -> list[str]:
    if run.downloads or run.errors or run.warm_ups:
        return []
    return ["There is not a single record in this run; what else it left is shown."]


def _grids(numbers: Numbers) -> dict[str, Grid | None]:
    inside = any(cell["inside_window"]["count"] for cell in numbers["cells"])
    return {
        "distribution": cell_grids.distribution(numbers),
        "inside": cell_grids.distribution(numbers, inside=True) if inside else None,
        "against": cell_grids.against_smallest(numbers),
        "memories": cell_grids.between_memories(numbers),
        "client": cell_grids.client(numbers),
        "parallelism": cell_grids.parallelism(numbers),
        "cold": cell_grids.cold(numbers),
        "attempts": cell_grids.attempts(numbers),
        "repeats": cell_grids.repeats(numbers),
    }


def _facts(run: Run, numbers: Numbers, book: accounting.AccountBook) -> list[tuple[str, str]]:
    """The figures at the top of the page."""
    totals = numbers["totals"]
    took_s = environment.duration_s(run)
    facts = [
        ("measured on", run.source),
        ("object", size_words(run.object_bytes) if run.object_bytes else "unknown or mixed"),
        ("messages sent", f"{book.totals['sent']:,}" if book.rows else "not recorded"),
        ("downloads", f"{totals['downloads']:,}"),
        ("errors", f"{totals['errors']:,}"),
    ]
    if totals["warm_ups"]:
        facts.append(("warm-ups, not in the figures", f"{totals['warm_ups']:,}"))
    if took_s is not None:
        facts.append(("run took", duration(took_s)))
    return facts


def _downloads(run: Run, beside: Comparison, numbers: Numbers) -> list[downloads.Download]:
    found = [
        downloads.embedded("table.csv", f"{run.run_id}.table.csv", table.to_csv(beside), "text/csv"),
        downloads.embedded("table.md", f"{run.run_id}.table.md", table.to_markdown(beside), "text/markdown"),
        downloads.embedded("table.json", f"{run.run_id}.table.json", table.to_json(beside), "application/json"),
        downloads.embedded(
            "statistics.json", f"{run.run_id}.statistics.json", statistics.to_text(dict(numbers)), "application/json"
        ),
    ]
    records = downloads.records(run.directory, run.run_id)
    return [*found, records] if records else found


def _cost(run: Run) -> dict[str, Any] | None:
    found = cost.estimate(run)
    if found is None:
        return None
    return {"headline": cost.headline(run, found), "basis": cost.basis(found), "grid": cost.grid(found)}


def _rules(rules: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How it was counted: the rules that are sentences, named."""
    return [(name.replace("_", " "), text) for name, text in rules.items() if isinstance(text, str)]
