"""Cold starts: does the first operation of a sandbox take longer than its later ones?"""

from stampede.phrases import seconds
from stampede.report.figures.cold_starts import ColdStarts
from stampede.report.grid import Column, Grid, number, ratio
from stampede.report.sections.page import Block, Page


def render(page: Page) -> Block:
    """The section."""
    together = max((cell["cold"]["together"] for cell in page.numbers["cells"]), default=1)
    return page.block("cold", "Cold starts", [ColdStarts(page.subject)], grid=_grid(page), together=together)


def _grid(page: Page) -> Grid:
    lines = []
    for cell in page.numbers["cells"]:
        found = cell["cold"]
        entries = [
            *(number(found[kind]["count"]) for kind in ("cold", "warm")),
            *(number(found[kind]["median_s"], seconds(found[kind]["median_s"])) for kind in ("cold", "warm")),
            *ratio(found["difference_of_medians_s"], "{:+.3f}"),
        ]
        lines.append((cell, entries))
    columns = [Column("cold"), Column("warm"), Column("median cold", "s"), Column("median warm", "s"),
               Column("cold − warm", "s"), Column("95 %", "s")]  # fmt: skip
    return page.grid("cold", f"Cold against warm {page.experiment.operation[1]}", columns, lines)
