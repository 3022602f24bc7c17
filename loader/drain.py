"""Waits until every message of a run, or of some cells, has come to its end, and reports the rest.

A drain is done when the queue is empty, with nothing in flight, and every message has an ok record
or lies in the dead-letter queue. What is still open when nothing changes any more, or at the
deadline, is reported. A message that a function received and never answered stays hidden for
hours, several times over: the drain doesn't wait for it, and counts it as unanswered.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from loader import evidence
from loader.collecting import Collecting
from loader.patience import (
    FAILING_S,
    LATE_S,
    POLL_S,
    ROUND_POLL,
    SETTLE_S,
    State,
    default_deadline_s,
    has_hosts,
)
from stampede.errors import RunError
from stampede.insights import log_columns
from stampede.phrases import counted
from stampede.progress import bar, say
from stampede.runs.account import CellAccount, check
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import kind_of
from stampede.stacks.target import Target

Clock = Callable[[], float]
Sleep = Callable[[float], None]


@dataclass(frozen=True)
class Drained:
    """How a drain ended: the accounts of the whole run; `left`, what the deadline cut off;
    `ended_early`, why the drain didn't wait for all messages; `failing`, the cell whose messages
    all fail. A text is "" where it doesn't apply."""

    accounts: list[CellAccount]
    left: str = ""
    ended_early: str = ""
    failing: str = ""

    def check(self) -> None:
        """Raise RunError when messages are still on their way, the account doesn't add up, or
        nothing succeeded."""
        if self.left:
            raise RunError(self.left)
        check(self.accounts)


def drain(
    target: Target,
    folder: RunFolder,
    *,
    deadline_s: float | None = None,
    cells: Collection[str] = (),
    quiet: bool = False,
    waits_for_redelivery: bool = False,
    clock: Clock = time.monotonic,
    sleep: Sleep = time.sleep,
) -> Drained:
    """Wait for the run in `folder`, storing log events, records, dead letters and accounting.json
    as they arrive.

    `cells` limits the wait to their messages; the account is still of the whole run. `quiet`, for
    messages that precede a cell's own, reports only problems and doesn't store the log events as
    columns. The drain ends early when only a redelivery could bring a record (unless
    `waits_for_redelivery`), or when the first messages of a cell have all failed. At the deadline
    it returns too, so that the caller can show the account before it fails. Raises RunError when
    AWS refuses for good.
    """
    waiting = _Waiting(target, Collecting(target, folder, cells), deadline_s, clock, sleep)

    def is_over() -> bool:
        progress.update(task, completed=waiting.state.finished, note=waiting.state.words())
        return waiting.is_at_rest() or (not waits_for_redelivery and waiting.gives_up())

    with bar() as progress:
        what = " ".join(cells) if len(cells) == 1 else folder.run_id
        task = progress.add_task(f"drain {what}", total=waiting.collecting.sent_count, note="")
        drained = waiting.until(is_over)
    if drained.ended_early:
        say(drained.ended_early, style="yellow")
    for account in drained.accounts:
        if (not cells or account.cell in cells) and (account.is_open or not quiet):
            say(account.sentence(), style="red" if account.is_open else None)
            if account.failed + account.dead_lettered and account.commonest_error:
                say(account.commonest_error, style="yellow")
    if not quiet:
        log_columns.store(folder, at_end=not cells)
        if target.option == "aws":
            evidence.check_run(target, folder)
    return drained


def wait_for_round(
    target: Target,
    folder: RunFolder,
    cell: str,
    number: int,
    *,
    deadline_s: float | None = None,
    clock: Clock = time.monotonic,
    sleep: Sleep = time.sleep,
) -> Drained:
    """Wait until every message that `cell` sent in round `number` has a record or is a dead letter,
    so that none is being processed when the next cell's are sent. Redeliveries and late log lines
    are left to the drain of all rounds.

    Ends as early as `drain` when the cell fails. Raises RunError as `drain` does.
    """
    collecting = Collecting(target, folder, [cell])
    waiting = _Waiting(target, collecting, deadline_s, clock, sleep, in_round=True)
    return waiting.until(
        lambda: (
            waiting.is_failing()
            or collecting.have_ended(number)
            or waiting.is_at_rest()
            or waiting.has_nothing_at_work(waiting.quiet_s)
        )
    )


class _Waiting:
    """The polls of one drain: what the last one showed, when that changed, and why the drain ends.

    A deadline given by the user counts from the start of the drain, the default one from the last
    progress of a message. A message held by a host counts as progress: the host keeps extending the
    message's visibility, and stops when it dies. Functions run at most `concurrency_value` at a
    time, each up to its timeout; a message that a function never answers is hidden for the
    visibility timeout. A round doesn't wait for late log lines: the drain of all rounds does.
    """

    def __init__(
        self,
        target: Target,
        collecting: Collecting,
        deadline_s: float | None,
        clock: Clock,
        sleep: Sleep,
        *,
        in_round: bool = False,
    ) -> None:
        self.collecting, self.state = collecting, State()
        self._target, self._clock, self._sleep, self._option = target, clock, sleep, target.option
        self._poll_s = POLL_S[self._option] * (ROUND_POLL if in_round else 1)
        self._settle_s = SETTLE_S[self._option]
        self._late_s = self._settle_s if in_round else LATE_S[self._option]
        self._is_default = deadline_s is None
        self._deadline_s = default_deadline_s(target) if deadline_s is None else deadline_s
        self._hidden_s = target.outputs.get("visibility_timeout_s", math.inf)
        self._changed_s = self._counted_s = clock()  # the deadline counts from the second
        self._error: BotoCoreError | ClientError | None = None
        self._has_read_again = False
        self._ended_early = self._failing = ""

    @property
    def quiet_s(self) -> float:
        """Seconds since anything changed."""
        return self._clock() - self._changed_s

    def until(self, is_over: Callable[[], bool]) -> Drained:
        """Poll until `is_over` or the deadline. Raises RunError when AWS refuses for good."""
        left = ""
        while not left:
            try:
                self._look()
            except (BotoCoreError, ClientError) as error:
                self._note_error(error)
            else:
                self._error = None
                if is_over():
                    break
            self._sleep(self._poll_s)
            left = self._what_is_left()
        return Drained(self.collecting.close(), left, self._ended_early, self._failing)

    def _what_is_left(self) -> str:
        """What is still open at the deadline; "" before it."""
        if self._clock() - self._counted_s <= self._deadline_s:
            return ""
        what = "no message has made progress for" if self._is_default else "the drain has lasted"
        no_answer = f"; AWS doesn't answer ({type(self._error).__name__})" if self._error else ""
        limit = f"{self._deadline_s:.0f} s (--deadline-s sets another limit)"
        return f"{what} {limit}: {self.state.words()}{no_answer}"

    def _look(self) -> None:
        """Poll once; read all lines again when only late ones may still come. Raises boto3's
        errors."""
        before = self.state
        nothing_comes = before.is_empty or self._awaits_redelivery()
        self._has_read_again = bool(before.without_record and nothing_comes)
        self.state = self.collecting.look(again=self._has_read_again)
        if self.state != before:
            self._changed_s = self._clock()
        elif before.without_record and self.quiet_s > self._settle_s:
            targets.refuse_full_disk(self._target)
        is_held = has_hosts(self._target) and self.state.in_flight > 0
        if self._is_default and (is_held or self.state.progress != before.progress):
            self._counted_s = self._clock()

    def _note_error(self, error: BotoCoreError | ClientError) -> None:
        """Report an error once. Raises RunError when retries can't help."""
        explained = targets.explain(error, "draining the queue", self._target)
        if targets.is_gone(self._target) or kind_of(error).is_final:
            raise explained from None
        if self._error is None:
            say(f"{explained}; trying again until the deadline", style="yellow")
        self._error = error

    def is_at_rest(self) -> bool:
        """Whether nothing more will happen: every message is finished, or the queue has been empty
        and unchanged for long enough. While records are missing, that takes until no line can be
        late any more."""
        if self.state.is_done or not self.state.is_empty:
            return self.state.is_done
        may_come = self.state.without_record and not self.collecting.is_long_past(self._late_s)
        return self.quiet_s > (self._late_s if may_come else self._settle_s)

    def has_nothing_at_work(self, since_delivery_s: float) -> bool:
        """Whether all open messages are in flight and every function has timed out, so that only a
        redelivery can bring a record. When more messages are in flight than functions run, the
        pollers hold some back, and they run one after the other."""
        if not self.state.in_flight or self.state.pending or has_hosts(self._target):
            return False
        outputs = self._target.outputs
        batches = math.ceil(self.state.in_flight / outputs.get("concurrency_value", 1))
        longest_s = batches * outputs.get("timeout_s", math.inf) + self._settle_s + self._late_s
        return since_delivery_s > longest_s

    def _awaits_redelivery(self) -> bool:
        """Whether only a redelivery could still bring a record. Nothing shows when one begins: the
        first may begin a visibility timeout after its message was sent, the last as long after the
        last change."""
        if not self.has_nothing_at_work(self.quiet_s):
            return False  # saves a query over all messages
        return self.has_nothing_at_work(
            self.quiet_s - self.collecting.open_for_s() // self._hidden_s * self._hidden_s
        )

    def gives_up(self) -> bool:
        """Whether to stop waiting; messages without a record are then stored as unanswered."""
        if self.is_failing():
            return True
        has_all_lines = self._has_read_again or not self.state.without_record
        if not (has_all_lines and self._awaits_redelivery()):
            return False
        self.collecting.give_up(self.state.in_flight)
        in_flight = counted(self.state.in_flight, "message is", "messages are")
        self._ended_early = (
            f"{in_flight} in flight, {self.state.without_record:,} of this run without a record; "
            "the drain ends now: the functions have timed out, no line can be late any more, and "
            f"SQS redelivers a message only {self._hidden_s:,} s after its last delivery"
        )
        return True

    def is_failing(self) -> bool:
        """Whether the first messages of a cell have all failed; those that haven't run yet are then
        given up too."""
        at_once = self._target.outputs.get("concurrency_value", 1)
        self._failing = self.collecting.failing(at_once, FAILING_S[self._option])
        if self._failing:
            self.collecting.give_up(self.collecting.sent_count)
            self._ended_early = f"{self._failing}: its first messages all failed, so it ends now"
        return bool(self._failing)
