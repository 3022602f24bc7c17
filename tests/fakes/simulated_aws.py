"""A stack as AWS may behave, on a clock that only sleeping moves: a queue, dead letters, and late
log lines."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from math import inf
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError

from loader.sqs.message import Accepted, Order, Outcome
from stampede.stacks.target import Target

EPOCH_MS = 1_700_000_000_000
OUTPUTS = {
    "function_name": "f",
    "queue_url": "queue",
    "dead_letter_queue_url": "dead",
    "log_group_name": "group",
    "region": "us-east-1",
    "visibility_timeout_s": 360,
    "max_receive_count": 5,
    "timeout_s": 60,
    "concurrency_value": 5,
}


def record(seq: int, status: str = "ok", cell: str = "a", run_id: str = "r", **more: Any) -> str:
    """The log line of a record."""
    return json.dumps(
        {"concurrency_limit": 5, "run_id": run_id, "cell": cell, "seq": seq, "status": status}
        | more
    )


class SimulatedAws(Target):
    """Events are scheduled in advance with the second (from 0) in which they become visible;
    `now_s` is the clock."""

    # stands in for boto3's, which seeding changes
    _endpoint = SimpleNamespace(http_session=SimpleNamespace(_socket_options=[]))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.reset()

    def reset(self) -> None:
        """Restores the initial state."""
        vars(self).update(now_s=0.0, slept=[], operations=[], failures=[], answers=[])
        vars(self).update(hidden=[], visible=[], letters=[], received={}, lines=[])
        vars(self).update(page_size=3, floods=[], invocations=[])

    # What happens.

    def happen(self, body: dict[str, Any]) -> None:
        """The consequence of sending a message; a test overrides it."""

    def log(self, text: str, *, at_s: float, seen_at_s: float | None = None) -> None:
        """Adds a line with the timestamp `at_s` that CloudWatch shows from `seen_at_s` on."""
        if seen_at_s is None:
            seen_at_s = at_s
        self.lines.append((seen_at_s, EPOCH_MS + int(at_s * 1000), text))

    def bury(self, at_s: float, **order: Any) -> None:
        """Adds a dead letter."""
        self.letters.append((at_s, json.dumps(order)))

    def hide(self, from_s: float, to_s: float) -> None:
        """One more message is in flight during this time."""
        self.hidden.append((from_s, to_s))

    def show(self, from_s: float, to_s: float) -> None:
        """One more message waits in the queue during this time."""
        self.visible.append((from_s, to_s))

    def fail(
        self, operation: str, code: str, *, between_s: tuple[float, float], after: int = 0
    ) -> None:
        """An operation fails during this time, after its first `after` calls; the code "no answer"
        means that no connection is made."""
        self.failures.append((operation, code, *between_s, after))

    # The clock of the drain.

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.__dict__["now_s"] += seconds

    # The API.

    def take(self, target: Target, orders: Iterable[Order], accepted: Callable) -> Outcome:
        """Replaces the sending of a flood; `floods` collects each flood's bodies."""
        bodies = [json.loads(order.body) for order in orders]
        self.floods.append(bodies)
        sent_at_ms = EPOCH_MS + int(self.now_s * 1000)
        accepted([Accepted(body["seq"], f"m{body['seq']}", sent_at_ms, 0) for body in bodies])
        for body in bodies:
            self.happen(body)
        return Outcome(sent=len(bodies))

    def purge_queue(self, QueueUrl: str) -> None:
        self._call("PurgeQueue")
        self.hidden.clear()

    def client(self, service: str, **config: Any) -> SimulatedAws:
        return self

    def get_queue_attributes(self, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:
        self._call("GetQueueAttributes")
        counts = dict.fromkeys(AttributeNames, "0")
        if QueueUrl == "queue":
            counts["ApproximateNumberOfMessages"] = self._now_in(self.visible)
            counts["ApproximateNumberOfMessagesNotVisible"] = self._now_in(self.hidden)
        else:
            there = [(at_s, inf) for at_s, _ in self.letters]
            counts["ApproximateNumberOfMessages"] = self._now_in(there)
        return {"Attributes": counts}

    def receive_message(
        self, QueueUrl: str, VisibilityTimeout: int, **options: Any
    ) -> dict[str, Any]:
        self._call("ReceiveMessage")
        messages: list[dict[str, Any]] = []
        for number, (at_s, body) in enumerate(self.letters):
            is_visible = at_s <= self.now_s and self.received.get(number, -1) < self.now_s
            if is_visible and len(messages) < 10:
                self.received[number] = self.now_s + VisibilityTimeout
                message = {"MessageId": f"m{number}", "ReceiptHandle": str(number), "Body": body}
                messages.append(message)
        return {"Messages": messages} if messages else {}

    def change_message_visibility_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> None:
        for entry in Entries:
            if not entry["VisibilityTimeout"]:
                del self.received[int(entry["ReceiptHandle"])]

    def filter_log_events(
        self, logGroupName: str, startTime: int, nextToken: str = "0", *, interleaved: bool
    ) -> dict[str, Any]:
        self._call("FilterLogEvents")
        seen = sorted(
            (at, text, at_s)
            for at_s, at, text in self.lines
            if at_s <= self.now_s and at >= startTime
        )
        first = int(nextToken)
        last = first + self.page_size
        page = [
            {
                "timestamp": at,
                "message": text + "\n",
                "logStreamName": "s",
                "ingestionTime": EPOCH_MS + int(seen_at_s * 1000),
                "eventId": number,
            }
            for number, (at, text, seen_at_s) in enumerate(seen[first:last], first)
        ]
        return {"events": page} | ({"nextToken": str(last)} if last < len(seen) else {})

    def invoke(self, FunctionName: str, Payload: str | bytes, **options: Any) -> dict[str, Any]:
        """The function returns `answers` in turn, the last one repeatedly; exceptions
        are raised."""
        self._call("Invoke")
        self.invocations.append((FunctionName, json.loads(Payload)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer | {"Payload": io.BytesIO(answer["Payload"])}

    def count(self, operation: str) -> int:
        """The number of calls of an operation."""
        return self.operations.count(operation)

    def _now_in(self, times: list[tuple[float, float]]) -> str:
        return str(sum(from_s <= self.now_s < to_s for from_s, to_s in times))

    def _call(self, operation: str) -> None:
        self.operations.append(operation)
        for failing, code, from_s, to_s, after in self.failures:
            is_due = from_s <= self.now_s < to_s and self.count(operation) > after
            if failing == operation and is_due:
                if code == "no answer":
                    raise EndpointConnectionError(endpoint_url="http://nowhere")
                raise ClientError({"Error": {"Code": code, "Message": "in AWS's words"}}, operation)
