"""What an experiment knows a cell by."""

from __future__ import annotations

from typing import TypedDict


class Values(TypedDict):
    """The Terraform variables of a cell that every experiment has, numbers as int, what is null at its default.

    A cell has all variables of infra/, and its experiment's axes of the work order; those that the experiment reads are
    typed in `experiments/<name>/values.py`. In a run the loader adds the stack's outputs.
    """

    concurrency_value: int
    memory_size: int  # MB, as Lambda counts them: MiB
    architecture: str
    ephemeral_storage_mb: int
    timeout_s: int
