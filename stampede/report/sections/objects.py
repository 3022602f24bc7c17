"""What became of every object."""

from collections import Counter

from stampede.report import objects
from stampede.report.grid import BLANK, Column, Entry, Grid, Row, number, words
from stampede.report.objects import CellObjects, Failures
from stampede.report.sections.page import Block, Page
from stampede.runs.failed_objects import FAILED_OBJECTS
from stampede.runs.objects_account import COUNTS

# Further reasons are in the file.
MOST_REASONS = 30
LONGEST = 120


def render(page: Page) -> Block | None:
    """Nothing where no record counts objects."""
    found = objects.of_cells(page.run)
    if not any(one.counts["planned"] for one in found) and not any(one.open for one in found):
        return None
    failures = objects.failures(page.run)
    return page.block(
        "objects",
        "Objects",
        grid=_grid(page, found),
        reasons=_reasons(page, failures) if failures.reasons else None,
        more=max(0, len(failures.reasons) - MOST_REASONS),
        failures=failures,
        file=FAILED_OBJECTS,
        problems=_problems(found, failures) + objects.differences(page.run, found),
        again=sum(one.again for one in found),
        several=any(one.per_s for one in found),
    )


def _grid(page: Page, found: list[CellObjects]) -> Grid:
    cells = {page.key(cell): cell for cell in page.numbers["cells"]}
    several = any(one.per_s for one in found)
    lines = []
    for one in found:
        entries = [
            *(number(one.counts[name]) for name in COUNTS[:-1]),
            _bad(one.counts["failed"]),
            _bad(one.missing),
            number(one.again),
            _bad(one.open),
            *([number(one.per_s, one.per_s and f"{one.per_s:,.0f}")] if several else []),
        ]
        lines.append((cells[one.key], entries))
    names = ("planned", "copied", "already there", "failed", "missing", "copied again", "unfinished messages")
    columns = [*map(Column, names), *([Column("aggregate", "per s")] if several else [])]
    heads = len(page.grid("", "", [], lines[:1]).columns)
    sums = [sum(one.counts[name] or 0 for one in found) for name in COUNTS]
    others = [sum(one.missing or 0 for one in found), sum(one.again for one in found), sum(one.open for one in found)]
    foot = Row([words("all cells"), *[BLANK] * (heads - 1), *map(number, [*sums, *others]), *[BLANK] * several])
    return page.grid("objects-cells", "Objects by cell, without warm-ups", columns, lines, foot)


def _reasons(page: Page, failures: Failures) -> Grid:
    cells = {page.key(cell): cell for cell in page.numbers["cells"]}
    lines = []
    for one in failures.reasons[:MOST_REASONS]:
        entries = [
            words(one.error_type),
            number(one.count),
            words(_short(one.example.get("source"))),
            words(_short(one.example.get("destination"))),
            words(_short(one.example.get("error_message"))),
        ]
        lines.append((cells[one.key], entries))
    columns = [Column("error", words=True), Column("objects"), Column("first source", words=True),
               Column("destination", words=True), Column("message", words=True)]  # fmt: skip
    return page.grid("objects-reasons", "Why objects failed", columns, lines)


def _bad(value: int | None) -> Entry:
    """A figure that should be 0."""
    return number(value, looks="bad" if value else "")


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _problems(found: list[CellObjects], failures: Failures) -> list[str]:
    """Where the figures don't add up."""
    problems = []
    if missing := [one for one in found if one.missing]:
        count = sum(one.missing or 0 for one in missing)
        problems.append(f"The records don’t say what became of {count:,} objects in {len(missing)} cells.")
    named = Counter[object]()
    for reason in failures.reasons:
        named[reason.key] += reason.count
    failed = sum(one.counts["failed"] or 0 for one in found)
    if failed != named.total():
        where = f"{FAILED_OBJECTS} lists {named.total():,}" if failures.there else f"{FAILED_OBJECTS} is missing"
        problems.append(f"The records count {failed:,} failed objects, but {where}.")
    if unfinished := sum(one.open for one in found):
        problems.append(
            f"Unfinished messages: {unfinished:,}. Their objects aren’t in the other columns; some may have been "
            "copied."
        )
    if failures.unreadable:
        problems.append(f"Unreadable lines in {FAILED_OBJECTS}: {failures.unreadable:,}.")
    return problems
