"""Experiments as data: which Terraform variables are swept, with what load, and which saved query sums up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loader import hcl


@dataclass(frozen=True)
class Matrix:
    """The default cells of a target: every combination of `swept`, with `fixed` the same in all of them."""

    swept: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """One experiment; `messages_per_concurrency` times N messages are sent to each cell of concurrency N."""

    name: str
    summary_query: str
    messages_per_concurrency: int
    matrices: Mapping[str, Matrix]


EXPERIMENTS = {
    "download": Experiment(
        name="download",
        summary_query="download/summary",
        messages_per_concurrency=10,
        matrices={
            # The published matrix (January 2025): 1 GiB, six levels of concurrency, two of memory.
            "aws": Matrix(
                swept={"memory_size": (1024, 2048), "concurrency_value": (1, 5, 10, 50, 100, 500)},
                fixed={"object_size_mb": 1024, "ephemeral_storage_mb": 1200},
            ),
            # The same shape, scaled to one small machine.
            "local": Matrix(
                swept={"memory_size": (1024, 2048), "concurrency_value": (1, 5, 10)},
                fixed={"object_size_mb": 64, "ephemeral_storage_mb": 512},
            ),
        },
    ),
}


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell's readable id, as it stands in messages and records: memory_size=1024,concurrency_value=5."""
    return ",".join(f"{name}={hcl.text_of(value)}" for name, value in cell.items())
