"""What the page rests on: where the run took place, how it was counted, and what it showed of the assumptions about
AWS."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stampede.phrases import counted, size_words
from stampede.report.grid import Column, Grid, number, single_lines, words
from stampede.report.run import Run
from stampede.report.sections.page import Block, Page
from stampede.runs import evidence as stored_evidence
from stampede.runs.folder import is_flood_by_hand

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
    """Where and when the run took place, with what."""
    return page.block("environment", "Environment", template="about", lines=environment_lines(page.run))


def environment_lines(run: Run) -> list[tuple[str, str]]:
    """(label, text) of what run.json says of it."""
    manifest = run.manifest
    versions, machine = (
        part if isinstance(part, Mapping) else {} for part in map(manifest.get, ("versions", "machine"))
    )
    finished = moment(manifest.get("finished_at"))
    if not finished:
        by_hand = is_flood_by_hand(manifest)
        finished = "not recorded for a flood by hand" if by_hand else "unknown: the run may have been interrupted"
    programs = [(name, str(versions.get(name.lower()) or "")) for name in ("Terraform", "Python", "boto3", "MiniStack")]
    lines = [
        ("run", run.run_id),
        ("target", TARGETS.get(run.target) or (run.source if run.not_aws else run.target)),
        ("region", run.region or ""),
        ("started", moment(manifest.get("started_at"))),
        ("finished", finished),
        *programs,
        ("machine", _machine_words(machine)),
    ]
    return [(label, text) for label, text in lines if text]


def _machine_words(machine: Mapping[str, Any]) -> str:
    processors, memory_bytes = machine.get("processors"), machine.get("memory_bytes")
    words = [str(machine["system"])] if machine.get("system") else []
    words += [counted(processors, "processor")] if type(processors) is int else []
    words += [size_words(memory_bytes)] if type(memory_bytes) is int else []
    return ", ".join(words)


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
