"""Reads the dead-letter queue without taking anything out of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from loader.sqs.message import ATTRIBUTE
from stampede.runs import stored_json
from stampede.stacks.sqs_limits import MAX_ENTRIES

# A letter that has been read stays hidden from the next look for so long, and is shown again at the
# end. Not longer: what a reader that is killed has hidden comes back by itself.
HIDE_S = 600
_FAULT = stored_json.fault_of("dead_letters.jsonl")

Letter = dict[str, Any]


class DeadLetters:
    """The letters of one queue, each read once: every receive counts in SQS, and a long queue takes
    minutes to page.

    `known` are ids of letters that an earlier process has read.
    """

    def __init__(self, sqs: Any, queue_url: str, known: Iterable[str] = ()) -> None:
        self._sqs, self._url = sqs, queue_url
        self._known = set(known)
        self._handles: dict[str, str] = {}

    def look(self, count: int) -> Iterator[list[Letter]]:
        """The work orders among letters not read before, with `message_id` and `body`, when the
        queue holds `count`.

        Nothing is asked while no more letters are there than were read. With 120,000 hidden SQS
        shows no more (SQS quotas, in-flight messages). Raises what boto3 raises.
        """
        while len(self._known) < count:
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MessageAttributeNames=[ATTRIBUTE],
                MaxNumberOfMessages=MAX_ENTRIES,
                VisibilityTimeout=HIDE_S,
                # long polling asks every server of the queue, so empty means empty
                WaitTimeSeconds=1,
            )
            messages = answer.get("Messages", [])
            if not messages:
                return
            self._handles |= {
                message["MessageId"]: message["ReceiptHandle"] for message in messages
            }
            # By id: a letter that is shown while its neighbours are still read comes twice.
            news = {
                message["MessageId"]: message
                for message in messages
                if message["MessageId"] not in self._known
            }
            self._known.update(news)
            yield list(filter(None, map(_letter, news.values())))

    def show_again(self) -> None:
        """Let other readers see at once what was read here. Raises what boto3 raises."""
        handles, self._handles = iter(self._handles.values()), {}
        while some := list(itertools.islice(handles, MAX_ENTRIES)):
            entries = [
                {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": 0}
                for index, handle in enumerate(some)
            ]
            self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)


def _letter(message: dict[str, Any]) -> Letter | None:
    """The work order of a message, in its attribute or else its body; None where neither is one."""
    attribute = message.get("MessageAttributes", {}).get(ATTRIBUTE, {})
    try:
        order = stored_json.decoded(attribute.get("StringValue", message["Body"]))
        letter = {name: order[name] for name in ("run_id", "cell", "seq")}
    except (ValueError, TypeError, KeyError):
        return None
    letter |= {"message_id": message["MessageId"], "body": message["Body"]}
    return None if _FAULT(letter) else letter
