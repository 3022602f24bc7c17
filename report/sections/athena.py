"""What Athena's queries took: its queue, planning and engine, bytes scanned and what they cost."""

from report import prices
from report.grid import Column, Entry, Grid, number
from report.phrases import dollars, seconds
from report.sections.page import Block, Figures, Page

BYTES_IN_A_TB = 2**40
# A query is billed for this much at least (Athena's pricing page).
LEAST_BYTES = 10 * 2**20
PRICE = "athena_tb"
# The record's words for the service's own times.
TIMES = ("queue_seconds", "planning_seconds", "engine_seconds")
SCANNED = "scanned_bytes"


def render(page: Page) -> Block | None:
    """Nothing where no query was asked."""
    cells = [cell for cell in page.numbers["cells"] if cell["count"] and page.is_query(page.key(cell))]
    if not cells:
        return None
    scanned = [_figure(page, cell, SCANNED) for cell in cells]
    return page.block("athena", "Athena", grid=_grid(page, cells), is_known=any(one is not None for one in scanned))


def _figure(page: Page, cell: Figures, field: str) -> float | None:
    """The metric of a cell that is made of this field of its records."""
    return next((cell["client"][metric.name] for metric in page.experiment.metrics if metric.field == field), None)


def _grid(page: Page, cells: list[Figures]) -> Grid:
    tb_usd = prices.known(page.run).get(PRICE)
    lines = []
    for cell in cells:
        times = [cell["seconds"]["median_s"], *(_figure(page, cell, field) for field in TIMES)]
        scanned = _figure(page, cell, SCANNED)
        usd = None if None in (tb_usd, scanned) else max(scanned, LEAST_BYTES) / BYTES_IN_A_TB * tb_usd
        entries: list[Entry] = [
            number(cell["count"]),
            *(number(one, seconds(one)) for one in times),
            number(scanned, None if scanned is None else f"{scanned / 1e6:,.1f}"),
            number(usd, None if usd is None else dollars(usd)),
        ]
        lines.append((cell, entries))
    columns = [Column("count"), Column("median", "s, in all"), Column("queue", "s"), Column("planning", "s"),
               Column("engine", "s"), Column("scanned", "MB"), Column("a query", "USD")]  # fmt: skip
    return page.grid("queries", "What Athena says of its queries: the median in all, and means", columns, lines)
