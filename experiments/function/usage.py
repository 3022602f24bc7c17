"""What an invocation of the user's handler takes, as far as anybody knows before it has run: a process, and no data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stampede.experiment.usage import Usage

# A process of the embedded AWS with the wrapper and a handler of the standard library (proportional set size).
PROCESS_MB = 24


def usage(values: Mapping[str, Any]) -> Usage:
    """The needs of a cell of these variables."""
    return Usage(
        moved_mb=0,
        data_mb=0,
        process_mb=PROCESS_MB,
        tmp_mb=values["ephemeral_storage_mb"],
        sized_by="package",
        uses=(),
    )
