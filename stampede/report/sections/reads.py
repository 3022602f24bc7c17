"""First reads and repeats, side by side in every cell."""

from stampede.report.figures.pairs import Pairs
from stampede.report.sections.page import Block, Page


def render(page: Page) -> Block | None:
    """Nothing where only one of them was measured."""
    compare = next(one for one in page.experiment.compare if one.section == "reads")
    picture = Pairs(page.subject, compare)
    rows = page.numbers["comparisons"].get(compare.name, ())
    sentences = [one["all"]["words"] for one in rows if one["all"]["level"] != "cant_tell"]
    together = rows[0]["together"] if rows else 1
    if picture.figure is None:
        return None
    return page.block("reads", "First and repeat reads", [picture], sentences=sentences, together=together)
