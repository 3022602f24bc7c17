"""What a plan asks for, cell by cell, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

from experiments import EXPERIMENTS
from stampede.cell import Cell
from stampede.experiment import Usage
from stampede.planning.plan import Plan


@dataclass(frozen=True)
class Demand:
    """What a cell takes of AWS, of this machine and of time. Sizes in MB as Lambda counts them
    (MiB), times in seconds; `applies` unless the cell before has the same stack. `workers` is what
    carries its messages out, in the plural.

    What the model says of its floods, where it `is_foreseen`: `floods_s` are from the first message
    of each to its last record, `working_s` those of all operations together, those too that are cut
    off at the time limit, `longest_s` those of the slowest, were there no limit, and `start_s`
    those of an environment's start that are billed. Otherwise `working_s` is the most that they can
    be in Lambda."""

    cell: Cell
    usage: Usage
    barrier_s: float = 0.0
    applies: bool = True
    workers: str = "functions"
    is_foreseen: bool = False
    floods_s: float = 0.0
    working_s: float = 0.0
    longest_s: float = 0.0
    start_s: float = 0.0

    @property
    def name(self) -> str:
        """The cell's."""
        return self.cell.name

    @property
    def memory_mb(self) -> int:
        """Of a function."""
        return self.cell.values["memory_size"]

    @property
    def concurrency(self) -> int:
        """N."""
        return self.cell.values["concurrency_value"]

    @property
    def timeout_s(self) -> int:
        """Of a function."""
        return self.cell.values["timeout_s"]

    @property
    def pollers(self) -> tuple[int, int] | None:
        """The least and the most provisioned event pollers of the trigger; None in standard
        mode."""
        pollers = self.cell.values.get("provisioned_pollers")
        return pollers and (pollers["minimum"], pollers["maximum"])

    @property
    def operations(self) -> int:
        """What is timed or warmed up in the cell, one a message or a full batch of them."""
        return self.cell.invocations + self.cell.warm_up_invocations

    @property
    def preparing(self) -> int:
        """Messages that prepare the cell, one or none."""
        return int(bool(self.usage.preparation_s))

    @property
    def all_messages(self) -> int:
        """Messages sent in the cell, whatever they are for."""
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
            workers=experiment.worker[1],
        )
        for cell, last in zip(plan.cells, before, strict=False)
    ]
