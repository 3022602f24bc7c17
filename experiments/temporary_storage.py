"""Whether what an operation puts into the function's /tmp fits there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stampede.experiment import TMP_MARGIN_MB
from stampede.finding import PROBLEM, Wrong
from stampede.variable_rules import RULES


def unfitting(cells: Sequence[Any], held_mb: Callable[[Any], int], smaller: str) -> Wrong:
    """What doesn't fit of the first cell in which `held_mb`, the MiB that an operation has there at
    once, are too many; `smaller` is how to have fewer."""
    for cell in cells:
        needed_mb, has_mb = held_mb(cell) + TMP_MARGIN_MB, cell["ephemeral_storage_mb"]
        if has_mb < needed_mb:
            found = f"an operation needs {needed_mb:,} MB of /tmp, got {has_mb:,}"
            fits = RULES["ephemeral_storage_mb"].allows(needed_mb)
            more = f"--set ephemeral_storage_mb={needed_mb}, or " if fits else ""
            return PROBLEM, found, f"use {more}{smaller}"
    return None
