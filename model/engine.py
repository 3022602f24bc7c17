"""The heap of events: messages, places of the trigger, environments and running operations, one moment at a time.

A place of the trigger takes a message, invokes with it, and takes the next when that has ended. There are four lists of
what comes next: the ends of running operations, the places that are about to take a message (they do `hand_over_s`
after an end, so they stand in order), and the rest, which is rare, in a heap of calls.

While a shared limit binds, all running operations are slowed by the same factor. That is done by virtual time (as in
fair queueing: Demers, Keshav and Shenker 1989; Parekh and Gallager 1993): virtual seconds pass at the rate of
progress, and an operation of d seconds of its own, begun at the virtual moment V, ends at V + d whatever the rate does
meanwhile. So a change of the rate costs nothing, however many run.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from model.course import Attempts
from model.environments import Environments
from model.limits import Shared
from model.operation import Operation

if TYPE_CHECKING:
    from model.flood import Flood

# Seconds drawn at once: few enough to hold, many enough that drawing costs nothing.
_CHUNK = 4096
# A throttled invocation is tried again after these seconds, twice as many each time, up to the last; guessed.
_RETRY_S, _RETRY_MOST_S = 1.0, 20.0
_DONE, _FAILED, _CUT_OFF = range(3)


@dataclass(slots=True)
class _Invocation:
    """What an environment does, or what a throttled place holds: messages, those still to do after the first."""

    message: int
    rest: list[int] | None
    received_s: float
    deadline_s: float = math.inf
    started_s: float = 0.0
    attempt: int = 0
    outcome: int = _DONE


class Engine:
    """One flood on its way; `run` carries it out and gives the attempts."""

    def __init__(self, flood: Flood, operation: Operation, shared: Shared, seed: int) -> None:
        self.flood = flood
        self.attempts = Attempts()
        self.now_s = self.virtual_s = 0.0
        self.running = 0
        self.left = flood.messages
        self._streams(operation, seed)
        self._places()
        self._shared_limits(shared)

    def _streams(self, operation: Operation, seed: int) -> None:
        """Each kind of chance has its own stream, so that one more draw of one doesn't move the others."""
        warm, cold, failing, retries = np.random.default_rng(seed).spawn(4)
        chunk = min(_CHUNK, self.flood.messages)
        self.warm_s = _drawn(lambda: operation.draw(warm, chunk, False))
        self.cold_s = _drawn(lambda: operation.draw(cold, min(chunk, self.flood.concurrency), True))
        self.fails = _drawn(lambda: failing.random(chunk) < self.flood.failing) if self.flood.failing else None
        self.retries = retries

    def _places(self) -> None:
        """Queue, trigger and environments before the first message."""
        flood = self.flood
        self.gap_s = 1 / flood.messages_per_s
        self.fresh = 0  # the next message that nobody has received
        self.returned: deque[int] = deque()
        self.came_back = bytearray(flood.messages)
        room = int(min(flood.concurrency, flood.account_concurrency))
        own = flood.trigger is None
        self.environments = Environments(room, math.inf if own else flood.scale_out_per_10_s)
        self.places = room if own else flood.trigger.places
        self.asking = deque([0.0] * self.places)
        self.waiting = self.held = 0  # places without a message, and with one that is throttled
        self.later: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self.calls = 0
        self.arrival_awaited = False
        self.ramp_paused = False
        self.invocations: list[_Invocation | None] = [None] * room
        self.ends: list[tuple[float, int, int]] = []  # virtual end, attempt, environment
        self.begun = 0
        if not own:
            self._ramp_on()

    def _shared_limits(self, shared: Shared) -> None:
        self.slowed = shared.slows(len(self.invocations))
        self.room = math.inf
        self.watched = [False] * len(self.invocations)
        if self.slowed:
            self.room = float(shared.rooms[0])
            for at_s, room in zip(shared.at_s[1:].tolist(), shared.rooms[1:].tolist(), strict=True):
                self._call(at_s, self._room_changes, room)

    def run(self) -> Attempts:
        """Until no message is left. Raises ValueError for a flood that never ends."""
        ends, asking, later = self.ends, self.asking, self.later
        while self.left:
            rate = 1.0 if self.running <= self.room else self.room / self.running
            end = self.now_s + (ends[0][0] - self.virtual_s) / rate if ends else math.inf
            ask = asking[0] if asking else math.inf
            call = later[0][0] if later else math.inf
            now = min(end, ask, call)
            if now == math.inf:
                raise ValueError("this flood never ends: an operation takes for ever, and nothing cuts it off")
            if now == end:
                self.virtual_s, attempt, environment = heappop(ends)
                self.now_s = now
                self._end(attempt, environment)
                continue
            self.virtual_s += (now - self.now_s) * rate
            self.now_s = now
            if now == ask:
                asking.popleft()
                self._ask()
            else:
                _, _, what, argument = heappop(later)
                what(argument)
        return self.attempts

    def _call(self, at_s: float, what: Callable[[Any], None], argument: Any = None) -> None:
        self.calls += 1
        heappush(self.later, (at_s, self.calls, what, argument))

    # The queue.

    def _received(self) -> int | None:
        """A message that is visible: one that came back, or the next that the loader sent."""
        if self.returned:
            return self.returned.popleft()
        if self.fresh < self.flood.messages and self.fresh * self.gap_s <= self.now_s:
            self.fresh += 1
            return self.fresh - 1
        return None

    def _ask(self) -> None:
        """A place takes what is there, up to a batch, or waits."""
        message = self._received()
        if message is None:
            self.waiting += 1
            self._await_arrival()
            return
        rest = None
        if self.flood.batch_size > 1:
            rest = []
            while len(rest) < self.flood.batch_size - 1 and (more := self._received()) is not None:
                rest.append(more)
        invocation = _Invocation(message, rest, self.now_s)
        if not self._invoke(invocation):
            self.held += 1
            self.attempts.throttled += 1 + len(rest or ())
            self._hold(invocation, _RETRY_S)

    def _await_arrival(self) -> None:
        if not self.arrival_awaited and self.fresh < self.flood.messages:
            self.arrival_awaited = True
            self._call(self.fresh * self.gap_s, self._arrive)

    def _arrive(self, _: None) -> None:
        self.arrival_awaited = False
        self._wake()
        if self.waiting:
            self._await_arrival()

    def _returns(self, message: int) -> None:
        self.returned.append(message)
        self._wake()

    def _wake(self) -> None:
        if self.waiting:
            self.waiting -= 1
            self._ask()
            self._resume_ramp()

    def _back(self, message: int, at_s: float) -> None:
        """A receive came to nothing: the message is visible again then, or a dead letter after the last."""
        self.came_back[message] += 1
        if self.came_back[message] < self.flood.receives:
            self._call(max(at_s, self.now_s), self._returns, message)
        else:
            self.attempts.dead_lettered += 1
            self.left -= 1

    # The trigger.

    def _ramp_on(self) -> None:
        trigger = self.flood.trigger
        if self.places < int(trigger.most) and trigger.step_s < math.inf:
            self._call(self.now_s + trigger.step_s, self._ramp)

    def _ramp(self, _: None) -> None:
        """One more place, if messages are still available and none is throttled; else the ramp waits for that."""
        self.ramp_paused = bool(self.waiting or self.held)
        if not self.ramp_paused:
            self.places += 1
            self.asking.appendleft(self.now_s)
            self._ramp_on()

    def _resume_ramp(self) -> None:
        if self.ramp_paused and not self.waiting and not self.held:
            self.ramp_paused = False
            self._ramp_on()

    def _hold(self, invocation: _Invocation, pause_s: float) -> None:
        """A place keeps what was throttled and tries it again until its visibility timeout is over."""
        until_s = invocation.received_s + self.flood.visibility_timeout_s
        at_s = self.now_s + pause_s * self.retries.uniform(0.5, 1.5)
        self._call(min(at_s, until_s), self._retry, (invocation, until_s, pause_s))

    def _retry(self, held: tuple[_Invocation, float, float]) -> None:
        invocation, until_s, pause_s = held
        if self.now_s >= until_s:
            for message in (invocation.message, *(invocation.rest or ())):
                self._back(message, self.now_s)
            self.asking.appendleft(self.now_s)
        elif not self._invoke(invocation):
            self._hold(invocation, min(2 * pause_s, _RETRY_MOST_S))
            return
        self.held -= 1
        self._resume_ramp()

    # The function.

    def _invoke(self, invocation: _Invocation) -> bool:
        """Whether there was room for it."""
        taken = self.environments.take(self.now_s)
        if taken is None:
            return False
        environment, cold = taken
        self.invocations[environment] = invocation
        ready_s = self.now_s + self.flood.cold_start_s if cold else self.now_s
        invocation.deadline_s = ready_s + self.flood.timeout_s
        begin_s = max(ready_s, self.flood.barrier_s)
        if begin_s > self.now_s:
            self._call(begin_s, self._begin_later, (environment, cold))
        else:
            self._begin(environment, invocation, cold)
        return True

    def _begin_later(self, which: tuple[int, bool]) -> None:
        environment, cold = which
        self._begin(environment, self.invocations[environment], cold)

    def _begin(self, environment: int, invocation: _Invocation, cold: bool) -> None:
        """An operation begins."""
        own_s = next(self.cold_s if cold else self.warm_s)
        self.begun += 1
        invocation.attempt = self.begun
        invocation.started_s = self.now_s
        invocation.outcome = _FAILED if self.fails is not None and next(self.fails) else _DONE
        if self.slowed:
            self._watch(environment, invocation.deadline_s)
        elif self.now_s + own_s > invocation.deadline_s:
            own_s, invocation.outcome = max(0.0, invocation.deadline_s - self.now_s), _CUT_OFF
        heappush(self.ends, (self.virtual_s + own_s, self.begun, environment))
        self.running += 1

    def _watch(self, environment: int, deadline_s: float) -> None:
        """While operations may be slowed, each environment has one look ahead of it, at a deadline or before."""
        if not self.watched[environment]:
            self.watched[environment] = True
            self._call(max(deadline_s, self.now_s), self._look, environment)

    def _look(self, environment: int) -> None:
        self.watched[environment] = False
        invocation = self.invocations[environment]
        if invocation is None or not invocation.attempt:
            return
        if invocation.deadline_s > self.now_s:
            self._watch(environment, invocation.deadline_s)
        else:
            invocation.outcome = _CUT_OFF
            self._end(invocation.attempt, environment)

    def _end(self, attempt: int, environment: int) -> None:
        """An operation is done, has failed, or is cut off with whatever else its batch has."""
        invocation = self.invocations[environment]
        if invocation is None or invocation.attempt != attempt:
            return  # it was cut off before
        self.running -= 1
        self.attempts.started_s.append(invocation.started_s)
        self.attempts.ended_s.append(self.now_s)
        self.attempts.succeeded.append(invocation.outcome == _DONE)
        if invocation.outcome == _CUT_OFF:
            for message in (invocation.message, *(invocation.rest or ())):
                self._back(message, invocation.received_s + self.flood.visibility_timeout_s)
            self.environments.lose(environment)
        else:
            if invocation.outcome == _FAILED:
                pauses = self.flood.redelivery_s
                self._back(
                    invocation.message, self.now_s + pauses[min(self.came_back[invocation.message], len(pauses) - 1)]
                )
            else:
                self.left -= 1
            if invocation.rest:
                invocation.message = invocation.rest.pop(0)
                self._begin(environment, invocation, False)
                return
            self.environments.free(environment)
        self.invocations[environment] = None
        self.asking.append(self.now_s + self.flood.hand_over_s)

    def _room_changes(self, room: float) -> None:
        self.room = room


def _drawn(draw: Callable[[], np.ndarray]) -> Iterator[Any]:
    while True:
        yield from draw().tolist()
