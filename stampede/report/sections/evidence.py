"""What the run showed of the assumptions that Stampede makes about AWS."""

from stampede.report.grid import Column, Grid, number, single_lines, words
from stampede.report.sections.page import Block, Page
from stampede.runs import evidence


def render(page: Page) -> Block | None:
    """Nothing where no drain with --target aws has made its checks."""
    stored = evidence.stored(page.run.directory, page.run.warnings)
    if "checks" not in stored:
        return None
    lines = [
        [
            words(row["assumption"], "wrapped"),
            words(row["outcome"], "bad" if row["outcome"] == evidence.CONTRADICTED else ""),
            number(row["held"]),
            number(row["contradicted"]),
            words(row["figures"], "wrapped"),
        ]
        for row in evidence.rows(stored)
    ]
    columns = [Column("assumption", words=True), Column("outcome", words=True), Column("held"), Column("contradicted"),
               Column("figures", words=True)]  # fmt: skip
    grid = Grid("evidence-checks", "Assumptions about AWS that this run checked", columns, single_lines(lines), heads=1)
    return page.block("evidence", "Evidence", checks=grid, is_aws=page.run.target == "aws", file=evidence.FILE)
