"""The report as one self-contained page: no request, everything inline, whole without a script."""

from collections.abc import Sequence
from typing import Any

from stampede.phrases import counted, duration
from stampede.report import templating, unfinished
from stampede.report.grid import LEVELS
from stampede.report.measured import moved_label, moved_words
from stampede.report.sections import Block, Page
from stampede.report.sections.about import duration_s
from stampede.report.sections.page import Figures
from stampede.report.statistics import knee, rules
from stampede.report.statistics.headline import failed_objects, only_ignored


def page(read: Page, blocks: Sequence[Block]) -> str:
    """The HTML of the report: its answer, and then its sections. Every text from the run is escaped."""
    run, numbers = read.run, read.numbers
    context = {
        "run": run,
        "experiment": read.experiment,
        "verdict": numbers["verdict"],
        "chip": _chip(numbers["verdict"]),
        "basis": [("How sure", _how_sure(read)), ("Measured on", run.source + (", not AWS" if run.not_aws else ""))],
        "facts": _facts(read),
        "problems": problems(read),
        "warnings": warnings(read),
        "blocks": blocks,
    }
    return templating.page("templates/report.html.j2", context)


def _chip(verdict: Figures) -> tuple[str, str] | None:
    """Whether throughput holds as N grows, as a level and in words; None where it isn't known, or where two words don't
    say how much is. What is unknown differs from nothing, so beside it one level isn't a mixture."""
    known = {place["level"] for place in verdict["per_memory"]} - {"cant_tell"}
    level, where = verdict["level"], ""
    if len(known) == 1 and level == "mixed":
        [level], where = known, " where known"
    return None if level in ("cant_tell", "unclear") else (level, f"{LEVELS[level]}{where}")


def problems(read: Page) -> list[str]:
    """What puts the figures in doubt."""
    return [*read.summary.problems, *read.book.problems]


def warnings(read: Page, resume: str | None = None) -> list[str]:
    """What of the run is missing or damaged."""
    run = read.run
    sentences = unfinished.sentences(run, resume)
    if not read.numbers["totals"]["records"]:
        sentences = [*sentences, "This run has no records; the report shows everything else that it left."]
    return [*sentences, *run.warnings, *read.summary.warnings]


def _how_sure(read: Page) -> str:
    """On how much the answer rests, and whether what was asked for ran at all."""
    operation, operations = read.experiment.operation
    counts = [cell["count"] for cell in read.numbers["cells"]]
    if not any(counts):
        sure = f"Not at all: no {operation} succeeded."
    elif read.run.stand_ins(map(read.key, read.numbers["cells"])):
        sure = "No comparison is claimed: a stand-in ran."
    elif only_ignored(read.run, read.numbers["comparisons"]):
        sure = "No comparison is claimed: the embedded AWS ignores what was swept."
    else:
        runs = _runs_words(read.numbers["cells"])
        least, most = min(counts), max(counts)
        number = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        needed = (
            knee.MINIMUM_FOR_INTERVAL if read.numbers.get("knees", {}).get("series") else rules.MINIMUM_FOR_INTERVAL
        )
        sure = f"{number} {operation if number == '1' else operations} per cell"
        few = "too few for intervals" if most < needed else "in some of them too few for intervals"
        sure = f"95 % intervals from {sure}; {runs}." if least >= needed else f"{sure}, {few}; {runs}."
    doubts = " The figures are in doubt." if problems(read) else ""
    return f"{sure}{doubts} {read.numbers['verdict']['reached']}"


def _runs_words(cells: Sequence[Figures]) -> str:
    """In how many rounds and repeats the cells ran."""
    repeats = max(len(cell["repeats"]) for cell in cells)
    words = f"{repeats} repeats" if repeats > 1 else "no repeats"
    rounds = sorted(cell["parallelism"].get("rounds", 0) // repeats for cell in cells if cell["parallelism"])
    if not rounds or not rounds[0]:
        return f"some cells in rounds, {words}" if any(rounds) else words
    least = f"{rounds[0]:,} to " if rounds[0] < rounds[-1] else ""
    return f"in {least}{counted(rounds[-1], 'round')}, {words}"


def _facts(read: Page) -> list[tuple[str, str]]:
    """The figures at the top of the page."""
    run, book, totals = read.run, read.book, read.numbers["totals"]
    took_s = duration_s(run)
    sent = "messages and queries" if read.has_queries else "messages"
    facts: list[tuple[str, Any]] = [
        (moved_label(run), moved_words(run)),
        (f"{sent} sent", f"{book.totals['sent']:,}" if book.rows else "not recorded"),
        (read.experiment.operation[1], f"{totals['downloads']:,}"),
        ("errors", f"{totals['errors']:,}"),
    ]
    planned, failed = failed_objects(read.numbers["cells"])
    if failed:
        facts.append(("failed objects", f"{failed:,} of {planned:,}"))
    if totals["warm_ups"]:
        facts.append((f"{read.warm_ups}, left out", f"{totals['warm_ups']:,}"))
    if took_s is not None:
        facts.append(("duration", duration(took_s)))
    return facts
