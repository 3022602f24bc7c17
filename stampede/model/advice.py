"""What to change about a limit that binds. The figures are the model's own, asked again with the change."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stampede.model.bottleneck import MESSAGES, RAMP, REACH, RESERVED, SHARED, SHORT, TIMEOUT, Bottleneck
from stampede.model.course import Course
from stampede.model.parameters import Parameters
from stampede.model.scenario import PROVISIONED, Evaluation, Scenario, enough, evaluate, expect
from stampede.variable_rules import RULES

# What advice aims at: so much of the operations' time at full N.
AIM = 0.9
# Messages a worker that are worth trying, and messages in all that anybody sends for that.
EACH = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1000)
MOST_MESSAGES = 200_000
# About so many attempts are behind a figure that is told, where there are more: nobody waits minutes for advice.
TOLD_ATTEMPTS = 20_000
# Lambda's provisioned mode: pollers of so many invocations each, some of which are kept ready.
READY_POLLERS = RULES["provisioned_pollers"].attributes["minimum"]
INVOKES = RULES["concurrency_value"].shared["per_poller"]
# Fewer workers are as fast where all of it takes at most so much longer.
AS_FAST = 1.05
ROUND = tuple(step * 10**power for power in range(5) for step in (1, 2, 3, 4, 5, 6, 8))
SUBNETS = (2, 4, 6)
MOST_TIMEOUT_S = RULES["timeout_s"].most


@dataclass(frozen=True)
class Change:
    """What to change, in words with the figures that come of it, and the cell with the change."""

    words: str
    scenario: Scenario


def advise(
    scenario: Scenario, parameters: Parameters, found: Evaluation, bound: Sequence[Bottleneck], seed: int
) -> list[Change]:
    """What to change about each of the limits that bind; nothing where no change is for the better."""
    asking = _Asking(scenario, parameters, found, seed)
    by_kind = {
        TIMEOUT: asking.longer,
        RESERVED: asking.fewer_pollers,
        REACH: asking.farther,
        MESSAGES: asking.overlap,
        RAMP: asking.overlap,
        SHORT: asking.smaller,
        SHARED: asking.relief,
    }
    if any(one.kind == TIMEOUT for one in bound):  # what of them ends at all comes first
        bound = [one for one in bound if one.kind in (TIMEOUT, SHARED)]
    return [change for one in bound if one.kind in by_kind for change in by_kind[one.kind](one)]


def sentence(changes: Sequence[Change]) -> str:
    """All of it in one line."""
    return "; ".join(change.words for change in changes)


class _Asking:
    """The model, asked again with one thing changed: of a small part of a large flood to search, of a larger one to say
    it."""

    def __init__(self, scenario: Scenario, parameters: Parameters, found: Evaluation, seed: int) -> None:
        self._scenario, self._parameters, self._found, self._seed = scenario, parameters, found, seed

    def _ask(self, scenario: Scenario) -> Course:
        return expect(scenario, self._parameters, self._seed, TOLD_ATTEMPTS).course

    def _about(self, scenario: Scenario) -> Course:
        return evaluate(scenario, self._parameters, self._seed, enough(scenario)).course

    def longer(self, _: Bottleneck) -> Iterator[Change]:
        """Time enough, or a smaller N where Lambda's longest time isn't enough."""
        slowest_s = self._about(self._with_timeout(MOST_TIMEOUT_S)).max_s
        if slowest_s < MOST_TIMEOUT_S / 1.5:  # not where it is nan, because none ends
            longer = self._with_timeout(math.ceil(1.5 * slowest_s))
            yield from self._more_succeed(f"timeout_s = {longer.timeout_s:g}", longer)
            return
        for n in (one for one in reversed(ROUND) if one < self._scenario.concurrency):
            smaller = _of(self._scenario, n)
            if not self._about(smaller).failed_attempts:
                yield from self._more_succeed(f"N = {n:,}", smaller)
                return

    def _more_succeed(self, words: str, changed: Scenario) -> Iterator[Change]:
        course, now = self._ask(changed), self._found.course
        if course.succeeded > now.succeeded:
            many = f"{course.succeeded:,} instead of {now.succeeded:,}"
            yield Change(f"with {words}, {many} {self._scenario.operations} complete", changed)

    def _with_timeout(self, seconds: float) -> Scenario:
        return replace(self._scenario, timeout_s=seconds, visibility_timeout_s=6 * seconds)

    def fewer_pollers(self, _: Bottleneck) -> Iterator[Change]:
        """No more fetched than N take."""
        if self._scenario.pollers is None:
            return
        most = max(READY_POLLERS.least, -(-self._scenario.concurrency // INVOKES))
        pollers = (min(self._scenario.pollers[0], most), most)
        changed, now = replace(self._scenario, pollers=pollers), self._found.course.dead_lettered
        course = self._ask(changed)
        if course.dead_lettered < now:
            left = f"{course.dead_lettered:,} messages end as dead letters instead of {now:,}"
            yield Change(f"with {_words(pollers)}, {left}", changed)

    def farther(self, _: Bottleneck) -> Iterator[Change]:
        """The trigger's own cap at N."""
        n = self._scenario.concurrency
        if self._scenario.maximum_concurrency is None or self._scenario.maximum_concurrency >= n:
            return
        changed = replace(self._scenario, maximum_concurrency=n)
        course = self._ask(changed)
        if course.most_at_once > self._found.course.most_at_once:
            yield Change(f"with maximum_concurrency = {n:,}, {course.most_at_once:,} run at once", changed)

    def overlap(self, _: Bottleneck) -> Iterator[Change]:
        """More of the time at full N: by more messages, by a faster ramp or by both, else by a smaller N."""
        ways = [*self._more_messages(self._scenario)]
        if self._scenario.trigger and self._scenario.concurrency > READY_POLLERS.least:
            most = max(READY_POLLERS.least, -(-self._scenario.concurrency // INVOKES))
            pollers = (min(most, READY_POLLERS.most), most)
            faster = replace(self._scenario, trigger=PROVISIONED, pollers=pollers, maximum_concurrency=None)
            found = self._faster(faster, _words(pollers))
            # Where they need as many messages, they are no help.
            ways += [way for way in found if not ways or way[2].messages < ways[0][2].messages]
        if ways:
            yield from (self._put(*way) for way in ways)
        else:
            yield from self.smaller(_)

    def smaller(self, _: Bottleneck) -> Iterator[Change]:
        """More of the time at full N by a smaller N."""
        for way in self._smaller():
            yield self._put(*way)

    def _put(self, words: str, share: float, scenario: Scenario) -> Change:
        percent = math.floor(100 * share)
        return Change(f"with {words}, {percent} % of the {scenario.operations}' time is at full N", scenario)

    def _faster(self, faster: Scenario, words: str) -> Iterator[tuple[str, float, Scenario]]:
        if faster.pollers == self._scenario.pollers:
            return
        course = self._ask(faster)
        if course.share_at_n >= AIM:
            yield words, course.share_at_n, faster
            return
        for more, share, scenario in self._more_messages(faster):
            yield f"{words} and {more}", share, scenario

    def _more_messages(self, scenario: Scenario) -> Iterator[tuple[str, float, Scenario]]:
        """The fewest messages, of the numbers that are tried, that reach the aim."""
        if scenario.shares_a_list:
            return
        n = scenario.concurrency
        more = [replace(scenario, messages=each * n) for each in EACH if scenario.messages < each * n <= MOST_MESSAGES]
        for changed in more[bisect_left(more, True, key=lambda one: self._about(one).share_at_n >= AIM) :]:
            course = self._ask(changed)
            if course.share_at_n >= AIM:
                yield f"{changed.messages // n} x N messages", course.share_at_n, changed
                return

    def _smaller(self) -> Iterator[tuple[str, float, Scenario]]:
        """The largest round N below that reaches the aim, with as many messages for each of N."""
        a_worker = self._scenario.messages / self._scenario.concurrency
        for n in (one for one in reversed(ROUND) if one < self._scenario.concurrency):
            messages = self._scenario.messages if self._scenario.shares_a_list else max(n, round(a_worker * n))
            changed = replace(_of(self._scenario, n), messages=messages)
            if self._about(changed).share_at_n < AIM:
                continue
            course = self._ask(changed)
            if course.share_at_n >= AIM:
                yield f"N = {n:,}", course.share_at_n, changed
                return

    def relief(self, bound: Bottleneck) -> Iterator[Change]:
        """How much longer a shared limit makes it, and what takes its place: more subnets, or fewer workers."""
        now = self._found.course
        without = replace(self._scenario, without=(*self._scenario.without, bound.limit))
        free = self._ask(without)
        if not math.isnan(free.avg_s) and not math.isnan(now.avg_s):
            yield Change(f"without the bottleneck, one takes {free.avg_s:.3g} s instead of {now.avg_s:.3g} s", without)
        if self._found.work.network == "vpc":
            yield from self._subnets()
        yield from self._fewer_workers(bound)

    def _subnets(self) -> Iterator[Change]:
        for subnets in SUBNETS:
            changed = self._scenario.with_work(subnets=subnets)
            if subnets <= self._found.work.subnets:
                continue
            course = self._ask(changed)
            if course.avg_s < self._found.course.avg_s / AS_FAST:
                yield Change(f"in {subnets} subnets it takes {course.avg_s:.3g} s", changed)
            return

    def _fewer_workers(self, bound: Bottleneck) -> Iterator[Change]:
        """The smallest round N that has what all share used up, and so takes no longer."""
        now = self._found.course
        [limit] = [one for one in self._found.limits if one.name == bound.limit]
        room = limit.per_s[0] / self._found.operation.demands[bound.limit]
        for n in (one for one in ROUND if room <= one < self._scenario.concurrency):
            changed = _of(self._scenario, n)
            course = self._ask(changed)
            if course.drain_s <= now.drain_s * AS_FAST and course.succeeded >= now.succeeded:
                yield Change(
                    f"N = {n:,} finishes all in {course.drain_s:,.0f} s, this N in {now.drain_s:,.0f} s", changed
                )
                return


def _of(scenario: Scenario, n: int) -> Scenario:
    """The same messages with N = `n`."""
    most, pollers = scenario.maximum_concurrency, scenario.pollers
    if pollers is not None:
        fitting = max(READY_POLLERS.least, -(-n // INVOKES))
        pollers = (min(pollers[0], fitting), min(pollers[1], fitting))
    cap = None if most is None else max(2, min(most, n))
    return replace(scenario, concurrency=n, maximum_concurrency=cap, pollers=pollers)


def _words(pollers: tuple[int, int]) -> str:
    """As --set takes it."""
    return f"provisioned_pollers={{minimum={pollers[0]},maximum={pollers[1]}}}"
