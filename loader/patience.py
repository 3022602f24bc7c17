"""How long a drain waits for what, and when a cell has come to rest. Pure: the same state gives the same answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from stampede.phrases import counted
from stampede.stacks.target import Target

# Between two looks.
POLL_S = {"local": 0.5, "aws": 5.0}
# In a round, of which there are many. A look takes the embedded AWS some ms of a processor.
ROUND_POLL_S = {"local": 0.2, "aws": 2.0}
# SQS's counts are approximate for about a minute after a change (SQS guide, GetQueueAttributes): the queue counts as
# empty once it has looked so for longer than that.
SETTLE_S = {"local": 5.0, "aws": 90.0}
# CloudWatch Logs shows events within seconds as a rule; 187 s have been seen. The emulator shows them at once.
LATE_S = {"local": 10.0, "aws": 600.0}
# While records are owed and the queue is empty, all log lines of the cell are read again this often.
READ_AGAIN_S = {"local": 3.0, "aws": 30.0}
# Before, permissions may not have spread yet, which takes a minute sometimes (IAM guide, "Changes that I make are not
# always immediately visible"): not before is a cell given up as failing.
FAILING_S = {"local": 0.0, "aws": 60.0}
# For so long a host hides a message, whatever the queue's own timeout is (functions/transfer/internal/worker).
# One that has just been applied boots and fetches its program, for which it has 5 minutes (infra/modules/host).
HOST_HIDES_S, HOST_START_S = 60.0, 600.0


@dataclass(frozen=True)
class State:
    """What one look showed, in messages; `pending` and `in_flight` are SQS's approximate counts.

    `finished` messages have succeeded, are dead letters, or queries that failed; `failed` ones have left error records
    only, `without_record` no trace at all, or not the lines that name their failed objects. `records` are the run's.
    """

    sent: int
    finished: int
    failed: int
    without_record: int
    pending: int
    in_flight: int
    dead: int
    records: int = 0

    @property
    def is_empty(self) -> bool:
        """Nothing visible, delayed or in flight."""
        return self.pending == 0 and self.in_flight == 0

    @property
    def is_done(self) -> bool:
        """Every message has succeeded or is dead-lettered, and the queue is empty."""
        return self.is_empty and self.finished >= self.sent and not self.without_record

    @property
    def progress(self) -> tuple[int, ...]:
        """What only ever moves because a message did."""
        return self.finished, self.failed, self.without_record, self.dead

    def words(self) -> str:
        """The state in words, for the progress display."""
        return (
            f"{self.finished}/{self.sent} done, {self.pending} in the queue, {self.in_flight} in flight, "
            f"{self.without_record} without a record, {self.dead} in the dead-letter queue"
        )


@dataclass(frozen=True)
class Patience:
    """Seconds between looks, until an empty queue is believed, for late log lines, and until a drain gives up.

    `deadline_s` counts from the start of the drain where the user gave it (`is_given`), else from the last time that a
    message made progress; a message in flight counts as progress where its worker `holds` it, saying again and again
    that it is at work: how long one takes, nobody knows, and a worker that has died says nothing. Of functions,
    `at_once` run together, none longer than `timeout_s`; what one doesn't answer is hidden for `visibility_timeout_s`.
    """

    poll_s: float
    settle_s: float
    late_s: float
    read_again_s: float
    deadline_s: float
    is_given: bool
    timeout_s: float
    visibility_timeout_s: float
    at_once: int
    failing_s: float
    holds: bool = False

    @classmethod
    def of(cls, target: Target, deadline_s: float | None) -> Patience:
        """The patience for a stack. Raises UsageError where its outputs lack the queue's values."""
        option = target.option
        return cls(
            POLL_S[option],
            SETTLE_S[option],
            LATE_S[option],
            READ_AGAIN_S[option],
            default_deadline_s(target) if deadline_s is None else deadline_s,
            deadline_s is not None,
            target.outputs.get("timeout_s", math.inf),
            target.outputs.get("visibility_timeout_s", math.inf),
            target.outputs.get("concurrency_value", 1),
            FAILING_S[option],
            holds=_has_hosts(target),  # a function is cut off at its timeout; a host isn't
        )

    @classmethod
    def of_a_round(cls, target: Target, deadline_s: float | None) -> Patience:
        """The patience for one cell's share of a round: nobody waits for late lines before all rounds are sent."""
        whole = cls.of(target, deadline_s)
        return replace(whole, poll_s=ROUND_POLL_S[target.option], late_s=whole.settle_s)

    def is_moving(self, state: State, before: State | None) -> bool:
        """Whether a message has made progress since the last look, or is held by a worker."""
        return before is None or state.progress != before.progress or (self.holds and state.in_flight > 0)

    def is_at_rest(self, state: State, quiet_s: float, *, is_long_past: bool) -> bool:
        """Whether nothing more will happen to the messages: all are finished, or the queue has been empty and nothing
        has moved for `quiet_s`; that takes longer while records are owed, unless all happened so long ago
        (`is_long_past`) that no line is late any more."""
        if state.is_done:
            return True
        waits_for_lines = state.without_record and not is_long_past
        return state.is_empty and quiet_s > (self.late_s if waits_for_lines else self.settle_s)

    def is_stuck(self, state: State, since_delivery_s: float) -> bool:
        """Whether all that is left is in flight, and every delivery has ended: no record can come of it until SQS makes
        the next one. Where more are in flight than functions run, pollers hold some back until others have ended."""
        rounds = -(-state.in_flight // self.at_once)
        is_in_flight = state.in_flight > 0 and state.pending == 0 and not self.holds
        return is_in_flight and since_delivery_s > rounds * self.timeout_s + self.settle_s + self.late_s

    def since_delivery_s(self, quiet_s: float, open_for_s: float) -> float:
        """Seconds since a delivery can have begun at the latest, where nothing has changed for `quiet_s`.

        Nobody sees a redelivery begin. The first can begin a visibility timeout after the message was sent
        (`open_for_s` ago), and the last one as long after the last change.
        """
        return quiet_s - open_for_s // self.visibility_timeout_s * self.visibility_timeout_s

    def stuck_words(self, state: State) -> str:
        """Why a drain ends with messages in flight."""
        in_flight = counted(state.in_flight, "message is", "messages are")
        return (
            f"{in_flight} in flight, {state.without_record:,} of this run without a record; the drain "
            f"ends now, because the function's timeout ({self.timeout_s:,} s) and the {self.late_s:.0f} s that log "
            f"lines may be late have passed, and SQS redelivers a message only {self.visibility_timeout_s:,} s after "
            "its last delivery (visibility_timeout_s)"
        )

    def is_over(self, waited_s: float, unmoved_s: float) -> bool:
        """Whether the deadline has passed, `waited_s` after the start and `unmoved_s` after the last progress."""
        return (waited_s if self.is_given else unmoved_s) > self.deadline_s

    def deadline_words(self) -> str:
        """The deadline in words."""
        if self.is_given:
            return f"the deadline of {self.deadline_s:.0f} s (--deadline-s) has passed"
        return f"no message has made progress for {self.deadline_s:.0f} s (--deadline-s sets another limit)"


def default_deadline_s(target: Target) -> float:
    """Seconds without progress after which no message of the stack can be on its way any more.

    SQS moves a message to the dead-letter queue at the receive after the last of `max_receive_count` visibility
    timeouts (SQS guide, dead-letter queues). One more for the receive that begins them, and the time that log lines may
    be late. Hosts that never come up cost money by the hour: theirs is as short as it can be.
    """
    hidden_s, start_s = (HOST_HIDES_S, HOST_START_S) if _has_hosts(target) else (target["visibility_timeout_s"], 0.0)
    return (target["max_receive_count"] + 1) * hidden_s + start_s + LATE_S["aws"]


def _has_hosts(target: Target) -> bool:
    """Whether hosts take the messages, and no function."""
    return not target.outputs.get("function_name")
