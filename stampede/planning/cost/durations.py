"""The duration of a plan: each cell, with the floods that the model predicts, and the time around
the cells.

The times of Terraform aren't measured on AWS. They are rough, and a sweep's progress corrects them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stampede.planning import access_log
from stampede.planning.demand import Demand


@dataclass(frozen=True)
class Surroundings:
    """Seconds around the floods: before the first cell, for each cell and each of its rounds, and
    after the last cell; and the upload's speed."""

    first_apply_extra_s: float
    apply_s: float
    settle_s: float
    round_s: float
    destroy_s: float
    upload_mib_per_s: float


# All operations of a local sweep share this machine, whatever N is: seconds of each, and the rate
# at which they move bytes. Rough figures of a machine with two cores.
LOCAL_OPERATION_S, LOCAL_MIB_PER_S = 0.1, 600
# On AWS the provider alone waits 25 s for a queue and 2 minutes for its deletion, and logs lag
# after each round. The upload has 100 Mbit/s.
SURROUNDINGS = {
    "aws": Surroundings(60, 30, 15, 8, 180, 12),
    "local": Surroundings(30, 10, 2, 0.2, 15, 200),
}


def cell_s(demand: Demand, target: str) -> float:
    """Expected seconds of a cell: apply (if it does), preparation, warm-up, flood, and the waits
    for the log lines of each round and of the cell."""
    around, floods_s = SURROUNDINGS[target], demand.floods_s
    if target == "local":
        each_s = LOCAL_OPERATION_S + demand.usage.moved_mb / LOCAL_MIB_PER_S
        floods_s = demand.operations * each_s + demand.cell.rounds * demand.barrier_s
    waiting_s = around.settle_s + (
        around.round_s * demand.cell.rounds if demand.cell.rounds > 1 else 0.0
    )
    extra_s = demand.usage.apply_s if target == "aws" else 0
    apply_s = (around.apply_s + extra_s) * demand.applies
    return apply_s + demand.preparation_s(target) + floods_s + waiting_s


def around_s(cells: Sequence[Demand], target: str) -> float:
    """Expected seconds around the cells: the first apply's extra time, the upload, the seeding of
    sets that cells share, the wait for S3's access logs (as if the stack isn't kept), and
    destroy."""
    around, usages = SURROUNDINGS[target], [demand.usage for demand in cells]
    stack_s = max(usage.stack_s for usage in usages) if target == "aws" else 0
    upload_s = max(usage.data_mb for usage in usages) / around.upload_mib_per_s
    seeding_s: dict[str, float] = {}
    for usage in usages:
        seeding_s[usage.seeded] = max(
            seeding_s.get(usage.seeded, 0.0), usage.seeding_s.get(target, 0.0)
        )
    waits = target == "aws" and any(access_log.is_on(demand.cell.values) for demand in cells)
    logs_s = access_log.WAIT_S if waits else 0
    return (
        around.first_apply_extra_s
        + upload_s
        + sum(seeding_s.values())
        + logs_s
        + around.destroy_s
        + stack_s
    )
