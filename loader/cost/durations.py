"""How long a plan may take: the time of a download, of a cell, and of what stands around the cells.

No run on AWS stands behind the times of Terraform; they are rough, and the progress of a sweep corrects them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loader.cost.demand import Demand

# The slowest mean of the published table: 1 GiB by boto3's download_file, at every memory size from
# 1024 MB and every concurrency up to 500 (means from 12.67 to 13.24 s). Rather too much than too little.
PUBLISHED_S_PER_GIB = 13.24
FULL_SPEED_MEMORY_MB = 1024
# The published comparison of S3 and EFS: 19.03 s at 512 MB against 12.76 s at 1024 MB.
SLOWDOWN_AT_512_MB = 19.03 / 12.76
# One HEAD and one GET of nothing, in round trips and boto3's own time.
LEAST_DOWNLOAD_S = 0.25

# The SQS trigger in standard mode, and in provisioned mode (ten invocations at once for each poller).
STANDARD_START, STANDARD_PER_MINUTE = 5, 300
INVOCATIONS_PER_POLLER, PROVISIONED_PER_MINUTE = 10, 1000

# The embedded AWS on a machine of two cores [tried]: 64 MiB objects, up to 10 functions at once; and what a message
# takes of it however small the object is, 2,500 downloads of 1 MiB by 500 functions at once in 63 s.
LOCAL_MIB_PER_S = 400
LOCAL_S_PER_MESSAGE = 0.025
LOCAL_LEAST_DOWNLOAD_S = 0.15
GIB_IN_MIB = 1024


@dataclass(frozen=True)
class Surroundings:
    """Seconds around the downloads: before the first cell, for each cell, after the last, and the upload's speed."""

    first_apply_extra_s: float
    apply_s: float
    settle_s: float
    destroy_s: float
    upload_mib_per_s: float


# AWS: the provider alone waits 25 s for a queue and 2 minutes for its deletion; logs lag. The upload: 100 Mbit/s.
SURROUNDINGS = {
    "aws": Surroundings(60, 30, 15, 180, 12),
    "local": Surroundings(30, 10, 5, 15, 200),
}


def download_s(demand: Demand, target: str) -> float:
    """Expected seconds of one download in the cell, on AWS or on this machine."""
    if target == "local":
        one_alone_s = max(LOCAL_S_PER_MESSAGE, demand.object_mb / LOCAL_MIB_PER_S)
        return max(LOCAL_LEAST_DOWNLOAD_S, demand.concurrency * one_alone_s)
    return max(LEAST_DOWNLOAD_S, PUBLISHED_S_PER_GIB * demand.object_mb / GIB_IN_MIB * slowdown(demand.memory_mb))


def slowdown(memory_mb: int) -> float:
    """How many times slower a download is for want of memory, which is CPU.

    1 from 1024 MB; down to 512 MB the power of memory that meets both published points, (1024 / MB) ^ 0.577; below that
    proportional to 1 / MB, which nobody measured.
    """
    if memory_mb >= FULL_SPEED_MEMORY_MB:
        return 1.0
    if memory_mb >= 512:
        return (FULL_SPEED_MEMORY_MB / memory_mb) ** math.log2(SLOWDOWN_AT_512_MB)
    return SLOWDOWN_AT_512_MB * 512 / memory_mb


def flood_s(messages: int, one_s: float, concurrency: int, start: float, per_minute: float) -> float:
    """Seconds in which `messages` of `one_s` each go through a trigger that starts at `start` and adds `per_minute`.

    The functions at once grow from `start` to `concurrency` in a straight line and stay there; the area below is the
    work. (The sum of ramp and messages x seconds / N would count the downloads during the ramp twice.)
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
    """Expected seconds of one cell: apply, warm-up, flood, and the wait for the last log lines."""
    one_s, around = download_s(demand, target), SURROUNDINGS[target]
    start, per_minute = _ramp(demand, target)
    floods_s = sum(
        flood_s(messages, one_s, demand.concurrency, start, per_minute)
        for messages in (demand.warm_up_messages, demand.messages)
    )
    return around.apply_s + floods_s + demand.barrier_s + around.settle_s


def around_s(object_mb: int, target: str) -> float:
    """Expected seconds before the first cell and after the last: what only the first apply makes, upload, destroy."""
    around = SURROUNDINGS[target]
    return around.first_apply_extra_s + object_mb / around.upload_mib_per_s + around.destroy_s


def _ramp(demand: Demand, target: str) -> tuple[float, float]:
    """Functions at once at the start of a flood, and how many are added each minute."""
    if target == "local":
        return demand.concurrency, STANDARD_PER_MINUTE  # the emulator has no ramp
    if demand.pollers:
        return demand.pollers.minimum * INVOCATIONS_PER_POLLER, PROVISIONED_PER_MINUTE
    return STANDARD_START, STANDARD_PER_MINUTE
