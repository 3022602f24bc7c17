"""What became of every object."""

from dataclasses import replace

from stampede.phrases import counted
from stampede.report.grid import BLANK, Column, Entry, Grid, Row, number, words
from stampede.report.objects import CellObjects, Failures, differences, of_cells
from stampede.report.objects import failures as failures_of
from stampede.report.sections.page import Block, Page
from stampede.runs.account import OBJECT_COUNTS as COUNTS
from stampede.runs.failed_objects import FAILED_OBJECTS

# Further reasons are in the file.
MOST_REASONS = 30
LONGEST = 120


def objects(page: Page) -> Block | None:
    """None where no record counts objects."""
    cells, failures = of_cells(page.run), failures_of(page.run)
    if not any(cell.counts["planned"] for cell in cells) and not any(cell.open for cell in cells):
        return None
    return page.block(
        "objects",
        "Objects",
        grid=_grid(page, cells),
        reasons=_reasons(page, failures) if failures.reasons else None,
        more=max(0, len(failures.reasons) - MOST_REASONS),
        failures=failures,
        file=FAILED_OBJECTS,
        problems=_problems(cells, failures) + differences(page.run, cells),
        again=sum(cell.again for cell in cells),
        several=any(cell.per_s for cell in cells),
    )


def _grid(page: Page, cells: list[CellObjects]) -> Grid:
    figures = {page.key(cell): cell for cell in page.numbers["cells"]}
    several = any(cell.per_s for cell in cells)
    lines = []
    for cell in cells:
        entries = [
            *(number(cell.counts[name]) for name in COUNTS[:-1]),
            _bad(cell.counts["failed"]),
            _bad(cell.missing),
            number(cell.again),
            _bad(cell.open),
            *([number(cell.per_s, cell.per_s and f"{cell.per_s:,.0f}")] if several else []),
        ]
        lines.append((figures[cell.key], entries))
    names = ("planned", "copied", "already there", "failed", "missing", "copied again", "unfinished messages")
    columns = [*map(Column, names), *([Column("aggregate", "per s")] if several else [])]
    grid = page.grid("objects-cells", f"Objects by cell, without {page.warm_ups}", columns, lines)
    sums = [sum(cell.counts[name] or 0 for cell in cells) for name in COUNTS]
    sums += [sum(getattr(cell, name) or 0 for cell in cells) for name in ("missing", "again", "open")]
    foot = Row([words("all cells"), *[BLANK] * (grid.heads - 1), *map(number, sums), *[BLANK] * several])
    return replace(grid, foot=foot)


def _reasons(page: Page, failures: Failures) -> Grid:
    figures = {page.key(cell): cell for cell in page.numbers["cells"]}
    lines = []
    for reason in failures.reasons[:MOST_REASONS]:
        texts = [str(reason.example.get(name) or "") for name in ("source", "destination", "error_message")]
        texts = [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in texts]
        entries = [words(reason.error_type), number(reason.count), *map(words, texts)]
        lines.append((figures[reason.key], entries))
    columns = [
        Column("error", words=True),
        Column("objects"),
        Column("first source", words=True),
        Column("destination", words=True),
        Column("message", words=True),
    ]
    return page.grid("objects-reasons", "Why objects failed", columns, lines)


def _bad(value: int | None) -> Entry:
    """A figure that should be 0."""
    return number(value, looks="bad" if value else "")


def _problems(cells: list[CellObjects], failures: Failures) -> list[str]:
    """Where the figures don't add up."""
    problems = []
    if missing := [cell.missing for cell in cells if cell.missing]:
        objects, where = counted(sum(missing), "object"), counted(len(missing), "cell")
        problems.append(f"The records don’t say what became of {objects} in {where}.")
    named = sum(reason.count for reason in failures.reasons)
    failed = sum(cell.counts["failed"] or 0 for cell in cells)
    if failed != named:
        where = f"{FAILED_OBJECTS} lists {named:,}" if failures.there else f"{FAILED_OBJECTS} is missing"
        problems.append(f"The records count {failed:,} failed objects, but {where}.")
    if unfinished := sum(cell.open for cell in cells):
        problems.append(
            f"Unfinished messages: {unfinished:,}. Their objects aren’t in the other columns; some may have been "
            "copied."
        )
    if failures.unreadable:
        problems.append(f"Unreadable lines in {FAILED_OBJECTS}: {failures.unreadable:,}.")
    return problems
