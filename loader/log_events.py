"""Fetches the log events of a function's log group, and finds the records in them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stampede.runs import stored_json

# CloudWatch Logs may show an event some seconds after its timestamp, out of order: look back this far each time. The
# embedded AWS shows events at once, and to ask it for two minutes of them every half second took as much of the machine
# as the functions did, at N = 500.
OVERLAP_MS = {"local": 10_000, "aws": 120_000}
MOST_EVENTS_IN_A_PAGE = 10_000  # FilterLogEvents, `limit`
_FAULT_OF_RECORD = stored_json.fault_of("records.jsonl")
# FilterLogEvents has been seen to repeat a token on empty pages (boto3#1584), which botocore's paginator ends with an
# error. After so many repetitions the rest is left to the next fetch, which begins at the same place.
MOST_REPEATS = 5
MOST_PAGES = 20_000

# Lambda's own lines, as recorded (tests/data/aws_answers, lam-74); a REPORT may have more parts behind these.
_LAMBDA = re.compile(
    r"START RequestId: \S+ Version: \S+|END RequestId: \S+|"
    r"REPORT RequestId: \S+\tDuration: [\d.]+ ms\tBilled Duration: [\d.]+ ms\tMemory Size: \d+ MB\tMax Memory Used: .*",
    re.DOTALL,
)

# How a record begins.
_RECORD = '{"concurrency_limit"'
# How a line begins that names objects which failed; the second in runs of before what identifies a line came first.
_FAILURES = ('{"run_id"', '{"failed_objects"')
_OF_LINE = ("cell", "seq", "attempt")
_OF_OBJECT = ("slice", "line", "source", "destination", "error_type", "error_message")

Event = dict[str, Any]


def together(before: Mapping[str, int], more: Mapping[str, int]) -> Counter[str]:
    """Two counts of what was seen as one: `most_` are maxima, all others are sums."""
    return Counter(
        {
            name: max(before.get(name, 0), more.get(name, 0))
            if name.startswith("most_")
            else before.get(name, 0) + more.get(name, 0)
            for name in {**before, **more}
        }
    )


def seen_on_page(answer: Mapping[str, Any], after_ms: int) -> Counter[str]:
    """What one answer of FilterLogEvents behind a page that ended at `after_ms` was like: whether it is without events
    but with a token, or not in the order of time; the events with the time of their ingestion, and the most ms from a
    line's time to that."""
    times_ms = [after_ms, *(event["timestamp"] for event in answer["events"])]
    lags_ms = [event["ingestionTime"] - event["timestamp"] for event in answer["events"] if "ingestionTime" in event]
    return Counter(
        pages=1,
        empty_pages=not answer["events"] and "nextToken" in answer,
        disordered_pages=times_ms != sorted(times_ms),
        most_events=len(answer["events"]),
        ingested=len(lags_ms),
        most_late_ms=max([0, *lags_ms]),
    )


def seen_in_lines(events: Iterable[Event]) -> Counter[str]:
    """Of lines, those that are records, or begin like one and are none; Lambda's, and its lines in another form."""
    seen: Counter[str] = Counter()
    for event in events:
        message = event["message"]
        seen["lines"] += 1
        if message.startswith(_RECORD):
            seen["records" if any(True for _ in records([event])) else "broken_records"] += 1
        elif message.startswith(("START ", "END ", "REPORT ")) or '"platform.report"' in message:
            seen["lambda_lines" if _LAMBDA.fullmatch(message) else "odd_lambda_lines"] += 1
    return seen


class LogEvents:
    """The events of one log group since `start_ms` (epoch ms), fetched again and again without repeating one.

    `known` are events fetched by an earlier process. An event is identified by its time, stream and text: a Lambda's
    lines carry its request id, and not every emulator gives event ids. Each takes 8 bytes of a digest, and what a set
    takes for it. `overlap_ms` is how far before the newest event each fetch looks for late ones.
    """

    def __init__(
        self,
        logs_client: Any,
        log_group_name: str,
        start_ms: int,
        known: Iterable[Event] = (),
        overlap_ms: int = OVERLAP_MS["aws"],
    ) -> None:
        self._logs, self._group, self._overlap_ms = logs_client, log_group_name, overlap_ms
        self._start_ms, self._newest_ms = start_ms, start_ms
        self._known: set[int] = set()
        self.seen: Counter[str] = Counter()
        for event in known:
            self._is_new(event)

    def fetch(self) -> Iterator[list[Event]]:
        """Events not returned before, as {"timestamp", "message", "logStream"}, page by page; raises what boto3 raises.

        Pages come in the order of time, so that after one that ends early, by an error too, the next goes on there.
        """
        return self.fetch_since(max(self._start_ms, self._newest_ms - self._overlap_ms))

    def fetch_since(self, since_ms: int) -> Iterator[list[Event]]:
        """Every event since `since_ms` that was not returned before, however late it came; page by page."""
        for page in self._pages(since_ms):
            yield [event for event in page if self._is_new(event)]

    def _pages(self, since_ms: int) -> Iterator[list[Event]]:
        """The pages of FilterLogEvents, by hand and bounded.

        MiniStack ends at 10,000 events without a token [tried], so after a full last page it is asked from there on;
        AWS gives a token, and is asked at most once more.
        """
        pages, begin_ms, newest_ms = 0, max(0, since_ms), -1
        while begin_ms > newest_ms:
            events: list[Event] = []
            for events in self._pages_of_one_answer(begin_ms):
                pages += 1
                yield events
                if pages >= MOST_PAGES:
                    return
            newest_ms = begin_ms
            if len(events) >= MOST_EVENTS_IN_A_PAGE:
                begin_ms = max(event["timestamp"] for event in events)

    def _pages_of_one_answer(self, since_ms: int) -> Iterator[list[Event]]:
        repeats, token, end_ms = 0, None, since_ms
        while repeats < MOST_REPEATS:
            more = {} if token is None else {"nextToken": token}
            # AWS gives the order of time whatever `interleaved` says; moto and LocalStack give it only when asked.
            answer = self._logs.filter_log_events(
                logGroupName=self._group, startTime=since_ms, interleaved=True, **more
            )
            self.seen = together(self.seen, seen_on_page(answer, end_ms))
            end_ms = max([end_ms, *(event["timestamp"] for event in answer["events"])])
            yield [_event(raw) for raw in answer["events"]]
            previous, token = token, answer.get("nextToken")
            if token is None:
                return
            repeats = repeats + 1 if token == previous and not answer["events"] else 0
            self.seen = together(self.seen, {"most_repeats": repeats})

    def _is_new(self, event: Event) -> bool:
        """Whether it wasn't known; it is from now on."""
        self._newest_ms = max(self._newest_ms, event["timestamp"])
        count = len(self._known)
        self._known.add(_digest(event))
        return len(self._known) > count


def _digest(event: Event) -> int:
    """64 bits that tell an event from a million others (two of 4 million are the same once in 2 million runs)."""
    text = f"{event['timestamp']} {event['logStream']} {event['message']}"
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def _event(raw: dict[str, Any]) -> Event:
    return {
        "timestamp": raw["timestamp"],
        "message": raw["message"].rstrip("\n"),
        "logStream": raw["logStreamName"],
    }


def records(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records among log events: messages that are a JSON object with a `status` and a `run_id`, and where that
    names a run with what its records.jsonl must have. A user's function may print what looks like one."""
    for event in events:
        message = event["message"]
        if not message.startswith(_RECORD):
            continue
        try:
            record = stored_json.decoded(message)
        except ValueError:
            continue
        if not isinstance(record, dict) or not {"status", "run_id"} <= record.keys():
            continue
        if record["run_id"] is None or not _FAULT_OF_RECORD(record):
            yield record


def failed_lines(events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines with failed objects among log events. One that was cut off is none: what it held will be missing."""
    for event in events:
        if not event["message"].startswith(_FAILURES):
            continue
        try:
            line = stored_json.decoded(event["message"])
        except ValueError:
            continue
        if isinstance(line.get("failed_objects"), list) and all(name in line for name in ("run_id", *_OF_LINE)):
            yield line


def failed_rows(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row an object: which attempt of which message, where its row of the manifest is, and why it failed."""
    for line in lines:
        attempt = {name: line[name] for name in _OF_LINE}
        for failed in line["failed_objects"]:
            yield attempt | {name: failed.get(name) for name in _OF_OBJECT}
