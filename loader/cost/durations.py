"""How long a plan may take: the time of a flood, of a cell, and of what stands around the cells.

No run on AWS stands behind the times of Terraform; they are rough, and the progress of a sweep corrects them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loader.cost.demand import Demand

# The SQS trigger in standard mode, and in provisioned mode (ten invocations at once for each poller).
STANDARD_START, STANDARD_PER_MINUTE = 5, 300
INVOCATIONS_PER_POLLER, PROVISIONED_PER_MINUTE = 10, 1000


@dataclass(frozen=True)
class Surroundings:
    """Seconds around the floods: before the first cell, for each cell, after the last, and the upload's speed."""

    first_apply_extra_s: float
    apply_s: float
    settle_s: float
    destroy_s: float
    upload_mib_per_s: float


# AWS: the provider alone waits 25 s for a queue and 2 minutes for its deletion; logs lag. The upload: 100 Mbit/s.
SURROUNDINGS = {
    "aws": Surroundings(60, 30, 15, 180, 12),
    "local": Surroundings(30, 10, 2, 15, 200),
}


def flood_s(messages: int, one_s: float, concurrency: int, start: float, per_minute: float) -> float:
    """Seconds in which `messages` of `one_s` each go through a trigger that starts at `start` and adds `per_minute`.

    The functions at once grow from `start` to `concurrency` in a straight line and stay there; the area below is the
    work. (The sum of ramp and messages x seconds / N would count the operations during the ramp twice.)
    """
    if messages == 0:
        return 0.0
    work_s, start = messages * one_s, min(start, concurrency)
    per_s = per_minute / 60
    ramp_s = (concurrency - start) / per_s
    work_in_ramp_s = ramp_s * (start + concurrency) / 2
    if work_s <= work_in_ramp_s:
        seconds = (math.sqrt(start * start + 2 * per_s * work_s) - start) / per_s
    else:
        seconds = ramp_s + (work_s - work_in_ramp_s) / concurrency
    return max(seconds, one_s)


def cell_s(demand: Demand, target: str) -> float:
    """Expected seconds of one cell: apply (where it does), preparation, warm-up, flood, and the wait for the last log
    lines."""
    one_s, around = demand.usage.seconds[target], SURROUNDINGS[target]
    apply_s = around.apply_s + (demand.usage.apply_s if target == "aws" else 0)
    start, per_minute = _ramp(demand, target)
    floods_s = sum(
        flood_s(messages, one_s, demand.concurrency, start, per_minute)
        for messages in (demand.warm_up_messages, demand.messages)
    )
    return apply_s * demand.applies + demand.preparation_s(target) + floods_s + demand.barrier_s + around.settle_s


def around_s(cells: Sequence[Demand], target: str) -> float:
    """Expected seconds that stand beside the cells: what only the first apply makes, upload, what is placed for several
    of them, destroy."""
    around, usages = SURROUNDINGS[target], [cell.usage for cell in cells]
    stack_s = max(one.stack_s for one in usages) if target == "aws" else 0
    upload_s = max(one.data_mb for one in usages) / around.upload_mib_per_s
    placing_s: dict[str, float] = {}
    for one in usages:
        placing_s[one.placed] = max(placing_s.get(one.placed, 0.0), one.placing_s.get(target, 0.0))
    return around.first_apply_extra_s + upload_s + sum(placing_s.values()) + around.destroy_s + stack_s


def _ramp(demand: Demand, target: str) -> tuple[float, float]:
    """Functions at once at the start of a flood, and how many are added each minute."""
    if target == "local" or not demand.usage.in_lambda:
        return demand.concurrency, STANDARD_PER_MINUTE  # neither the emulator nor hosts that ask the queue have a ramp
    if demand.pollers:
        return demand.pollers.minimum * INVOCATIONS_PER_POLLER, PROVISIONED_PER_MINUTE
    return STANDARD_START, STANDARD_PER_MINUTE
