"""What the page rests on: where the run took place, how it was counted, and what it showed of the assumptions about
AWS."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stampede.phrases import size_words
from stampede.report import sdks
from stampede.report.grid import Column, Grid, number, single_lines, words
from stampede.report.run import Run
from stampede.report.sections.page import Block, Page
from stampede.runs import evidence as stored_evidence
from stampede.runs.folder import is_flood_by_hand

GROUPS = (("machine", "Machine"), ("versions", "Versions"), ("account", "Account"), ("plan", "Plan"))
TARGETS = {"local": "local: the embedded AWS on this machine", "aws": "AWS"}


def counting(page: Page) -> Block:
    """The rules that are sentences, by name."""
    rules = [(name.replace("_", " "), text) for name, text in page.numbers["rules"].items() if isinstance(text, str)]
    compared = any(page.numbers["comparisons"].values())
    return page.block("counting", "Definitions", template="about", rules=rules, compared=compared)


def evidence(page: Page) -> Block | None:
    """None where no drain with --target aws has made its checks."""
    stored = stored_evidence.stored(page.run.directory, page.run.warnings)
    if "checks" not in stored:
        return None
    lines = [
        [
            words(row["assumption"], "wrapped"),
            words(row["outcome"], "bad" if row["outcome"] == stored_evidence.CONTRADICTED else ""),
            number(row["held"]),
            number(row["contradicted"]),
            words(row["figures"], "wrapped"),
        ]
        for row in stored_evidence.rows(stored)
    ]
    columns = [
        Column("assumption", words=True),
        Column("outcome", words=True),
        Column("held"),
        Column("contradicted"),
        Column("figures", words=True),
    ]
    caption = "Assumptions about AWS that this run checked"
    grid = Grid("evidence-checks", caption, columns, single_lines(lines), heads=1)
    is_aws = page.run.target == "aws"
    return page.block("evidence", "Evidence", template="about", checks=grid, is_aws=is_aws, file=stored_evidence.FILE)


def environment(page: Page) -> Block:
    """What run.json says of the machine, the versions, the account and the plan."""
    return page.block("environment", "Environment", template="about", groups=groups(page.run))


def groups(run: Run) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, [(label, text)]) for every part of run.json that says something; the run itself comes first."""
    manifest, finished = run.manifest, moment(run.manifest.get("finished_at"))
    if not finished:
        by_hand = is_flood_by_hand(manifest)
        finished = "not recorded for a flood by hand" if by_hand else "unknown: the run may have been interrupted"
    own = [
        ("run", run.run_id),
        ("experiment", run.experiment.name),
        ("target", TARGETS.get(run.target) or (run.source if run.not_aws else run.target)),
        ("region", run.region or ""),
        ("started", moment(manifest.get("started_at"))),
        ("finished", finished),
        ("results format", str(manifest.get("format", ""))),
        ("Stampede", str(manifest.get("stampede_version", ""))),
        *sdks.rows(run),
    ]
    parts = [("Run", [(label, text) for label, text in own if text])]
    parts += [(heading, flattened(_short(manifest.get(name)))) for name, heading in GROUPS]
    return [(heading, lines) for heading, lines in parts if lines]


def _short(part: object) -> object:
    """`part` without the lists of the cells and of their settings, which are as long as the run, and run.json has them,
    without what --target was (the run's own says more), without an empty list of further products, without the paths of
    files on this machine, and without what the plan's own options say: of warm-ups, those that prepare a shared list
    are none of the plan's."""
    if not isinstance(part, Mapping):
        return part
    left_out = {"order", "cells", "rest", "target", "paths", "warm_up_messages", "start_barrier"} | (
        {"also"} if not part.get("also") else set()
    )
    return {name: value for name, value in part.items() if name not in left_out}


def flattened(value: object, prefix: str = "") -> list[tuple[str, str]]:
    """The leaves of a JSON value as (label, text), labels like `fixed: object size mb`; null is `not set`."""
    if isinstance(value, Mapping):
        named = ((f"{prefix}: {name}" if prefix else name, part) for name, part in value.items())
        return [pair for name, part in named for pair in flattened(part, name)]
    label = prefix.replace("_", " ")
    if prefix.endswith("_bytes") and type(value) is int:
        return [(label.removesuffix(" bytes"), size_words(value))]
    if isinstance(value, list) and any(isinstance(part, Mapping | list) for part in value):
        return [pair for at, part in enumerate(value, start=1) for pair in flattened(part, f"{prefix} {at}")]
    text = ", ".join(map(_text, value)) or "none" if isinstance(value, list) else _text(value)
    return [(label, text)] if prefix else []


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


def _text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
