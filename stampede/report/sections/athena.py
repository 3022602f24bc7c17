"""What Athena's queries took: its queue, planning and engine, bytes scanned and what they cost; and how many times as
fast one of two variants is as the other."""

from stampede.phrases import dollars, seconds
from stampede.report import prices
from stampede.report.grid import Column, Entry, Grid, as_fast, number
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.by_size import choice_of

BYTES_IN_A_TB = 2**40
# A query is billed for this much at least (Athena's pricing page).
LEAST_BYTES = 10 * 2**20
PRICE = "athena_tb"
# The record's words for the service's own times.
TIMES = ("queue_seconds", "planning_seconds", "engine_seconds")
SCANNED = "scanned_bytes"


def athena(page: Page) -> Block | None:
    """None where no query came to its end; one that didn't has its line among the others."""
    cells = [cell for cell in page.numbers["cells"] if page.is_query(page.key(cell))]
    if not any(cell["count"] for cell in cells):
        return None
    is_known = any(page.figure_of(cell, SCANNED) is not None for cell in cells)
    _, _, base = choice_of(page.experiment)
    return page.block(
        "athena", "Athena", grid=_grid(page, cells, base), is_known=is_known, base=base, together=_together(page, base)
    )


def _together(page: Page, base: str) -> int:
    """How many comparisons with `base` the intervals hold for at once."""
    compares = [compare.name for compare in page.experiment.compare if compare.base == (base,)]
    rows = [row for name in compares for row in page.numbers["comparisons"].get(name, ())]
    return rows[0]["together"] if rows else 1


def _grid(page: Page, cells: list[Figures], base: str) -> Grid:
    tb_usd, ratios = prices.known(page.run).get(PRICE), {}
    for compare in page.experiment.compare:
        if compare.base == (base,):
            for row in page.numbers["comparisons"].get(compare.name, ()):
                ratios[page.key(row)] = row["all"]["ratio_of_medians"]
    is_aws, lines = page.run.target == "aws", []
    for cell in cells:
        total_s, scanned = cell["seconds"]["median_s"], page.figure_of(cell, SCANNED)
        times = [page.figure_of(cell, field) for field in TIMES]
        usd = None if None in (tb_usd, scanned) else max(scanned, LEAST_BYTES) / BYTES_IN_A_TB * tb_usd
        entries: list[Entry] = [
            number(cell["count"]),
            number(total_s, seconds(total_s)),
            *as_fast(ratios.get(page.key(cell))),
            *(number(time_s, seconds(time_s)) for time_s in times),
            number(scanned, None if scanned is None else f"{scanned / 1e6:,.1f}"),
        ]
        if is_aws:
            entries.append(number(usd, None if usd is None else dollars(usd)))
        lines.append((cell, entries))
    columns = [
        Column("count"),
        Column("median", "s, total"),
        Column("speedup", f"× {base}"),
        Column("95 %"),
        Column("queue", "s"),
        Column("planning", "s"),
        Column("engine", "s"),
        Column("scanned", "MB"),
    ]
    if is_aws:
        columns.append(Column("per query", "USD"))
    whose = "Athena’s own times of its" if is_aws else "Reported times of the"
    caption = f"{whose} queries: the median total, and means of the others"
    return page.grid("queries", caption, columns, lines)
