"""Waits until every message of a run, or of one cell, has come to rest, and says what hasn't.

Done means: the queue and its in-flight count are empty, and every message has an ok record or lies in the dead-letter
queue. What is still open when nothing moves any more, or at the deadline, is named. A message that a function took and
never answered is hidden for hours, several times: nobody waits for that, and it is accounted for as unanswered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from loader import evidence
from loader.collecting import Collecting
from loader.patience import Patience, State
from stampede.errors import RunError
from stampede.insights import log_columns
from stampede.progress import bar, say
from stampede.runs.account import CellAccount, check
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import kind_of
from stampede.stacks.target import Target

Clock = Callable[[], float]


@dataclass(frozen=True)
class Drained:
    """How a drain ended: the whole run's accounts, why messages may still be on their way ("" when none is), why the
    drain ended before some came to their end ("" when all did), and the cell whose messages fail ("" without one)."""

    accounts: list[CellAccount]
    left: str = ""
    ended_early: str = ""
    failing: str = ""

    def check(self) -> None:
        """Raise RunError when messages are still on their way, the account doesn't add up, or nothing succeeded."""
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
    sleep: Callable[[float], None] = time.sleep,
) -> Drained:
    """Wait for the run in `folder`, storing log events, records, dead letters and accounting.json as they arrive.

    With `cells` only their messages are waited for (the account is still of the whole run); `quiet` says only what is
    wrong, and is for messages that go before a cell's own: after others the lines are stored as columns too. It ends
    early where only a redelivery could bring a record, or where the first messages of a cell have all failed, unless it
    `waits_for_redelivery`. Returns how it ended, also at
    the deadline, so that the caller can show it before it fails. Raises RunError when AWS refuses for good, or doesn't
    answer until the deadline.
    """
    waiting = _Waiting(target, Collecting(target, folder, cells), Patience.of(target, deadline_s), clock)
    with bar() as progress:
        what = " ".join(cells) if len(cells) == 1 else folder.run_id
        task = progress.add_task(f"drain {what}", total=waiting.collecting.sent_count, note="")
        for state in waiting.states(sleep):
            progress.update(task, completed=state.finished, note=state.words())
            if waiting.is_at_rest(state) or (not waits_for_redelivery and waiting.ends_early(state)):
                break
    if waiting.ended_early:
        say(waiting.ended_early, style="yellow")
    accounts = _close(waiting.collecting)
    for account in accounts:
        if (not cells or account.cell in cells) and (account.is_open or not quiet):
            say(account.sentence(), style="red" if account.is_open else None)
            if account.failed + account.dead_lettered and account.commonest_error:
                say(account.commonest_error, style="yellow")
    if not quiet:
        log_columns.store(folder, at_end=not cells)
        if target.option == "aws":
            evidence.check_run(target, folder)
    return Drained(accounts, waiting.left(), waiting.ended_early, waiting.failing)


def wait_for_round(
    target: Target,
    folder: RunFolder,
    cell: str,
    number: int,
    *,
    deadline_s: float | None = None,
    clock: Clock = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Drained:
    """Wait until every message that `cell` sent in its round `number` has a record or is a dead letter, so that none of
    them is at work when the next cell's are sent. Redeliveries and late log lines are left to the drain of all rounds.

    Returns how it ended; as early as `drain` where the cell fails. Raises RunError as `drain` does.
    """
    patience = Patience.of_a_round(target, deadline_s)
    waiting = _Waiting(target, Collecting(target, folder, [cell]), patience, clock)
    for state in waiting.states(sleep):
        if waiting.is_failing() or waiting.collecting.have_ended(cell, number) or waiting.has_nothing_at_work(state):
            left = ""
            break
    else:
        left = waiting.left()
    return Drained(_close(waiting.collecting), left, waiting.ended_early, waiting.failing)


class _Waiting:
    """The looks of one drain: when anything last moved, what AWS last answered, and when to stop."""

    def __init__(self, target: Target, collecting: Collecting, patience: Patience, clock: Clock) -> None:
        self.collecting, self.patience = collecting, patience
        self._target, self._clock = target, clock
        self._started = self._moved = self._changed = self._again = clock()
        self._state: State | None = None
        self._error: BotoCoreError | ClientError | None = None
        self._is_at_rest = False
        self.ended_early = self.failing = ""

    def states(self, sleep: Callable[[float], None]) -> Iterator[State]:
        """What each look shows, until the deadline, which progress puts off. Raises RunError where AWS hadn't answered
        before it, or refuses for good."""
        while not self.patience.is_over(self._clock() - self._started, self._clock() - self._moved):
            try:
                state = self._look()
            except (BotoCoreError, ClientError) as error:
                self._note_error(error)
            else:
                if self._error is not None:
                    say("AWS answers again")
                self._error = None
                self._note_state(state)
                yield state
            sleep(self.patience.poll_s)
        if self._state is None and self._error is not None:
            raise targets.explain(self._error, "draining the queue", self._target) from None

    def _look(self) -> State:
        """How things stand, after all lines were read again where some may be late. Raises what boto3 raises."""
        state = self.collecting.look()
        may_lack_lines = state.is_empty and self._clock() >= self._again
        if state.without_record and (may_lack_lines or (state == self._state and self.is_stuck(state))):
            began = self._clock()
            has_news = self.collecting.look_again() > 0
            self._again = self._clock() + max(self.patience.read_again_s, self._clock() - began)
            state = self.collecting.look() if has_news else state
        return state

    def _note_state(self, state: State) -> None:
        now = self._clock()
        if state != self._state:
            self._changed = now
        elif state.without_record and now - self._changed > self.patience.settle_s:
            targets.refuse_full_disk(self._target)
        if self.patience.is_moving(state, self._state):
            self._moved = now
        self._state = state

    def _note_error(self, error: BotoCoreError | ClientError) -> None:
        """Say an error once. Raises RunError for one that no waiting mends."""
        explained = targets.explain(error, "draining the queue", self._target)
        if targets.is_gone(self._target) or kind_of(error).is_final:
            raise explained from None
        if self._error is None:
            say(f"{explained}; trying again until the deadline", style="yellow")
        self._error = error

    def is_at_rest(self, state: State) -> bool:
        """Whether nothing more will happen to the messages."""
        is_long_past = self.collecting.is_long_past(self.patience.late_s)
        self._is_at_rest = self.patience.is_at_rest(state, self._clock() - self._changed, is_long_past=is_long_past)
        return self._is_at_rest

    def has_nothing_at_work(self, state: State) -> bool:
        """Whether no delivery is under way, though a message may be delivered again."""
        return self.is_at_rest(state) or self.patience.is_stuck(state, self._clock() - self._changed)

    def is_stuck(self, state: State) -> bool:
        """Whether only a redelivery could still bring a record."""
        quiet_s = self._clock() - self._changed
        if not self.patience.is_stuck(state, quiet_s):
            return False  # without a look through all messages
        open_for_s = self.collecting.open_for_s()
        return self.patience.is_stuck(state, self.patience.since_delivery_s(quiet_s, open_for_s))

    def ends_early(self, state: State) -> bool:
        """Whether nothing is to be waited for; messages without a record are then accounted for as unanswered."""
        if not self.is_failing() and self.is_stuck(state):
            self._give_up(state.in_flight, self.patience.stuck_words(state))
        return self._is_at_rest

    def is_failing(self) -> bool:
        """Whether the first messages of a cell have all failed: it is given up, with those that haven't run yet."""
        self.failing = self.collecting.failing(self.patience.at_once, self.patience.failing_s)
        if self.failing:
            self._give_up(self.collecting.sent_count, f"{self.failing}: its first messages all failed, so it ends now")
        return bool(self.failing)

    def _give_up(self, at_most: int, why: str) -> None:
        self.collecting.give_up(at_most)
        self._is_at_rest, self.ended_early = True, why

    def left(self) -> str:
        """Why messages may still be on their way; "" when none is."""
        if self._is_at_rest or self._state is None:
            return ""
        no_answer = f"; AWS doesn't answer ({type(self._error).__name__})" if self._error is not None else ""
        return f"{self.patience.deadline_words()}: {self._state.words()}{no_answer}"


def _close(collecting: Collecting) -> list[CellAccount]:
    try:
        return collecting.close()
    except (BotoCoreError, ClientError) as error:  # the account is written, and the letters show again by themselves
        hidden = "messages in the dead-letter queue stay hidden from other readers for a few minutes"
        say(f"{hidden} ({type(error).__name__})", style="yellow")
        return collecting.accounts()
