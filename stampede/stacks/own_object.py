"""The object of the user's own that a plan or a stack reads, as S3 has it at this moment, wherever
that S3 is."""

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
    """That of cells with --target `option`, which all have the same; None where the stack has a
    bucket of its own. Raises UsageError where they can't read it, and RunError where S3 doesn't
    answer."""
    values = cells[0].values
    if (own := EXPERIMENTS[experiment].own_object_of(values)) is None:
        return None
    target = _without_a_stack(option, str(values["region"]))
    downloads = sum(cell.messages + cell.warm_up_messages for cell in cells)
    with targets.explained("looking at the object", target):
        return own.find(target.client("s3"), values, downloads)


def of_stack(target: Target) -> DataObject | None:
    """That of an applied stack."""
    if (own := target.experiment.own_object_of(target.outputs)) is None:
        return None
    with targets.explained("looking at the object", target):
        return own.find(target.client("s3"), target.outputs, 0)


def _without_a_stack(option: str, region: str) -> Target:
    """Where --target `option` leads before anything is applied there."""
    if option == "aws":
        return targets.configured({"region": region})
    if (emulator := ministack.running(stack.STATE_DIR)) is None:
        start = (
            "start it with `stampede emulator start` and put your object there, or use --target aws"
        )
        raise UsageError(
            "object: the embedded AWS isn't running, so there is no bucket of yours in it", start
        )
    return targets.local({"region": region}, emulator.access)
