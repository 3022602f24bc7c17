"""The sections of the report: one module and one template each, `render(page) -> Block or None`.

A section is found by its name in the declaration of the experiment; one that has nothing to show leaves no trace.
"""

from collections.abc import Callable
from importlib import import_module

from stampede.report.sections.page import Block, Page

__all__ = ["Block", "Page", "renderer"]


def renderer(name: str) -> Callable[[Page], Block | None]:
    """What renders the section `name`. Raises ModuleNotFoundError for one that there isn't."""
    return import_module(f"stampede.report.sections.{name}").render
