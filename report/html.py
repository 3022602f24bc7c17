"""The report as one self-contained page: no request, everything inline, whole without a script."""

from collections.abc import Sequence
from typing import Any

from report import templating, unfinished
from report.grid import LEVELS
from report.measured import moved_words
from report.phrases import duration
from report.sections import Block, Page
from report.sections.environment import duration_s


def page(read: Page, blocks: Sequence[Block]) -> str:
    """The HTML of the report: its answer, and then its sections. Every text from the run is escaped."""
    run, numbers = read.run, read.numbers
    context = {
        "run": run,
        "experiment": read.experiment,
        "verdict": numbers["verdict"],
        "level": LEVELS[numbers["verdict"]["level"]],
        "facts": _facts(read),
        "problems": [*read.summary.problems, *read.book.problems],
        "warnings": [*unfinished.sentences(run), *_no_records(read), *run.warnings, *read.summary.warnings],
        "blocks": blocks,
    }
    return templating.page("templates/report.html.j2", context)


def _no_records(read: Page) -> list[str]:
    run = read.run
    if len(run.done) or len(run.errors) or len(run.warm_ups):
        return []
    return ["There is not a single record in this run; what else it left is shown."]


def _facts(read: Page) -> list[tuple[str, str]]:
    """The figures at the top of the page."""
    run, book, totals = read.run, read.book, read.numbers["totals"]
    took_s = duration_s(run)
    facts: list[tuple[str, Any]] = [
        ("measured on", run.source),
        (f"one {read.experiment.operation[0]} moves", moved_words(run)),
        ("messages sent", f"{book.totals['sent']:,}" if book.rows else "not recorded"),
        (read.experiment.operation[1], f"{totals['downloads']:,}"),
        ("errors", f"{totals['errors']:,}"),
    ]
    if totals["warm_ups"]:
        facts.append(("warm-ups, not in the figures", f"{totals['warm_ups']:,}"))
    if took_s is not None:
        facts.append(("run took", duration(took_s)))
    return facts
