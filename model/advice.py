"""What to change about a limit that binds. The figures are the model's own, asked again with the change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from model.binding import MESSAGES, RAMP, REACH, RESERVED, SHARED, TIMEOUT, Binding
from model.parameters import Parameters
from model.scenario import PROVISIONED, Evaluation, Scenario, evaluate

# What advice aims at: so much of the operations' time at full N.
AIM = 0.9
# Messages a worker that are worth trying, and how many messages the search may take: minutes of computing help nobody.
EACH = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1000)
MOST_MESSAGES = 1_000_000
# Lambda's provisioned mode: the least that is kept ready can be 2 to 200 pollers.
POLLERS = range(2, 200 + 1)
# Fewer workers are as fast where all of it takes at most so much longer.
AS_FAST = 1.05
ROUND = tuple(step * 10**power for power in range(5) for step in (1, 2, 5))
SUBNETS = (2, 4, 8, 16)
MOST_TIMEOUT_S = 900


@dataclass(frozen=True)
class Change:
    """What to change, in words with the figures that come of it, and the cell with the change."""

    words: str
    scenario: Scenario


def advise(
    scenario: Scenario, parameters: Parameters, found: Evaluation, bound: Sequence[Binding], seed: int
) -> list[Change]:
    """What to change about each of the limits that bind; nothing about those that nobody can change for the better."""
    asking = _Asking(scenario, parameters, found, seed)
    by_kind = {
        TIMEOUT: asking.longer,
        RESERVED: asking.fewer_pollers,
        REACH: asking.farther,
        MESSAGES: asking.overlap,
        RAMP: asking.overlap,
        SHARED: asking.relief,
    }
    return [change for one in bound if one.kind in by_kind for change in by_kind[one.kind](one)]


def sentence(changes: Sequence[Change]) -> str:
    """All of it in one line."""
    return "; ".join(change.words for change in changes)


@dataclass(frozen=True)
class _Asking:
    """The model, asked again with one thing changed."""

    scenario: Scenario
    parameters: Parameters
    found: Evaluation
    seed: int

    def _ask(self, scenario: Scenario) -> Evaluation:
        return evaluate(scenario, self.parameters, self.seed)

    def longer(self, _: Binding) -> Iterator[Change]:
        """Time enough."""
        seconds = math.ceil(2 * self.found.operation.mean_s)
        if seconds > MOST_TIMEOUT_S:
            return
        changed = replace(self.scenario, timeout_s=seconds, visibility_timeout_s=6 * seconds)
        course = self._ask(changed).course
        yield Change(f"timeout_s = {seconds} lets {course.succeeded:,} of {self.scenario.messages:,} end", changed)

    def fewer_pollers(self, _: Binding) -> Iterator[Change]:
        """No more fetched than N take."""
        if self.scenario.pollers is None:
            return
        most = max(POLLERS.start, -(-self.scenario.concurrency // 10))
        pollers = (min(self.scenario.pollers[0], most), most)
        changed = replace(self.scenario, pollers=pollers)
        dead = self._ask(changed).course.dead_lettered
        if dead < self.found.course.dead_lettered:
            now = self.found.course.dead_lettered
            yield Change(
                f"provisioned pollers {_words(pollers)} leave {dead:,} dead letters instead of {now:,}", changed
            )

    def farther(self, bound: Binding) -> Iterator[Change]:
        """The trigger's own cap at N."""
        if self.scenario.maximum_concurrency is None:
            return
        changed = replace(self.scenario, maximum_concurrency=self.scenario.concurrency)
        course = self._ask(changed).course
        yield Change(
            f"maximum_concurrency = {self.scenario.concurrency:,} reaches {course.most_at_once:,} at once", changed
        )

    def overlap(self, _: Binding) -> Iterator[Change]:
        """More of the time at full N: by more messages, by a faster ramp, or by both."""
        ways = [*self._more_messages(self.scenario)]
        if self.scenario.trigger and self.scenario.concurrency > POLLERS.start:
            ready = max(POLLERS.start, -(-self.scenario.concurrency // 10))
            pollers = (min(ready, POLLERS[-1]), ready)
            faster = replace(self.scenario, trigger=PROVISIONED, pollers=pollers, maximum_concurrency=None)
            ways += self._faster(faster, pollers)
        for words, share, scenario in ways:
            yield Change(
                f"{words} put {math.floor(100 * share)} % of the {self.scenario.operations} at full N", scenario
            )

    def _faster(self, faster: Scenario, pollers: tuple[int, int]) -> Iterator[tuple[str, float, Scenario]]:
        if (faster.trigger, faster.pollers) == (self.scenario.trigger, self.scenario.pollers):
            return
        share = self._ask(faster).course.share_at_n
        words = f"provisioned pollers {_words(pollers)}"
        if share >= AIM:
            yield words, share, faster
            return
        for more, with_both, scenario in self._more_messages(faster):
            yield f"{words} with {more}", with_both, scenario

    def _more_messages(self, scenario: Scenario) -> Iterator[tuple[str, float, Scenario]]:
        """The fewest messages, of the numbers that are tried, that reach the aim."""
        if scenario.shares_a_list:
            return
        n = scenario.concurrency
        for each in EACH:
            if each * n <= scenario.messages:
                continue
            if each * n > MOST_MESSAGES:
                return
            if self._guess(scenario, each * n) < AIM - 0.1:
                continue
            changed = replace(scenario, messages=each * n)
            if (share := self._ask(changed).course.share_at_n) >= AIM:
                yield f"{each} x N messages", share, changed
                return

    def _guess(self, scenario: Scenario, messages: int) -> float:
        """About what share will lie at full N: what doesn't is the ramp's and the tail's, and stays the same."""
        course, n = self.found.course, scenario.concurrency
        trigger = self.found.flood.trigger if scenario is self.scenario else None
        if trigger is None or trigger.start >= n:
            return 1.0
        ramp_work_s = (n * n - trigger.start**2) / 2 / (trigger.per_minute / 60)
        return 1 - ramp_work_s / (messages * course.avg_s) if course.avg_s else 1.0

    def relief(self, bound: Binding) -> Iterator[Change]:
        """How much longer a shared limit makes it, and what takes its place: more subnets, or fewer workers."""
        now = self.found.course
        without = replace(self.scenario, without=(*self.scenario.without, bound.limit))
        free = self._ask(without).course
        yield Change(f"without that limit one takes {free.avg_s:.1f} s instead of {now.avg_s:.1f} s", without)
        if self.found.work.network == "vpc":
            yield from self._subnets(free.avg_s)
        yield from self._fewer_workers()

    def _fewer_workers(self) -> Iterator[Change]:
        """The smallest round N with which all of it takes no longer."""
        now, best = self.found.course, None
        smaller = [n for n in ROUND if n < self.scenario.concurrency]
        while smaller:
            n = smaller[len(smaller) // 2]
            changed = _of(self.scenario, n)
            course = self._ask(changed).course
            if course.drain_s <= now.drain_s * AS_FAST and course.succeeded >= now.succeeded:
                best, smaller = (n, course, changed), smaller[: len(smaller) // 2]
            else:
                smaller = smaller[len(smaller) // 2 + 1 :]
        if best:
            n, course, changed = best
            yield Change(f"N = {n:,} has all done in {course.drain_s:,.0f} s, this in {now.drain_s:,.0f} s", changed)

    def _subnets(self, free_s: float) -> Iterator[Change]:
        for subnets in SUBNETS:
            if subnets <= self.found.work.subnets:
                continue
            changed = self.scenario.with_work(subnets=subnets)
            seconds = self._ask(changed).course.avg_s
            if seconds <= free_s * AS_FAST:
                yield Change(f"in {subnets} subnets it takes {seconds:.1f} s", changed)
                return


def _of(scenario: Scenario, n: int) -> Scenario:
    """The same messages with N = `n`."""
    most = scenario.maximum_concurrency
    return replace(scenario, concurrency=n, maximum_concurrency=None if most is None else max(2, min(most, n)))


def _words(pollers: tuple[int, int]) -> str:
    return f"{pollers[0]}-{pollers[1]}"
