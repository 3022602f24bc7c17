"""Reads the dead-letter queue without taking anything out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from loader.sqs.message import ATTRIBUTE
from stampede.progress import say
from stampede.runs import stored_json

# A letter that has been read stays hidden from the next look for so long, and is shown again at the end. Not longer:
# what a reader that is killed has hidden comes back by itself.
HIDE_S = 600
# SQS refuses to hide more than 120,000 messages of one queue at a time (SQS quotas, in-flight messages).
MOST_LETTERS = 100_000

Letter = dict[str, Any]


class DeadLetters:
    """The letters of one queue, each read once: every receive counts in SQS, and a long queue takes minutes to page.

    `known` are ids of letters that an earlier process has read.
    """

    def __init__(self, sqs: Any, queue_url: str, known: Iterable[str] = ()) -> None:
        self._sqs, self._url = sqs, queue_url
        self._known = set(known)
        self._handles: dict[str, str] = {}

    def look(self, count: int) -> Iterator[list[Letter]]:
        """Letters not read before, as {"run_id", "cell", "seq", "message_id", "body"}, when the queue holds `count`.

        Coordinates are None where neither the attribute nor the body is a work order. Nothing is asked while no more
        letters are there than were read. Raises what boto3 raises.
        """
        if len(self._known) < MOST_LETTERS <= count:
            said = f"only the first {MOST_LETTERS:,} messages in the dead-letter queue are read: SQS can hide no more"
            say(f"{said} at a time", style="yellow")
        while len(self._known) < min(count, MOST_LETTERS):
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MessageAttributeNames=[ATTRIBUTE],
                MaxNumberOfMessages=10,
                VisibilityTimeout=HIDE_S,
                WaitTimeSeconds=1,  # long polling asks every server of the queue, so empty means empty
            )
            messages = answer.get("Messages", [])
            if not messages:
                return
            self._handles |= {message["MessageId"]: message["ReceiptHandle"] for message in messages}
            # By id: a letter that is shown while its neighbours are still read comes twice.
            news = {message["MessageId"]: message for message in messages if message["MessageId"] not in self._known}
            self._known.update(news)
            yield [_letter(message) for message in news.values()]

    def show_again(self) -> None:
        """Let other readers see at once what was read here. Raises what boto3 raises."""
        handles, self._handles = list(self._handles.values()), {}
        for start in range(0, len(handles), 10):
            entries = [
                {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": 0}
                for index, handle in enumerate(handles[start : start + 10])
            ]
            self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)


def _letter(message: dict[str, Any]) -> Letter:
    attribute = message.get("MessageAttributes", {}).get(ATTRIBUTE, {})
    try:
        said = stored_json.decoded(attribute.get("StringValue", message["Body"]))
    except ValueError:
        said = None
    order = said if isinstance(said, dict) else {}
    kinds = {"run_id": str, "cell": str, "seq": int}
    coordinates = {name: order[name] if type(order.get(name)) is kind else None for name, kind in kinds.items()}
    return coordinates | {"message_id": message["MessageId"], "body": message["Body"]}
