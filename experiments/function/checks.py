"""Checks of the user's package, before anything is applied: what Lambda would refuse only when it is deployed or run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stampede.finding import Finding


def checks(cells: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """All of them, for the variables of a plan's cells."""
    return []
