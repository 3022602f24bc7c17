"""The event loop: messages, places of the trigger, environments and running operations, one moment
at a time.

A place of the trigger takes a message, invokes the function with it, and takes the next message
`hand_over_s` after the invocation has ended. Three lists hold what comes next: a heap of the ends
of running operations; the places about to take a message, in order; and a heap of calls for
whatever is rare.

While a shared limit binds, it slows all running operations by the same factor. The engine keeps
virtual time for that (as in fair queueing: Demers, Keshav and Shenker 1989; Parekh and Gallager
1993): virtual seconds pass at the rate of progress, and an operation of d seconds that began at the
virtual moment V ends at V + d, whatever the rate does meanwhile. So a change of rate costs nothing,
however many operations run.

Why not SimPy: on release, a `Resource` of SimPy 4.1.2 searches a list of all requests, so 100,000
messages on 10,000 workers take it 5.5 CPU-s, and this engine 0.35 (docs/benchmarks.md,
simulate_10k). A SimPy model without `Resource`, with 10,000 processes that decrement a counter,
takes 0.55; but every change of progress would have to interrupt all of them, which virtual time
avoids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import inf
from typing import Any

import numpy as np

from stampede.model.course import CUT_OFF, DONE, FAILED, FIRST, Attempts
from stampede.model.environments import Environments
from stampede.model.flood import Flood
from stampede.model.messages import Messages
from stampede.model.operation import Operation
from stampede.model.sharing import Shared

# Seconds drawn at once: few enough to hold, enough to make drawing cheap.
_CHUNK = 4096
# The pause before a throttled invocation is retried, plus or minus half of it, doubling each time.
# Lambda backs off, but how isn't documented; with N = 1 the last message may wait in vain.
_RETRY_S, _RETRY_MOST_S = 1.0, 10.0
# An invocation: its message, and when that was received.
Invocation = tuple[int, float]


class Engine:
    """One flood; `run` carries it out and returns the attempts.

    The Lambda guide says (services-sqs-errorhandling): a message whose function fails is visible
    again after the visibility timeout, which our functions shorten to `redelivery_s`; they report
    batch item failures, so only a crash or a thrown error slows the trigger down (`trigger.kept`).
    A throttled message is retried, with back-off, until its visibility timeout ends; then it is
    dropped and visible again. The trigger gets less concurrency meanwhile, by how much isn't
    documented: here the place that holds a throttled message takes no other, and the ramp stands
    still.
    """

    def __init__(self, flood: Flood, operation: Operation, shared: Shared, seed: int) -> None:
        is_polling = flood.trigger is None
        room = int(min(flood.concurrency, flood.account_concurrency))
        self.flood, self.trigger = flood, flood.trigger
        self.attempts = Attempts()
        self.remaining = flood.messages
        self.now_s = self.virtual_s = 0.0
        self.running = self.begun = self.calls = 0
        self.messages = Messages(flood.messages, flood.messages_per_s, flood.receives)
        self.environments = Environments(
            room, inf if is_polling else flood.scale_out_per_10_s, min(room, flood.warm)
        )
        self.places = room if is_polling else flood.trigger.places
        self.waiting = self.held = 0  # places without a message, and with a throttled one
        self.arrival_awaited = self.ramp_paused = False
        self.ends: list[tuple] = []  # running operations, see _begin
        self.asking = deque([0.0] * self.places)
        self.later: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._streams(operation, seed)
        self._share(shared, room)
        self._ramp_on()

    def _streams(self, operation: Operation, seed: int) -> None:
        """Each random quantity has its own stream: one more draw of it doesn't shift the rest."""
        warm, cold, failing, self.pauses = np.random.default_rng(seed).spawn(4)
        chunk = min(_CHUNK, self.flood.messages)
        self.warm_s = _drawn(lambda: operation.draw(warm, chunk, False))
        self.cold_s = _drawn(lambda: operation.draw(cold, min(chunk, self.flood.concurrency), True))
        ends = np.cumsum([self.flood.failing, self.flood.crashing])
        kinds = np.array([FAILED, CUT_OFF, DONE])
        self.fails = (
            _drawn(lambda: kinds[np.searchsorted(ends, failing.random(chunk), "right")])
            if ends[-1]
            else None
        )

    def _share(self, shared: Shared, room: int) -> None:
        self.slowed = shared.slows(room)
        self.at_full_speed = inf
        self.watched = [False] * room
        self.current: list[tuple | None] = [None] * room
        if self.slowed:
            self.at_full_speed, *changes = shared.rooms.tolist()
            for at_s, at_full_speed in zip(shared.at_s[1:].tolist(), changes, strict=True):
                self._call(at_s, self._capacity_changes, at_full_speed)

    def run(self) -> Attempts:
        """Run until no message remains. Raises ValueError for a flood that never ends."""
        ends, asking, later = self.ends, self.asking, self.later
        while self.remaining:
            is_full = self.running <= self.at_full_speed
            progress = 1.0 if is_full else self.at_full_speed / self.running
            if self.slowed:
                while ends and self.current[ends[0][2]] is not ends[0]:
                    heappop(ends)  # already cut off
            ask_s = asking[0] if asking else inf
            end_s = ends[0][0] if ends else inf
            if self.slowed and ends:  # rounding must not put an end into the past
                end_s = (
                    self.now_s + (end_s - self.virtual_s) / progress
                    if end_s > self.virtual_s
                    else self.now_s
                )
            if later and later[0][0] <= ask_s and later[0][0] <= end_s:
                at_s, _, what, argument = heappop(later)
                self._pass(at_s, progress)
                what(argument)
            elif end_s <= ask_s and end_s < inf:
                operation = heappop(ends)
                self.now_s, self.virtual_s = end_s, operation[0]
                self._end(operation)
            elif ask_s < inf:
                self._pass(asking.popleft(), progress)
                self._ask()
            else:
                raise ValueError(
                    "this flood never ends: an operation takes forever, and nothing cuts it off"
                )
        return self.attempts

    def _pass(self, until_s: float, progress: float) -> None:
        """Let time pass without an event."""
        passed_s = until_s - self.now_s
        self.virtual_s = self.virtual_s + passed_s * progress if self.slowed else until_s
        self.now_s = until_s

    def _call(self, at_s: float, what: Callable[[Any], None], argument: Any = None) -> None:
        self.calls += 1
        heappush(self.later, (at_s, self.calls, what, argument))

    def _capacity_changes(self, at_full_speed: float) -> None:
        self.at_full_speed = at_full_speed

    # Places of the trigger, and the queue

    def _ask(self) -> None:
        """A place takes a visible message, or waits."""
        message = self.messages.take(self.now_s)
        if message is None:
            self.waiting += 1
            self._await_arrival()
        elif not self._invoke(message, self.now_s):
            self.held += 1
            self.attempts.throttled += 1
            self._hold((message, self.now_s), _RETRY_S)

    def _await_arrival(self) -> None:
        at_s = self.messages.next_s()
        if not self.arrival_awaited and at_s < inf:
            self.arrival_awaited = True
            self._call(max(at_s, self.now_s), self._arrives)

    def _arrives(self, _: None) -> None:
        self.arrival_awaited = False
        self._wake()
        if self.waiting:
            self._await_arrival()

    def _returns(self, message: int) -> None:
        self.messages.visible_again(message, self.now_s)
        self._wake()

    def _wake(self) -> None:
        if self.waiting:
            self.waiting -= 1
            self._ask()
            self._resume_ramp()

    def _back(self, message: int, at_s: float) -> None:
        """A receive came to nothing: the message is visible again at `at_s`, or a dead letter after
        its last."""
        if self.messages.received_in_vain(message):
            self.attempts.dead_lettered += 1
            self.remaining -= 1
        else:
            self._call(max(at_s, self.now_s), self._returns, message)

    def _ramp_on(self) -> None:
        if (
            self.trigger
            and self.places < int(min(self.trigger.most, 1e9))
            and self.trigger.step_s < inf
        ):
            self._call(self.now_s + self.trigger.step_s, self._ramp)

    def _ramp(self, _: None) -> None:
        """Add a place if messages are available and none is throttled; else pause the ramp."""
        self.ramp_paused = bool(self.waiting or self.held)
        if not self.ramp_paused:
            self.places += 1
            self._ramp_on()
            self._ask()

    def _resume_ramp(self) -> None:
        if self.ramp_paused and not self.waiting and not self.held:
            self.ramp_paused = False
            self._ramp_on()

    def _hold(self, invocation: Invocation, pause_s: float) -> None:
        """A place keeps a throttled message, and retries it until its visibility timeout ends."""
        until_s = invocation[1] + self.flood.visibility_timeout_s
        at_s = self.now_s + pause_s * self.pauses.uniform(0.5, 1.5)
        self._call(min(at_s, until_s), self._retry, (invocation, until_s, pause_s))

    def _retry(self, held: tuple[Invocation, float, float]) -> None:
        invocation, until_s, pause_s = held
        if self.now_s >= until_s:
            self._back(invocation[0], self.now_s)
            self.held -= 1
            self._ask()
        elif not self._invoke(*invocation):
            self._hold(invocation, min(2 * pause_s, _RETRY_MOST_S))
        else:
            self.held -= 1
        self._resume_ramp()

    # Environments, and what runs in them

    def _invoke(self, message: int, received_s: float) -> bool:
        """Invoke the function with a message; False if there was no room."""
        taken = self.environments.take(self.now_s)
        if taken is None:
            return False
        environment, cold = taken
        ready_s = self.now_s + (self.flood.cold_start_s if cold else 0.0)
        begin_s = max(ready_s, self.flood.barrier_s)
        invocation = (environment, message, received_s, ready_s + self.flood.timeout_s, cold)
        if begin_s > self.now_s:
            self._call(begin_s, self._begin, invocation)
        else:
            self._begin(invocation)
        return True

    def _begin(self, invocation: tuple[int, int, float, float, bool]) -> None:
        environment, message, received_s, deadline_s, cold = invocation
        now_s = self.now_s
        own_s = next(self.cold_s if cold else self.warm_s)
        outcome = (next(self.fails) if self.fails else DONE) or (FIRST if cold else DONE)
        if now_s + own_s > deadline_s and not self.slowed:
            own_s, outcome = max(0.0, deadline_s - now_s), CUT_OFF
        self.begun += 1
        operation = (
            self.virtual_s + own_s,
            self.begun,
            environment,
            message,
            received_s,
            deadline_s,
            now_s,
            outcome,
        )
        heappush(self.ends, operation)
        self.running += 1
        if self.slowed:
            self.current[environment] = operation
            self._watch(environment, deadline_s)

    def _watch(self, environment: int, deadline_s: float) -> None:
        """While operations may be slowed, each environment has a call pending, by its deadline."""
        if not self.watched[environment] and deadline_s < inf:
            self.watched[environment] = True
            self._call(max(deadline_s, self.now_s), self._look, environment)

    def _look(self, environment: int) -> None:
        self.watched[environment] = False
        operation = self.current[environment]
        if operation is None:
            return
        if (deadline_s := operation[5]) > self.now_s:
            self._watch(environment, deadline_s)
        else:
            self._end((*operation[:-1], CUT_OFF))

    def _end(self, operation: tuple) -> None:
        """An operation has succeeded, has failed, or is cut off."""
        _, _, environment, message, received_s, _, started_s, outcome = operation
        self.current[environment] = None
        self.running -= 1
        self.attempts.add(started_s, self.now_s, outcome)
        if outcome == CUT_OFF:
            self._back(message, received_s + self.flood.visibility_timeout_s)
            self.environments.reset(environment)
        else:
            if outcome == FAILED:
                pauses_s = self.flood.redelivery_s
                again = min(self.messages.times_in_vain(message), len(pauses_s) - 1)
                self._back(message, self.now_s + pauses_s[again])
            else:
                self.remaining -= 1
            self.environments.free(environment)
        self.asking.append(self.now_s + self.flood.hand_over_s)


def _drawn(draw: Callable[[], np.ndarray]) -> Iterator[Any]:
    while True:
        yield from draw().tolist()
