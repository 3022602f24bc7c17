"""Checks that several experiments make of a plan's cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stampede.experiment import TMP_MARGIN_MB
from stampede.finding import OK, PROBLEM, Finding, Wrong
from stampede.variable_rules import RULES

# What a function needs besides the contents: where, by variable, and how many MB.
MARGINS = {
    "ephemeral_storage_mb": ("/tmp", TMP_MARGIN_MB),
    "memory_size": ("memory", RULES["memory_size"].shared["beside_object_mb"]),
}


def fits(cell: Mapping[str, Any], variable: str, held_mb: int, smaller: str) -> Wrong:
    """Whether the `held_mb` MiB that an operation holds at once fit into the MB that `variable`
    sets; `smaller` says how to hold less."""
    where, margin_mb = MARGINS[variable]
    needed_mb, has_mb = held_mb + margin_mb, cell[variable]
    if needed_mb <= has_mb:
        return None
    more = f"--set {variable}={needed_mb}, or " if RULES[variable].allows(needed_mb) else ""
    found = f"an operation needs {needed_mb:,} MB of {where}, got {has_mb:,}"
    return PROBLEM, found, f"use {more}{smaller}"


def same(check: str, cells: Sequence[Mapping[str, Any]], names: Sequence[str], why: str) -> Finding:
    """Whether each of these variables has one value in all cells; `why` says why it must."""
    for name in names:
        if (count := len({cell[name] for cell in cells})) > 1:
            found = f"{count} values of {name}: {why}"
            return Finding(check, PROBLEM, found, "run a sweep for each value")
    return Finding(check, OK)
