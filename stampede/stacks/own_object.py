"""The user's own object that a plan or a stack reads, as S3 has it now, on AWS or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from experiments import EXPERIMENTS
from stampede.cell import Cell
from stampede.emulator import ministack, stack
from stampede.errors import UsageError
from stampede.experiment import DataObject
from stampede.stacks import target as targets
from stampede.stacks.target import Target


def of_plan(option: str, experiment: str, cells: Sequence[Cell]) -> DataObject | None:
    """The object of a plan's cells with --target `option`; None if the stack has its own bucket.
    Raises UsageError if the cells can't read it, and RunError if S3 doesn't answer."""
    values = cells[0].values
    if (own := EXPERIMENTS[experiment].own_object_of(values)) is None:
        return None
    target = _without_a_stack(option, str(values["region"]))
    downloads = sum(cell.messages + cell.warm_up_messages for cell in cells)
    with targets.explained("looking at the object", target):
        return own.find(target.client("s3"), values, downloads)


def of_stack(target: Target) -> DataObject | None:
    """The object of an applied stack; None if the stack has its own bucket."""
    if (own := target.experiment.own_object_of(target.outputs)) is None:
        return None
    with targets.explained("looking at the object", target):
        return own.find(target.client("s3"), target.outputs, 0)


def _without_a_stack(option: str, region: str) -> Target:
    """The target of --target `option` before anything is applied there."""
    if option == "aws":
        return targets.configured({"region": region})
    if (emulator := ministack.running(stack.STATE_DIR)) is None:
        raise UsageError(
            "object: the embedded AWS isn't running, so it has no bucket of yours",
            "use `stampede emulator start` and put your object there, or use --target aws",
        )
    return targets.local({"region": region}, emulator.access)
