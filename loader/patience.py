"""How long a drain waits for what, and what it sees when it looks."""

from __future__ import annotations

from dataclasses import dataclass

from stampede.stacks.target import Target

# Between two looks.
POLL_S = {"local": 0.5, "aws": 5.0}
# In a round, of which there are many. A look takes the embedded AWS some ms of a processor.
ROUND_POLL_S = {"local": 0.2, "aws": 2.0}
# SQS's counts are approximate for about a minute after a change (SQS guide, GetQueueAttributes):
# the queue counts as empty once it has looked so for longer than that.
SETTLE_S = {"local": 5.0, "aws": 90.0}
# CloudWatch Logs shows events within seconds as a rule; 187 s have been seen. The emulator shows
# them at once.
LATE_S = {"local": 10.0, "aws": 600.0}
# Before, permissions may not have spread yet, which takes a minute sometimes (IAM guide, "Changes
# that I make are not always immediately visible"): not before is a cell given up as failing.
FAILING_S = {"local": 0.0, "aws": 60.0}
# For so long a host hides a message, whatever the queue's own timeout is
# (functions/transfer/internal/worker). One that has just been applied boots and fetches its
# program, for which it has 5 minutes (infra/modules/host).
HOST_HIDES_S, HOST_START_S = 60.0, 600.0


@dataclass(frozen=True)
class State:
    """What one look showed, in messages; `pending` and `in_flight` are SQS's approximate counts.

    `finished` messages have succeeded, are dead letters, or queries that failed; `failed` ones have
    left error records only, `without_record` no trace at all, or not the lines that name their
    failed objects. `records` are the run's.
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
        """Every message has succeeded or is dead-lettered, and the queue is empty."""
        return self.is_empty and self.finished >= self.sent and not self.without_record

    @property
    def progress(self) -> tuple[int, ...]:
        """The counts that only a message's progress changes; SQS's approximate ones may flicker."""
        return self.finished, self.failed, self.without_record

    def words(self) -> str:
        """The state in words, for the progress display."""
        return (
            f"{self.finished}/{self.sent} done, {self.pending} in the queue, {self.in_flight} in "
            f"flight, {self.without_record} without a record, {self.dead} in the dead-letter queue"
        )


def default_deadline_s(target: Target) -> float:
    """Seconds without progress after which no message of the stack can be on its way any more.

    SQS moves a message to the dead-letter queue at the receive after the last of
    `max_receive_count` visibility timeouts (SQS guide, dead-letter queues). One more for the
    receive that begins them, and the time that log lines may be late. Hosts that never come up cost
    money by the hour: theirs is as short as it can be.
    """
    hidden_s, start_s = (
        (HOST_HIDES_S, HOST_START_S) if has_hosts(target) else (target["visibility_timeout_s"], 0.0)
    )
    return (target["max_receive_count"] + 1) * hidden_s + start_s + LATE_S["aws"]


def has_hosts(target: Target) -> bool:
    """Whether hosts take the messages, and no function."""
    return not target.outputs.get("function_name")
