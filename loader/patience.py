"""How long a drain waits, and what one of its polls shows."""

from __future__ import annotations

from dataclasses import dataclass

from stampede.stacks.target import Target

# Between two polls.
POLL_S = {"local": 0.5, "aws": 5.0}
# Rounds, of which there are many, poll sooner: after this part of it. A poll takes the embedded AWS
# some ms of CPU time.
ROUND_POLL = 0.4
# SQS's counts are approximate for about a minute after a change (SQS guide, GetQueueAttributes):
# the queue counts as empty after it has looked empty for longer than that.
SETTLE_S = {"local": 5.0, "aws": 90.0}
# CloudWatch Logs usually shows events within seconds; the longest delay seen is 187 s. The emulator
# shows them at once.
LATE_S = {"local": 10.0, "aws": 600.0}
# New permissions may take a minute to spread (IAM guide, "Changes that I make are not always
# immediately visible"): no cell is given up as failing before that.
FAILING_S = {"local": 0.0, "aws": 60.0}
# How long a host hides a message, whatever the queue's own timeout is
# (functions/transfer/internal/worker). A new host boots and fetches its program, which takes it up
# to 5 minutes (infra/modules/host).
HOST_HIDES_S, HOST_START_S = 60.0, 600.0


@dataclass(frozen=True)
class State:
    """What one poll showed, in messages; `pending` and `in_flight` are SQS's approximate counts.

    `finished` messages have succeeded, are dead letters, or are queries that failed. `failed` ones
    have left only error records. Those `without_record` have left no trace, or lack the lines that
    list their failed objects. `records` counts those of the whole run.
    """

    sent: int = 0
    finished: int = 0
    failed: int = 0
    without_record: int = 0
    pending: int = 0
    in_flight: int = 0
    dead: int = 0
    records: int = 0

    @property
    def is_empty(self) -> bool:
        """Nothing visible, delayed or in flight."""
        return self.pending == self.in_flight == 0

    @property
    def is_done(self) -> bool:
        """Every message is finished, and the queue is empty."""
        return self.is_empty and self.finished >= self.sent and not self.without_record

    @property
    def progress(self) -> tuple[int, ...]:
        """The counts that change only when a message does; SQS's approximate ones may flicker."""
        return self.finished, self.failed, self.without_record

    def words(self) -> str:
        """The state in words, for the progress display."""
        return (
            f"{self.finished}/{self.sent} done, {self.pending} in the queue, {self.in_flight} in "
            f"flight, {self.without_record} without a record, {self.dead} in the dead-letter queue"
        )


def default_deadline_s(target: Target) -> float:
    """Seconds without progress after which no message of the stack can be on its way any more.

    SQS moves a message to the dead-letter queue at the first receive after the last of
    `max_receive_count` visibility timeouts (SQS guide, dead-letter queues). This adds one timeout
    for the receive that begins them, and the time by which log lines may be late. Hosts that never
    come up are billed by the hour, so their deadline is as short as it can be.
    """
    receives = target["max_receive_count"] + 1
    if has_hosts(target):
        return receives * HOST_HIDES_S + HOST_START_S + LATE_S["aws"]
    return receives * target["visibility_timeout_s"] + LATE_S["aws"]


def has_hosts(target: Target) -> bool:
    """Whether hosts take the messages, and not a function."""
    return not target.outputs.get("function_name")
