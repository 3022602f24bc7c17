"""What a cell takes, as its experiment says it: from this the bill, the durations and the room needed are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stampede.variable_rules import RULES

HOURS_IN_A_MONTH = 730
# Room in /tmp for the file system's own blocks and whatever the runtime puts there.
TMP_MARGIN_MB = RULES["ephemeral_storage_mb"].shared["beside_contents_mb"]


@dataclass(frozen=True)
class Use:
    """One line of the bill, beside those that every experiment has (Lambda, SQS, logs).

    `price` is a name in prices.json. The quantity, in that price's unit, is `each` for every operation, `per_cell` for
    every cell, `per_cell_hour` for every hour that this cell is the one that is up, `once` for the run, and `per_hour`
    for every hour that a stack is up; where cells differ in the last two, the largest counts. They are so for each `of`
    by itself: what is stored once for several cells names itself there. `log_lines` are what one request leaves in S3's
    server access logs.
    """

    service: str
    what: str
    price: str
    each: float = 0
    once: float = 0
    per_hour: float = 0
    per_cell: float = 0
    per_cell_hour: float = 0
    of: str = ""
    log_lines: int = 1

    @property
    def line(self) -> tuple[str, str, str]:
        """What tells the lines of the bill apart."""
        return self.service, self.what, self.price


@dataclass(frozen=True)
class Usage:
    """One cell's needs. Sizes in MiB, rounded up to whole ones.

    `preparation_s`: seconds of what prepares a cell, by target. `moved_mb`: what one operation moves, and at worst
    holds, but for what stays `within_s3`. `data_mb`: what is put before the first flood, and `emulator_mb` what the
    embedded AWS keeps beside that.
    `process_mb`: a client's process on this machine, without what it moves, and `connections` those that it opens
    beyond the few that every client has. `tmp_mb`: the function's /tmp. `sized_by`: the setting that makes an operation
    smaller, and `faster_by` what makes it faster on AWS. `stack_s`: seconds on AWS in which what only this experiment
    has is put up, filled and taken down, and `apply_s` those in which every change of the stack takes longer.
    `seeded` names what a function of the stack puts before the cell, once for all cells that need the same, and which
    is removed at the end; `seeding_s` are the seconds of that, by target.
    `instance_type`: of the N hosts on which it runs; empty where it runs in functions, or `in_athena`.
    """

    moved_mb: int
    data_mb: int
    process_mb: int
    tmp_mb: int
    sized_by: str
    uses: Sequence[Use]
    stack_s: float = 0
    apply_s: float = 0
    preparation_s: Mapping[str, float] = field(default_factory=dict)
    within_s3: bool = False
    emulator_mb: int = 0
    connections: int = 0
    faster_by: str = "more memory"
    seeded: str = ""
    seeding_s: Mapping[str, float] = field(default_factory=dict)
    instance_type: str = ""
    in_athena: bool = False

    @property
    def on_hosts(self) -> bool:
        """Whether the operation runs on EC2 hosts; elsewhere the stack has a function, whether it is used or not."""
        return bool(self.instance_type)

    @property
    def in_lambda(self) -> bool:
        """Whether the operation runs in a function, and is billed as one."""
        return not self.on_hosts and not self.in_athena
