"""What a cell takes, as its experiment says it: from this the bill, the durations and the room needed are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GET_PART_MB = 8  # boto3's download_file: parts of 8 MiB
HOURS_IN_A_MONTH = 730
# infra's rule: room in /tmp for the file system's own blocks and whatever the runtime puts there.
TMP_MARGIN_MB = 64


@dataclass(frozen=True)
class Use:
    """One line of the bill, beside those that every experiment has (Lambda, SQS, logs).

    `price` is a name in prices.json. The quantity, in that price's unit, is `each` for every message, `once` for the
    run, and `per_hour` for every hour that the stack is up; where cells differ in the last two, the largest counts.
    """

    service: str
    what: str
    price: str
    each: float = 0
    once: float = 0
    per_hour: float = 0


@dataclass(frozen=True)
class Usage:
    """One cell's needs. Sizes in MiB, rounded up to whole ones.

    `seconds`: of one operation, expected, by target. `moved_mb`: what one operation moves, and at worst holds.
    `data_mb`: what is put before the first flood. `process_mb`: a function's process on the embedded AWS, without what
    it moves. `tmp_mb`: the function's /tmp. `sized_by`: the setting that makes an operation smaller. `stack_s`: seconds
    on AWS in which what only this experiment has is put up and taken down. `in_lambda`: whether the operation runs in
    a function, and is billed as one.
    """

    seconds: Mapping[str, float]
    moved_mb: int
    data_mb: int
    process_mb: int
    tmp_mb: int
    sized_by: str
    uses: Sequence[Use]
    stack_s: float = 0
    in_lambda: bool = True
