"""Waits until every message of a run, or of one cell, has come to rest, and says what hasn't.

Done means: the queue and its in-flight count are empty, and every message has an ok record or lies
in the dead-letter queue. What is still open when nothing moves any more, or at the deadline, is
named. A message that a function took and never answered is hidden for hours, several times: nobody
waits for that, and it is accounted for as unanswered.
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
    ROUND_POLL_S,
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
    """How a drain ended: the whole run's accounts, why messages may still be on their way ("" when
    none is), why the drain ended before some came to their end ("" when all did), and the cell
    whose messages fail ("" without one)."""

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

    With `cells` only their messages are waited for (the account is still of the whole run); `quiet`
    says only what is wrong, and is for messages that go before a cell's own: after others the lines
    are stored as columns too. It ends early where only a redelivery could bring a record, or where
    the first messages of a cell have all failed, unless it `waits_for_redelivery`. Returns how it
    ended, also at the deadline, so that the caller can show it before it fails. Raises RunError
    when AWS refuses for good, or doesn't answer until the deadline.
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
    """Wait until every message that `cell` sent in its round `number` has a record or is a dead
    letter, so that none of them is at work when the next cell's are sent. Redeliveries and late log
    lines are left to the drain of all rounds.

    Returns how it ended; as early as `drain` where the cell fails. Raises RunError as `drain` does.
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
        self._poll_s = (ROUND_POLL_S if in_round else POLL_S)[self._option]
        self._settle_s = SETTLE_S[self._option]
        self._late_s = self._settle_s if in_round else LATE_S[self._option]
        self._deadline_s = default_deadline_s(target) if deadline_s is None else deadline_s
        self._is_given = deadline_s is not None
        self._timeout_s = target.outputs.get("timeout_s", math.inf)
        self._hidden_s = target.outputs.get("visibility_timeout_s", math.inf)
        self._started = self._changed = self._progressed = clock()
        self._error: BotoCoreError | ClientError | None = None
        self._has_answered = self._has_read_again = False
        self._ended_early = self._failing = ""

    @property
    def quiet_s(self) -> float:
        """Seconds since anything changed."""
        return self._clock() - self._changed

    def until(self, is_over: Callable[[], bool]) -> Drained:
        """Look until it is over, or the deadline has passed, which progress puts off.

        Raises RunError where AWS hadn't answered before it, or refuses for good."""
        left = ""
        while not left:
            try:
                self._look()
            except (BotoCoreError, ClientError) as error:
                self._note_error(error)
            else:
                self._error, self._has_answered = None, True
                if is_over():
                    break
            self._sleep(self._poll_s)
            left = self._what_is_left()
        return Drained(self.collecting.close(), left, self._ended_early, self._failing)

    def _what_is_left(self) -> str:
        """What isn't done at the deadline; "" before."""
        since_s = self._started if self._is_given else self._progressed
        if self._clock() - since_s <= self._deadline_s:
            return ""
        if self._error and not self._has_answered:
            raise targets.explain(self._error, "draining the queue", self._target) from None
        what = "the drain has lasted" if self._is_given else "no message has made progress for"
        no_answer = f"; AWS doesn't answer ({type(self._error).__name__})" if self._error else ""
        limit = f"{self._deadline_s:.0f} s (--deadline-s sets another limit)"
        return f"{what} {limit}: {self.state.words()}{no_answer}"

    def _look(self) -> None:
        """See how things stand, and read all lines again where none but late ones may come. Raises
        what boto3 raises."""
        before = self.state
        nothing_comes = before.is_empty or self._awaits_redelivery()
        self._has_read_again = bool(before.without_record and nothing_comes)
        self.state = self.collecting.look(again=self._has_read_again)
        if self.state != before:
            self._changed = self._clock()
        elif before.without_record and self.quiet_s > self._settle_s:
            targets.refuse_full_disk(self._target)
        is_held = has_hosts(self._target) and self.state.in_flight > 0
        if is_held or self.state.progress != before.progress:
            self._progressed = self._clock()

    def _note_error(self, error: BotoCoreError | ClientError) -> None:
        """Say an error once. Raises RunError for one that no waiting mends."""
        explained = targets.explain(error, "draining the queue", self._target)
        if targets.is_gone(self._target) or kind_of(error).is_final:
            raise explained from None
        if self._error is None:
            say(f"{explained}; trying again until the deadline", style="yellow")
        self._error = error

    def is_at_rest(self) -> bool:
        """Whether nothing more will happen to the messages: all are finished, or the queue has been
        empty and nothing has changed for long enough; that takes longer while records are owed,
        unless all happened so long ago that no line is late any more."""
        if self.state.is_done or not self.state.is_empty:
            return self.state.is_done
        waits_for_lines = self.state.without_record and not self.collecting.is_long_past(
            self._late_s
        )
        return self.quiet_s > (self._late_s if waits_for_lines else self._settle_s)

    def has_nothing_at_work(self, since_delivery_s: float) -> bool:
        """Whether all that is left is in flight, and every delivery has ended: no record can come
        of it until SQS makes the next one. Where more are in flight than functions run, pollers
        hold some back until others have ended."""
        one_after_another = -(
            -self.state.in_flight // self._target.outputs.get("concurrency_value", 1)
        )
        if not self.state.in_flight or self.state.pending or has_hosts(self._target):
            return False
        return (
            since_delivery_s > one_after_another * self._timeout_s + self._settle_s + self._late_s
        )

    def _awaits_redelivery(self) -> bool:
        """Whether only a redelivery could still bring a record. Nobody sees one begin: the first
        can a visibility timeout after the message was sent, and the last one as long after the last
        change."""
        if not self.has_nothing_at_work(self.quiet_s):
            return False  # without a look through all messages
        return self.has_nothing_at_work(
            self.quiet_s - self.collecting.open_for_s() // self._hidden_s * self._hidden_s
        )

    def gives_up(self) -> bool:
        """Whether nothing is to be waited for; messages without a record are then accounted for as
        unanswered."""
        if self.is_failing():
            return True
        has_all_lines = self._has_read_again or not self.state.without_record
        if not (has_all_lines and self._awaits_redelivery()):
            return False
        self.collecting.give_up(self.state.in_flight)
        in_flight = counted(self.state.in_flight, "message is", "messages are")
        self._ended_early = (
            f"{in_flight} in flight, {self.state.without_record:,} of this run without a record; "
            "the drain ends now: the functions have timed out, no line is late any more, and SQS "
            f"redelivers a message only {self._hidden_s:,} s after its last delivery"
        )
        return True

    def is_failing(self) -> bool:
        """Whether the first messages of a cell have all failed: it is given up, with those that
        haven't run yet."""
        at_once = self._target.outputs.get("concurrency_value", 1)
        self._failing = self.collecting.failing(at_once, FAILING_S[self._option])
        if self._failing:
            self.collecting.give_up(self.collecting.sent_count)
            self._ended_early = f"{self._failing}: its first messages all failed, so it ends now"
        return bool(self._failing)
