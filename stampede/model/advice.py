"""What to change about a bottleneck. The figures are the model's own, asked again with the change."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stampede.model.bottleneck import MESSAGES, RAMP, REACH, RESERVED, SHARED, SHORT, TIMEOUT, Bottleneck
from stampede.model.course import Course
from stampede.model.parameters import Parameters
from stampede.model.scenario import PROVISIONED, Evaluation, Scenario, enough, evaluate, expect
from stampede.phrases import counted
from stampede.variable_rules import RULES

# What advice aims at: so much of the operations' time in full overlap.
AIM = 0.9
# Messages for each worker that are worth trying, and messages in all that anybody sends for that.
PER_WORKER = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1000)
MOST_MESSAGES = 200_000
# About so many attempts are behind a figure in words, where there are more: nobody waits minutes for advice.
ATTEMPTS = 20_000
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


@dataclass(frozen=True)
class _Overlap:
    """A change that reaches the aim, in words without its figure, and the share of the time in full overlap with it."""

    words: str
    share: float
    scenario: Scenario


def advise(
    scenario: Scenario, parameters: Parameters, evaluation: Evaluation, limits: Sequence[Bottleneck], seed: int
) -> list[Change]:
    """What to change about each of the cell's bottlenecks; nothing where no change is for the better."""
    search = _Search(scenario, parameters, evaluation, seed)
    by_kind = {
        TIMEOUT: search.timeout,
        RESERVED: search.fewer_pollers,
        REACH: search.maximum_concurrency,
        MESSAGES: search.overlap,
        RAMP: search.overlap,
        SHORT: search.smaller_n,
        SHARED: search.relief,
    }
    if any(bottleneck.kind == TIMEOUT for bottleneck in limits):  # what of them ends at all comes first
        limits = [bottleneck for bottleneck in limits if bottleneck.kind in (TIMEOUT, SHARED)]
    changes = []
    for bottleneck in limits:
        if bottleneck.kind in by_kind:
            changes += by_kind[bottleneck.kind](bottleneck)
    return changes


class _Search:
    """Asks the model with one thing changed: of a small part of a large flood to search, of a larger one for the
    figures."""

    def __init__(self, scenario: Scenario, parameters: Parameters, evaluation: Evaluation, seed: int) -> None:
        self._scenario, self._parameters, self._seed = scenario, parameters, seed
        self._evaluation, self._now = evaluation, evaluation.course

    def _course(self, scenario: Scenario) -> Course:
        return expect(scenario, self._parameters, self._seed, ATTEMPTS).course

    def _rough_course(self, scenario: Scenario) -> Course:
        return evaluate(scenario, self._parameters, self._seed, enough(scenario)).course

    def timeout(self, _: Bottleneck) -> Iterator[Change]:
        """Time enough, or a smaller N where Lambda's longest time isn't enough."""
        slowest_s = self._rough_course(self._with_timeout(MOST_TIMEOUT_S)).max_s
        if slowest_s < MOST_TIMEOUT_S / 1.5:  # not where it is nan, because none ends
            longer = self._with_timeout(math.ceil(1.5 * slowest_s))
            yield from self._more_succeed(f"timeout_s = {longer.timeout_s:g}", longer)
            return
        for n in self._smaller_round_n():
            smaller = _with_n(self._scenario, n)
            if not self._rough_course(smaller).failed_attempts:
                yield from self._more_succeed(f"N = {n:,}", smaller)
                return

    def _more_succeed(self, words: str, changed: Scenario) -> Iterator[Change]:
        course = self._course(changed)
        if course.succeeded > self._now.succeeded:
            more = f"{course.succeeded:,} instead of {self._now.succeeded:,}"
            yield Change(f"with {words}, {more} {self._scenario.operations} complete", changed)

    def _with_timeout(self, seconds: float) -> Scenario:
        return replace(self._scenario, timeout_s=seconds, visibility_timeout_s=6 * seconds)

    def _smaller_round_n(self) -> Iterator[int]:
        """Round numbers below N, the largest first."""
        return (n for n in reversed(ROUND) if n < self._scenario.concurrency)

    def fewer_pollers(self, _: Bottleneck) -> Iterator[Change]:
        """No more fetched than N take."""
        if self._scenario.pollers is None:
            return
        most = max(READY_POLLERS.least, -(-self._scenario.concurrency // INVOKES))
        pollers = (min(self._scenario.pollers[0], most), most)
        changed = replace(self._scenario, pollers=pollers)
        dead_lettered = self._course(changed).dead_lettered
        if dead_lettered < self._now.dead_lettered:
            end = counted(dead_lettered, "message ends", "messages end")
            left = f"{end} as dead letters instead of {self._now.dead_lettered:,}"
            yield Change(f"with {_setting(pollers)}, {left}", changed)

    def maximum_concurrency(self, _: Bottleneck) -> Iterator[Change]:
        """The trigger's own cap at N."""
        n = self._scenario.concurrency
        if self._scenario.maximum_concurrency is None or self._scenario.maximum_concurrency >= n:
            return
        changed = replace(self._scenario, maximum_concurrency=n)
        course = self._course(changed)
        if course.most_at_once > self._now.most_at_once:
            yield Change(f"with maximum_concurrency = {n:,}, {course.most_at_once:,} run at once", changed)

    def overlap(self, bottleneck: Bottleneck) -> Iterator[Change]:
        """More of the time in full overlap: by more messages, by a faster ramp or by both, else by a smaller N."""
        overlaps = [*self._more_messages(self._scenario)]
        if self._scenario.trigger and self._scenario.concurrency > READY_POLLERS.least:
            for overlap in self._faster_ramp():
                # Where it needs as many messages, it is no help.
                if not overlaps or overlap.scenario.messages < overlaps[0].scenario.messages:
                    overlaps.append(overlap)
        if overlaps:
            yield from map(self._change, overlaps)
        else:
            yield from self.smaller_n(bottleneck)

    def smaller_n(self, _: Bottleneck) -> Iterator[Change]:
        """More time in full overlap: the largest round N below that reaches the aim, each with as many messages."""
        per_worker = self._scenario.messages / self._scenario.concurrency
        for n in self._smaller_round_n():
            messages = self._scenario.messages if self._scenario.shares_a_list else max(n, round(per_worker * n))
            changed = replace(_with_n(self._scenario, n), messages=messages)
            if self._rough_course(changed).share_at_n < AIM:
                continue
            share = self._course(changed).share_at_n
            if share >= AIM:
                yield self._change(_Overlap(f"N = {n:,}", share, changed))
                return

    def _change(self, overlap: _Overlap) -> Change:
        percent = math.floor(100 * overlap.share)
        words = f"with {overlap.words}, {percent} % of the {overlap.scenario.operations}' time is in full overlap"
        return Change(words, overlap.scenario)

    def _faster_ramp(self) -> Iterator[_Overlap]:
        """As many provisioned pollers from the beginning as N takes, and more messages if that isn't enough."""
        most = max(READY_POLLERS.least, -(-self._scenario.concurrency // INVOKES))
        pollers = (min(most, READY_POLLERS.most), most)
        if pollers == self._scenario.pollers:
            return
        faster = replace(self._scenario, trigger=PROVISIONED, pollers=pollers, maximum_concurrency=None)
        share = self._course(faster).share_at_n
        if share >= AIM:
            yield _Overlap(_setting(pollers), share, faster)
            return
        for more in self._more_messages(faster):
            yield replace(more, words=f"{_setting(pollers)} and {more.words}")

    def _more_messages(self, scenario: Scenario) -> Iterator[_Overlap]:
        """The fewest messages, of the numbers that are tried, that reach the aim."""
        if scenario.shares_a_list:
            return
        n = scenario.concurrency
        more = [
            replace(scenario, messages=messages)
            for messages in (per_worker * n for per_worker in PER_WORKER)
            if scenario.messages < messages <= MOST_MESSAGES
        ]
        enough_at = bisect_left(more, True, key=lambda changed: self._rough_course(changed).share_at_n >= AIM)
        for changed in more[enough_at:]:
            share = self._course(changed).share_at_n
            if share >= AIM:
                yield _Overlap(f"{changed.messages // n} x N messages", share, changed)
                return

    def relief(self, bottleneck: Bottleneck) -> Iterator[Change]:
        """How much longer a shared limit makes it, and what takes its place: more subnets, or fewer workers."""
        without = replace(self._scenario, without=(*self._scenario.without, bottleneck.limit))
        free_s, now_s = self._course(without).avg_s, self._now.avg_s
        if not math.isnan(free_s) and not math.isnan(now_s):
            yield Change(f"without the bottleneck, one takes {free_s:.3g} s instead of {now_s:.3g} s", without)
        if self._evaluation.work.network == "vpc":
            yield from self._more_subnets()
        yield from self._fewer_workers(bottleneck)

    def _more_subnets(self) -> Iterator[Change]:
        more = [subnets for subnets in SUBNETS if subnets > self._evaluation.work.subnets]
        if not more:
            return
        changed = self._scenario.with_work(subnets=more[0])
        avg_s = self._course(changed).avg_s
        if avg_s < self._now.avg_s / AS_FAST:
            yield Change(f"in {more[0]} subnets it takes {avg_s:.3g} s", changed)

    def _fewer_workers(self, bottleneck: Bottleneck) -> Iterator[Change]:
        """The smallest round N that has what all share used up, and so takes no longer."""
        [limit] = [limit for limit in self._evaluation.limits if limit.name == bottleneck.limit]
        room = limit.per_s[0] / self._evaluation.operation.demands[bottleneck.limit]
        now = self._now
        for n in ROUND:
            if not room <= n < self._scenario.concurrency:
                continue
            changed = _with_n(self._scenario, n)
            course = self._course(changed)
            if course.drain_s <= now.drain_s * AS_FAST and course.succeeded >= now.succeeded:
                words = f"N = {n:,} finishes all in {course.drain_s:,.0f} s, this N in {now.drain_s:,.0f} s"
                yield Change(words, changed)
                return


def _with_n(scenario: Scenario, n: int) -> Scenario:
    """The same messages with N = `n`."""
    pollers = scenario.pollers
    if pollers is not None:
        fitting = max(READY_POLLERS.least, -(-n // INVOKES))
        pollers = (min(pollers[0], fitting), min(pollers[1], fitting))
    cap = None if scenario.maximum_concurrency is None else max(2, min(scenario.maximum_concurrency, n))
    return replace(scenario, concurrency=n, maximum_concurrency=cap, pollers=pollers)


def _setting(pollers: tuple[int, int]) -> str:
    """As --set takes it."""
    return f"provisioned_pollers={{minimum={pollers[0]},maximum={pollers[1]}}}"
