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
from loader.collecting import FIRST_OPEN, FIRST_SENT, NEWEST, Collecting, State
from loader.log_events import LATE_S
from stampede.errors import RunError
from stampede.insights import log_columns
from stampede.phrases import counted
from stampede.progress import bar, say
from stampede.runs.account import CellAccount, check
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import kind_of
from stampede.stacks.target import Target

# Between two polls.
POLL_S = {"local": 0.5, "aws": 5.0}
# Rounds, of which there are many, poll sooner: after this part of it. A poll takes the embedded AWS
# some ms of CPU time.
ROUND_POLL = 0.4
# While only late lines may still come, one in so many polls reads the lines of the whole run again.
POLLS_A_REREADING = 6
# SQS's counts are approximate for about a minute after a change (SQS guide, GetQueueAttributes):
# the queue counts as empty after it has looked empty for longer than that.
SETTLE_S = {"local": 5.0, "aws": 90.0}
# New permissions may take a minute to spread (IAM guide, "Changes that I make are not always
# immediately visible"): no cell is given up as failing before that.
FAILING_S = {"local": 0.0, "aws": 60.0}
# How long a host hides a message, whatever the queue's own timeout is
# (functions/transfer/internal/worker). A new host boots and fetches its program, which takes it up
# to 5 minutes (infra/modules/host).
HOST_HIDES_S, HOST_START_S = 60.0, 600.0


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
    waiting = _Waiting(target, folder, cells, deadline_s)

    def is_over() -> bool:
        state = waiting.state
        progress.update(
            task, total=state.total("sent"), completed=state.finished, note=state.words()
        )
        return waiting.is_at_rest() or (not waits_for_redelivery and waiting.gives_up())

    with bar() as progress:
        task = progress.add_task("drain", total=None, note="")
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
        evidence.check_run(target, folder, waiting.collecting.latest_ms)
    return drained


def wait_for_round(
    target: Target,
    folder: RunFolder,
    cell: str,
    number: int,
    *,
    deadline_s: float | None = None,
) -> Drained:
    """Wait until every message that `cell` sent in round `number` has a record or is a dead letter,
    so that none is being processed when the next cell's are sent. Redeliveries and late log lines
    are left to the drain of all rounds.

    Ends as early as `drain` when the cell fails. Raises RunError as `drain` does.
    """
    waiting = _Waiting(target, folder, [cell], deadline_s, in_round=True)
    return waiting.until(
        lambda: (
            waiting.is_failing()
            or waiting.collecting.have_ended(number)
            or waiting.is_at_rest()
            or waiting.awaits_redelivery()
        )
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
        folder: RunFolder,
        cells: Collection[str],
        deadline_s: float | None,
        *,
        in_round: bool = False,
    ) -> None:
        option = target.option
        self.collecting = Collecting(target, folder, cells)
        self.state, self._target = State(), target
        self._poll_s = POLL_S[option] * (ROUND_POLL if in_round else 1)
        self._settle_s = SETTLE_S[option]
        self._late_s = self._settle_s if in_round else LATE_S[option]
        self._is_default = deadline_s is None
        self._deadline_s = default_deadline_s(target) if deadline_s is None else deadline_s
        self._changed_s = self._counted_s = time.monotonic()  # the deadline counts from the second
        self._reread_s = -math.inf
        self._error: BotoCoreError | ClientError | None = None
        self._has_all_lines = False
        self._ended_early = self._failing = ""

    @property
    def quiet_s(self) -> float:
        """Seconds since anything changed."""
        return time.monotonic() - self._changed_s

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
            time.sleep(self._poll_s)
            left = self._what_is_left()
        return Drained(self.collecting.close(), left, self._ended_early, self._failing)

    def _what_is_left(self) -> str:
        """What is still open at the deadline; "" before it."""
        if time.monotonic() - self._counted_s <= self._deadline_s:
            return ""
        what = "no message has made progress for" if self._is_default else "the drain has lasted"
        no_answer = f"; AWS doesn't answer ({type(self._error).__name__})" if self._error else ""
        limit = f"{self._deadline_s:.0f} s (--deadline-s sets another limit)"
        return f"{what} {limit}: {self.state.words()}{no_answer}"

    def _look(self) -> None:
        """Poll once; now and then read all lines again when only late ones may still come. Raises
        boto3's errors."""
        before = self.state
        only_late = before.without_record and (before.is_empty or self.awaits_redelivery())
        since_s = time.monotonic() - self._reread_s
        rereads = bool(only_late and since_s >= POLLS_A_REREADING * self._poll_s)
        self.state, now_s = self.collecting.look(again=rereads), time.monotonic()
        self._has_all_lines = rereads or not self.state.without_record
        if rereads:
            self._reread_s = now_s
        if self.state != before:
            self._changed_s = now_s
        elif before.without_record and self.quiet_s > self._settle_s:
            targets.refuse_full_disk(self._target)
        is_held = has_hosts(self._target) and self.state.in_flight > 0
        if self._is_default and (is_held or self.state.accounts != before.accounts):
            self._counted_s = now_s

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
        if self.state.is_done or not (self.state.is_empty and self._has_all_lines):
            return self.state.is_done
        may_come = self.state.without_record and self.collecting.age_s(NEWEST) <= self._late_s
        return self.quiet_s > (self._late_s if may_come else self._settle_s)

    def awaits_redelivery(self) -> bool:
        """Whether all open messages are in flight and every function has timed out, so that only a
        redelivery can bring a record. Nothing shows when one begins: the first may begin a
        visibility timeout after its message was sent, the last as long after the last change. When
        more messages are in flight than functions run, the pollers hold some back, and they run one
        after the other."""
        state, target = self.state, self._target
        if not state.in_flight or state.pending or has_hosts(target):
            return False
        hidden_s = target["visibility_timeout_s"]
        redeliveries = self.collecting.age_s(FIRST_OPEN) // hidden_s
        batches = math.ceil(state.in_flight / target["concurrency_value"])
        longest_s = batches * target["timeout_s"] + self._settle_s + self._late_s
        return self.quiet_s > longest_s + redeliveries * hidden_s

    def gives_up(self) -> bool:
        """Whether to stop waiting; messages without a record are then stored as unanswered."""
        if self.is_failing():
            return True
        if not (self._has_all_lines and self.awaits_redelivery()):
            return False
        state = self.state
        self.collecting.give_up(state.in_flight)
        in_flight = counted(state.in_flight, "message is", "messages are")
        self._ended_early = (
            f"{in_flight} in flight, {state.without_record:,} of this run without a record; "
            "the drain ends now: SQS redelivers a message only "
            f"{self._target['visibility_timeout_s']:,} s after its last delivery"
        )
        return True

    def is_failing(self) -> bool:
        """Whether the first messages of a cell have all failed; those that haven't run yet are then
        given up too."""
        at_once = self._target["concurrency_value"]
        failing = [counts.cell for counts in self.state.accounts if counts.is_failing(at_once)]
        if not failing or self.collecting.age_s(FIRST_SENT) < FAILING_S[self._target.option]:
            return False
        self._failing = failing[0]
        self.collecting.give_up(self.state.total("sent"))
        self._ended_early = f"{self._failing}: its first messages all failed, so it ends now"
        return True
