"""CloudWatch Logs shows a line some seconds after it was written, a few lines a minute after; pages may be empty."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from stampede.emulator.manners.manner import Call, Manner

TOKEN = "manners"


class LateLogs(Manner):
    """Lambda's lines were recorded 2 to 9 s after their time (@ingestionTime of REPORT lines), on busy groups up to 2
    minutes (grafana/alloy#5854). FilterLogEvents may answer a page without events and with a nextToken (CloudWatch Logs
    API reference, FilterLogEvents).

    A query of Logs Insights sees the same lines; the embedded AWS has none that could grow, for it refuses to parse.
    """

    USUAL_S, LATE_S, LATE_SHARE, EMPTY_SHARE = (2, 9), (9, 60), 0.03, 0.1
    calls = frozenset(["logs.FilterLogEvents", "logs.GetLogEvents"])

    def __init__(self, pace: Any, wall_clock: Callable[[], float] = time.time) -> None:
        super().__init__(pace)
        self._wall_clock, self._asked = wall_clock, 0

    def after(self, call: Call, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out what isn't to be seen yet."""
        self._asked += 1
        is_first = call.operation == "FilterLogEvents" and "nextToken" not in call.given
        if is_first and self.pace.chance("empty page", self._asked) < self.EMPTY_SHARE:
            return {**answer, "events": [], "nextToken": TOKEN}
        now_ms = self._wall_clock() * 1000
        return {**answer, "events": [event for event in answer["events"] if self._shown_from_ms(event) <= now_ms]}

    def _shown_from_ms(self, event: Mapping[str, Any]) -> float:
        what = event["timestamp"], event["message"]
        is_late = self.pace.chance("late", *what) < self.LATE_SHARE
        return event["timestamp"] + 1000 * self.pace.seconds(*(self.LATE_S if is_late else self.USUAL_S), *what)
