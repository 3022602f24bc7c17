"""How it was counted: the rules that are sentences, named."""

from stampede.report.sections.page import Block, Page


def render(page: Page) -> Block:
    """The section."""
    rules = [(name.replace("_", " "), text) for name, text in page.numbers["rules"].items() if isinstance(text, str)]
    return page.block("counting", "Definitions", rules=rules)
