"""Jinja2, as every page and section uses it: everything escaped, nothing undefined, nothing loaded from elsewhere."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from stampede.phrases import unbroken
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture


def section(file: str, name: str, /, **context: Any) -> Markup:
    """The macro `name` of the sections' template `file`, with `context`."""
    module = _environment().get_template(f"sections/{file}.html.j2").make_module(context)
    return getattr(module, name)()


def page(template: str, context: dict[str, Any]) -> str:
    """A whole page: `template`, a path inside this package, with `context` and what every page needs: style, script,
    colours."""
    script = (files("stampede.report") / "templates" / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    common = {
        "script": Markup(script),
        # Nothing may be loaded or sent, and no script but ours may run, whatever a record says.
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'",
        "figure_colours": drawing.css_variables(),
    }
    return _environment().get_template(template).render(common | context)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("stampede.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"unbroken": unbroken, "inlined": _inlined, "thousands": "{:,}".format}
    environment.globals["parts"] = environment.get_template("templates/parts.html.j2").module
    return environment


def _inlined(picture: Picture) -> Markup:
    """The SVG of `picture`, ready for the page."""
    return Markup(drawing.inline(picture.svg, picture.name, escape(picture.title), escape(picture.description())))
