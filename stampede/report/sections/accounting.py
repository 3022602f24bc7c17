"""Where every message went."""

from stampede.report.sections.page import Block, Page


def render(page: Page) -> Block:
    """The section."""
    return page.block("accounting", "Accounting", book=page.book, cell_words=page.run.cell_words)
