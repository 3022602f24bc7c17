"""What each cell of a plan needs, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments import EXPERIMENTS
from stampede.cell import Cell
from stampede.experiment import Usage
from stampede.planning.plan import Plan

if TYPE_CHECKING:
    from stampede.planning.predicting import Question


@dataclass(frozen=True)
class Demand:
    """What a cell needs of AWS, of this machine and of time. Sizes are in MB as Lambda counts them
    (MiB), times in seconds. The cell `applies` unless the cell before has the same stack.

    If the model can predict its floods on AWS, `question` has the model's answers: `floods_s` from
    the first message of each flood to its last record, `working_s` of all operations together, also
    those that the time limit cuts off, `longest_s` of the slowest operation without a limit, and
    `start_s`, billed, of an environment's start. Otherwise `why_not` says why, and `working_s` is
    an upper bound of the time in Lambda."""

    cell: Cell
    usage: Usage
    barrier_s: float = 0.0
    applies: bool = True
    question: Question | None = None
    why_not: str = ""
    floods_s: float = 0.0
    working_s: float = 0.0
    longest_s: float = 0.0
    start_s: float = 0.0

    @property
    def name(self) -> str:
        """The cell's name."""
        return self.cell.name

    @property
    def memory_mb(self) -> int:
        """A function's memory."""
        return self.cell.values["memory_size"]

    @property
    def concurrency(self) -> int:
        """N."""
        return self.cell.values["concurrency_value"]

    @property
    def timeout_s(self) -> int:
        """A function's timeout."""
        return self.cell.values["timeout_s"]

    @property
    def pollers(self) -> tuple[int, int] | None:
        """The minimum and maximum of the trigger's provisioned pollers; None in standard mode."""
        pollers = self.cell.values.get("provisioned_pollers")
        return pollers and (pollers["minimum"], pollers["maximum"])

    @property
    def operations(self) -> int:
        """Timed and warm-up operations of the cell, one for each message or full batch."""
        return self.cell.invocations + self.cell.warm_up_invocations

    @property
    def preparing(self) -> int:
        """The number of messages that prepare the cell: one or none."""
        return int(bool(self.usage.preparation_s))

    @property
    def all_messages(self) -> int:
        """All messages of the cell."""
        return self.cell.messages + self.cell.warm_up_messages + self.preparing

    def preparation_s(self, target: str) -> float:
        """Seconds of the message that prepares the cell; 0 without one."""
        return self.usage.preparation_s.get(target, 0.0)


def demands(plan: Plan) -> list[Demand]:
    """The demand of every cell of `plan`, in the order in which they run."""
    experiment = EXPERIMENTS[plan.experiment]
    before = [None, *(cell.block for cell in plan.cells)]
    return [
        Demand(
            cell=cell,
            usage=experiment.usage(cell.values),
            barrier_s=plan.start_barrier_s or 0.0,
            applies=cell.block != last,
        )
        for cell, last in zip(plan.cells, before, strict=False)
    ]
