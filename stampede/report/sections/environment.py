"""Where a run took place, from run.json, as labels and texts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stampede.phrases import size_words
from stampede.report import sdks
from stampede.report.sections.page import Block, Page
from stampede.runs.run import Run

GROUPS = (("machine", "Machine"), ("versions", "Versions"), ("account", "Account"), ("plan", "Plan"))
TARGETS = {"local": "local: the embedded AWS on this machine", "aws": "AWS"}


def render(page: Page) -> Block:
    """The section."""
    return page.block("environment", "Environment", environment=groups(page.run))


def groups(run: Run) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, [(label, text)]) for every part of run.json that says something; the run itself comes first."""
    own = [
        ("run", run.run_id),
        ("experiment", run.experiment.name),
        ("target", TARGETS.get(run.target) or (run.source if run.not_aws else run.target)),
        ("region", run.region or ""),
        ("started", moment(run.manifest.get("started_at"))),
        ("finished", moment(run.manifest.get("finished_at")) or _without_end(run)),
        ("results format", str(run.manifest.get("format", ""))),
        ("Stampede", str(run.manifest.get("stampede_version", ""))),
        *sdks.rows(run),
    ]
    found = [("Run", [(label, text) for label, text in own if text])]
    for name, heading in GROUPS:
        lines = flattened(_short(run.manifest.get(name)))
        if lines:
            found.append((heading, lines))
    return found


def _without_end(run: Run) -> str:
    """Why run.json has no end: that of a flood by hand isn't noted, and its plan has no order of cells."""
    is_sweep = "order" in (run.manifest.get("plan") or {})
    return "unknown: the run may have been interrupted" if is_sweep else "not recorded for a flood by hand"


def _short(part: object) -> object:
    """`part` without the lists of the cells and of their settings, which are as long as the run, and run.json has them,
    without what --target was (the run's own says more), and without an empty list of further products."""
    if not isinstance(part, Mapping):
        return part
    left_out = {"order", "cells", "rest", "target"} | ({"also"} if not part.get("also") else set())
    return {name: value for name, value in part.items() if name not in left_out}


def flattened(value: object, prefix: str = "") -> list[tuple[str, str]]:
    """The leaves of a JSON value as (label, text), labels like `fixed: object size mb`; null is `not set`."""
    if isinstance(value, Mapping):
        named = ((f"{prefix}: {name}" if prefix else name, part) for name, part in value.items())
        return [pair for name, part in named for pair in flattened(part, name)]
    if prefix.endswith("_bytes") and type(value) is int:
        return [(_label(prefix.removesuffix("_bytes")), size_words(value))]
    if isinstance(value, list) and any(isinstance(part, Mapping | list) for part in value):
        return [pair for at, part in enumerate(value, start=1) for pair in flattened(part, f"{prefix} {at}")]
    text = ", ".join(map(_text, value)) or "none" if isinstance(value, list) else _text(value)
    return [(_label(prefix), text)] if prefix else []


def moment(value: object) -> str:
    """An ISO 8601 time for reading; anything else as it is, nothing as an empty text."""
    if isinstance(value, str):
        try:
            return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M:%S %Z}".strip()
        except ValueError:
            return value
    return "" if value is None else str(value)


def duration_s(run: Run) -> float | None:
    """Seconds from started_at to finished_at of run.json; None when either isn't an ISO 8601 time."""
    try:
        start, end = (datetime.fromisoformat(run.manifest[name]) for name in ("started_at", "finished_at"))
        return (end - start).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None


def _label(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
