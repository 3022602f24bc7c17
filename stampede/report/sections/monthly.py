"""What it would cost a month to read and keep the same data, for several numbers of reads."""

from collections.abc import Mapping

from stampede.phrases import dollars
from stampede.report import prices
from stampede.report.grid import Column, Entry, number
from stampede.report.sections.page import Block, Figures, Page
from stampede.runs.cell_key import Key

READS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
MEGABIT_BYTES = 125_000


def render(page: Page) -> Block | None:
    """Nothing without prices stored with the run, or where nothing was measured."""
    known = prices.known(page.run)
    lines = [(cell, _entries(page, page.key(cell), cell, known)) for cell in page.numbers["cells"] if cell["count"]]
    lines = [(cell, entries) for cell, entries in lines if entries]
    if not lines:
        return None
    columns = [Column("stored data", "USD a month"), Column("per million", f"{page.experiment.operation[1]}, USD"),
               *(Column(f"{reads:,}", f"{page.experiment.operation[1]}, USD") for reads in READS)]  # fmt: skip
    caption = f"Monthly cost on AWS by number of {page.experiment.operation[1]}, storage included"
    return page.block("monthly", "Monthly cost", grid=page.grid("monthly", caption, columns, lines))


def _entries(page: Page, key: Key, cell: Figures, known: Mapping[str, float]) -> list[Entry]:
    found, seconds = cell["client"], cell["seconds"]["mean_s"]
    if not found["mbit_per_s"]:
        return []
    requests = None if found["requests"] is None else found["requests"] / cell["count"]
    moved_bytes = found["mbit_per_s"] * MEGABIT_BYTES * seconds
    settings = key.figures() | {"architecture": prices.architecture(page.run, key)}
    bill = page.experiment.a_month(settings, moved_bytes, seconds, requests, known)
    if bill is None:
        return []
    kept_usd, each_usd = bill
    amounts = [kept_usd, each_usd * 1_000_000, *(kept_usd + reads * each_usd for reads in READS)]
    return [number(usd, dollars(usd)) for usd in amounts]
