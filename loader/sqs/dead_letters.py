"""Reads the dead-letter queue without removing anything."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from loader.sqs.message import ATTRIBUTE
from stampede.runs import stored_json
from stampede.stacks.sqs_limits import MAX_ENTRIES

# How long a letter stays hidden after it was read; the drain makes it visible again at its end, and
# after a kill it becomes visible by itself.
HIDE_S = 600
_FAULT = stored_json.fault_of("dead_letters.jsonl")


class DeadLetters:
    """The letters of one queue, each read once: SQS counts every receive, and a long queue takes
    minutes to read. `known` are ids of letters that an earlier process has read."""

    def __init__(self, sqs: Any, queue_url: str, known: Iterable[str] = ()) -> None:
        self._sqs, self._url = sqs, queue_url
        self._known = set(known)
        self._handles: dict[str, str] = {}

    def look(self, count: int) -> Iterator[list[dict[str, Any]]]:
        """The work orders among the new letters of a queue of `count`, with `message_id` and
        `body`.

        Sends no request unless there are more letters than were read. With 120,000 hidden SQS
        shows no more (SQS quotas, in-flight messages). Raises boto3's errors.
        """
        while len(self._known) < count:
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MessageAttributeNames=[ATTRIBUTE],
                MaxNumberOfMessages=MAX_ENTRIES,
                VisibilityTimeout=HIDE_S,
                # Long polling asks every server of the queue, so empty means empty.
                WaitTimeSeconds=1,
            )
            # By id: SQS may return a letter twice.
            messages = {message["MessageId"]: message for message in answer.get("Messages", [])}
            if not messages:
                return
            self._handles |= {name: letter["ReceiptHandle"] for name, letter in messages.items()}
            new = [letter for name, letter in messages.items() if name not in self._known]
            self._known |= messages.keys()
            yield list(filter(None, map(_letter, new)))

    def show_again(self) -> None:
        """Make the letters read here visible to other readers. Raises boto3's errors."""
        handles, self._handles = iter(self._handles.items()), {}
        while batch := list(itertools.islice(handles, MAX_ENTRIES)):
            entries = [
                {"Id": name, "ReceiptHandle": handle, "VisibilityTimeout": 0}
                for name, handle in batch
            ]
            self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)


def _letter(message: dict[str, Any]) -> dict[str, Any] | None:
    """The work order in a message's attribute, or else in its body; None without one."""
    attribute = message.get("MessageAttributes", {}).get(ATTRIBUTE, {})
    try:
        order = stored_json.decoded(attribute.get("StringValue", message["Body"]))
        letter = {name: order[name] for name in ("run_id", "cell", "seq")}
    except (ValueError, TypeError, KeyError):
        return None
    letter |= {"message_id": message["MessageId"], "body": message["Body"]}
    return None if _FAULT(letter) else letter
