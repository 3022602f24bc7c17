"""Fetches the log events of a function's log group, and finds the records in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

# CloudWatch Logs may show an event some seconds after its timestamp, out of order: look back this far each time.
OVERLAP_MS = 120_000
# The embedded AWS shows an event as soon as it has noted its time, and at N = 500 asking it for 20,000 events of two
# minutes every half second took as much of it as the functions did.
LOCAL_OVERLAP_MS = 10_000
MOST_EVENTS_IN_A_PAGE = 10_000  # FilterLogEvents, `limit`
_FORGET_AT = 50_000  # events; to look at each remembered one is worth it when most can go

Event = dict[str, Any]


class LogEvents:
    """The events of one log group since `start_ms` (epoch ms), fetched again and again without repeating one.

    `known` are events fetched by an earlier process. An event is identified by its time, stream and text: a Lambda's
    lines carry its request id, and not every emulator gives event ids. Only events that the next fetch asks for again
    are remembered, so memory depends on the rate of events and not on their number. `overlap_ms` is how far before the
    newest event each fetch looks for late ones.
    """

    def __init__(
        self,
        logs_client: Any,
        log_group_name: str,
        start_ms: int,
        known: Iterable[Event] = (),
        overlap_ms: int = OVERLAP_MS,
    ) -> None:
        self._logs, self._group, self._overlap_ms = logs_client, log_group_name, overlap_ms
        self._start_ms, self._newest_ms = start_ms, start_ms
        # When each remembered event happened, by its digest: before this fetch, and in it.
        self._seen: dict[bytes, int] = {}
        self._fresh: dict[bytes, int] = {}
        self._forget_at = _FORGET_AT
        for event in known:
            self._note(event)

    def fetch(self) -> Iterator[list[Event]]:
        """Events not returned before, as {"timestamp", "message", "logStream"}, page by page; raises what boto3 raises.

        Read it to its end: what comes next builds on it.
        """
        since_ms = self._edge_ms()
        known = (self._seen | self._fresh).items()
        self._seen = {digest: at_ms for digest, at_ms in known if at_ms >= since_ms}
        self._fresh = {}
        paginator = self._logs.get_paginator("filter_log_events")
        while since_ms is not None:
            events: list[Event] = []
            for page in paginator.paginate(logGroupName=self._group, startTime=since_ms):
                events = list(map(_event, page["events"]))
                yield [event for event in events if self._note(event)]
            since_ms = _after_full_page(events, since_ms)

    def _edge_ms(self) -> int:
        return max(self._start_ms, self._newest_ms - self._overlap_ms)

    def _note(self, event: Event) -> bool:
        """Remember the event; True if it is new."""
        at_ms = event["timestamp"]
        text = f"{at_ms} {event['logStream']} {event['message']}"
        digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        if digest in self._seen or digest in self._fresh:
            return False
        self._fresh[digest] = at_ms
        self._newest_ms = max(self._newest_ms, at_ms)
        if len(self._fresh) >= self._forget_at:
            edge_ms = self._edge_ms()
            self._fresh = {digest: at_ms for digest, at_ms in self._fresh.items() if at_ms >= edge_ms}
            self._forget_at = max(_FORGET_AT, 2 * len(self._fresh))
        return True


def _after_full_page(events: list[Event], since_ms: int) -> int | None:
    """Where to go on after a last page that is full; None where it isn't, or leads no further.

    MiniStack ends at 10,000 events without a token [tried]; AWS gives one, so there this asks at most once more.
    """
    newest_ms = max((event["timestamp"] for event in events), default=since_ms)
    return newest_ms if len(events) >= MOST_EVENTS_IN_A_PAGE and newest_ms > since_ms else None


def _event(raw: dict[str, Any]) -> Event:
    return {
        "timestamp": raw["timestamp"],
        "message": raw["message"].rstrip("\n"),
        "logStream": raw["logStreamName"],
    }


def records(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records among log events: messages that are a JSON object with a `status` and a `run_id`."""
    for event in events:
        message = event["message"]
        if not message.startswith('{"concurrency_limit"'):
            continue
        try:
            record = json.loads(message)
        except ValueError:
            continue
        if isinstance(record, dict) and "status" in record and "run_id" in record:
            yield record
