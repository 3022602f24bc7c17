"""Fetches log events of a function's log group, and finds the records in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stampede.runs import stored_json

# CloudWatch Logs may show an event some seconds after its timestamp, out of order, so each fetch
# goes back this far. The embedded AWS shows events at once; at N = 500, reading two minutes of them
# every half second took as much CPU as the functions.
OVERLAP_MS = {"local": 10_000, "aws": 120_000}
# CloudWatch Logs usually shows events within seconds; the longest delay seen is 187 s. The emulator
# shows them at once.
LATE_S = {"local": 10.0, "aws": 600.0}
MOST_EVENTS_IN_A_PAGE = 10_000  # FilterLogEvents, `limit`
# FilterLogEvents has been seen to repeat a token on empty pages (boto3#1584), for which botocore's
# paginator raises an error. After so many repetitions the rest is left to the next fetch, which
# begins there.
MOST_REPEATS = 5
# How a record begins.
RECORD = '{"concurrency_limit"'
_FAULT_OF_RECORD = stored_json.fault_of("records.jsonl")
_FAULT_OF_OBJECT = stored_json.fault_of("failed_objects.jsonl")
# How a line that lists failed objects begins; older runs have the second form.
_FAILURES = ('{"run_id"', '{"failed_objects"')
_OF_LINE = ("cell", "seq", "attempt")
_OF_OBJECT = ("slice", "line", "source", "destination", "error_type", "error_message")


class LogEvents:
    """The events of one log group since `start_ms` (epoch ms); repeated fetches return each once.

    `known` are events fetched by an earlier process. An event is identified by its time, stream and
    text: Lambda's lines contain the request id, and not every emulator has event ids. Among 4
    million events two share a 64-bit hash once in 2 million runs. Each fetch begins `overlap_ms`
    before the newest event, for late ones. `latest_ms` is the longest time between a line's
    timestamp and its ingestion, -1 if unknown.
    """

    def __init__(
        self,
        logs_client: Any,
        log_group_name: str,
        start_ms: int,
        known: Iterable[dict[str, Any]] = (),
        overlap_ms: int = OVERLAP_MS["aws"],
    ) -> None:
        self._logs, self._group, self._overlap_ms = logs_client, log_group_name, overlap_ms
        self._start_ms = self._newest_ms = start_ms
        self._known: set[int] = set()
        self.latest_ms = -1
        for event in known:
            self._is_new(event)

    def fetch(self, since_ms: int | None = None) -> Iterator[list[dict[str, Any]]]:
        """New events as {"timestamp", "message", "logStream"}, page by page; raises boto3's errors.

        `since_ms` fetches everything since then, however late it came; the default is what may have
        come since the last fetch. Pages are in the order of time, so the next fetch continues one
        that ended early, also by an error.
        """
        if since_ms is None:
            since_ms = max(self._start_ms, self._newest_ms - self._overlap_ms)
        for page in self._pages(max(0, since_ms)):
            lags_ms = (
                event["ingestionTime"] - event["timestamp"]
                for event in page
                if "ingestionTime" in event
            )
            self.latest_ms = max(self.latest_ms, *lags_ms, -1)
            yield [event for event in map(_event, page) if self._is_new(event)]

    def _pages(self, begin_ms: int) -> Iterator[list[dict[str, Any]]]:
        """The pages of FilterLogEvents. MiniStack ends at 10,000 events without a token [tried], so
        a full last page is followed by a request from there on; on AWS, which gives a token, that
        is at most one more."""
        # AWS always sorts by time, moto and LocalStack only with `interleaved`.
        request = {"logGroupName": self._group, "startTime": begin_ms, "interleaved": True}
        repeats = 0
        while repeats < MOST_REPEATS:
            answer = self._logs.filter_log_events(**request)
            events, token = answer["events"], answer.get("nextToken")
            yield events
            if token is not None:
                is_repeated = token == request.get("nextToken") and not events
                repeats = repeats + 1 if is_repeated else 0
                request["nextToken"] = token
            elif len(events) < MOST_EVENTS_IN_A_PAGE or events[-1]["timestamp"] <= begin_ms:
                return
            else:
                begin_ms = request["startTime"] = events[-1]["timestamp"]
                request.pop("nextToken", None)

    def _is_new(self, event: dict[str, Any]) -> bool:
        """Whether the event is new; remembers it."""
        self._newest_ms = max(self._newest_ms, event["timestamp"])
        count = len(self._known)
        self._known.add(hash((event["timestamp"], event["logStream"], event["message"])))
        return len(self._known) > count


def _event(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "timestamp": raw["timestamp"],
        "message": raw["message"].rstrip("\n"),
        "logStream": raw["logStreamName"],
    }


def records(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records of runs among log events: JSON objects with a `run_id` and the required fields of
    records.jsonl. A user's function may print lines that look similar."""
    for record in _objects(events, RECORD):
        if "run_id" in record and not _FAULT_OF_RECORD(record):
            yield record


def failed_lines(events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines among log events that list failed objects. A truncated line is left out, so its
    objects will be missing."""
    for line in _objects(events, _FAILURES):
        failed = line.get("failed_objects")
        is_whole = {"run_id", *_OF_LINE} <= line.keys() and not _FAULT_OF_OBJECT(line)
        if is_whole and isinstance(failed, list) and all(isinstance(row, dict) for row in failed):
            yield line


def _objects(
    events: Iterable[Mapping[str, Any]], beginning: str | tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """The JSON objects among the messages with this beginning; truncated ones are left out."""
    for event in events:
        if not event["message"].startswith(beginning):
            continue
        try:
            decoded = stored_json.decoded(event["message"])
        except ValueError:
            continue
        yield decoded


def failed_rows(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """One row for each failed object: message and attempt, its row of the manifest, and the
    reason."""
    for line in lines:
        attempt = {name: line[name] for name in _OF_LINE}
        for failed in line["failed_objects"]:
            yield attempt | {name: failed.get(name) for name in _OF_OBJECT}
