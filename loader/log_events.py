"""Fetches the log events of a function's log group, and finds the records in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

# CloudWatch Logs may show an event some seconds after its timestamp, out of order: look back this far each time.
OVERLAP_MS = 120_000

Event = dict[str, Any]


class LogEvents:
    """The events of one log group since `start_ms` (epoch ms), fetched again and again without repeating one.

    `known` are events fetched by an earlier process. An event is identified by its time, stream and text: a Lambda's
    lines carry its request id, and not every emulator gives event ids.
    """

    def __init__(self, logs_client: Any, log_group_name: str, start_ms: int, known: Iterable[Event] = ()) -> None:
        self._logs, self._group = logs_client, log_group_name
        self._start_ms, self._newest_ms = start_ms, start_ms
        self._seen: set[tuple[int, str, str]] = set()
        for event in known:
            self._note(event)

    def fetch(self) -> list[Event]:
        """Events not returned before, as {"timestamp", "message", "logStream"}; raises what boto3 raises."""
        since_ms = max(self._start_ms, self._newest_ms - OVERLAP_MS)
        pages = self._logs.get_paginator("filter_log_events").paginate(logGroupName=self._group, startTime=since_ms)
        events = (_event(raw) for page in pages for raw in page["events"])
        return [event for event in events if self._note(event)]

    def _note(self, event: Event) -> bool:
        """Remember the event; True if it is new."""
        identity = (event["timestamp"], event["logStream"], event["message"])
        if identity in self._seen:
            return False
        self._seen.add(identity)
        self._newest_ms = max(self._newest_ms, event["timestamp"])
        return True


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
