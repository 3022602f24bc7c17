"""A queue's attributes converge: it isn't there at once, keeps old settings, its counts lag, a purge takes a minute."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple

from ministack.services import sqs

from stampede.emulator.manners.manner import Answer, Call, Manner

COUNTS = frozenset(
    ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"]
)
MISSING = (400, "QueueDoesNotExist", "The specified queue does not exist.")
DELETED = (
    400,
    "QueueDeletedRecently",
    "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
)

PURGED = (
    403,
    "PurgeQueueInProgress",
    "Only one PurgeQueue operation on {} is allowed every 60 seconds.",
)


class _Changed(NamedTuple):
    """Settings that a queue had, and until when it may still answer with them."""

    until: float
    settings: Mapping[str, str]


class Queues(Manner):
    """The approximate counts of a queue converge within a minute after the last change, and attributes that are set
    spread within 60 s (SQS API reference, GetQueueAttributes and SetQueueAttributes). A new queue is there after a
    second or so ("wait at least one second", CreateQueue); a deleted one's name is free after 60 s (DeleteQueue). A
    queue is purged once in 60 s (recorded: aws_answers sqs-24).

    Older counts are those that an earlier call saw.
    """

    SPREADS_S, APPEARS_S = 60, (0, 2)
    calls = frozenset(f"sqs.{name}QueueAttributes" for name in ("Get", "Set")) | {
        "sqs.CreateQueue",
        "sqs.DeleteQueue",
        "sqs.PurgeQueue",
    }

    def __init__(self, pace: Any) -> None:
        super().__init__(pace)
        # All by the queue's name.
        self._appears: dict[str, float] = {}
        self._free_from: dict[str, float] = {}
        self._purges_from: dict[str, float] = {}
        self._changed: dict[str, _Changed] = {}
        self._seen: dict[str, list[tuple[float, dict[str, str]]]] = collections.defaultdict(list)
        self._asked: collections.Counter[str] = collections.Counter()

    def before(self, call: Call) -> Answer | None:
        """Refuse a queue that isn't there yet, or a name that isn't free yet; note what a queue was set to."""
        name, now = _name_of(call), self.pace.now()
        if call.operation == "CreateQueue" and now < self._free_from.get(name, 0.0):
            return call.refused(*DELETED)
        if call.operation == "GetQueueAttributes" and now < self._appears.get(name, 0.0):
            return call.refused(*MISSING)
        if call.operation == "PurgeQueue" and now < self._purges_from.get(name, 0.0):
            status, code, message = PURGED
            return call.refused(status, code, message.format(name))
        if call.operation == "SetQueueAttributes":
            settings = (sqs._queues.get(sqs._queue_url(name)) or {}).get("attributes", {})
            held = {attribute: settings[attribute] for attribute in call.given["Attributes"] if attribute in settings}
            self._changed[name] = _Changed(now + self.pace.seconds(0, self.SPREADS_S, name), held)
        return None

    def after(self, call: Call, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Note what was made or deleted; answer attributes as they were a moment ago."""
        name, now = _name_of(call), self.pace.now()
        if call.operation == "CreateQueue" and name not in self._appears:
            self._appears[name] = now + self.pace.seconds(*self.APPEARS_S, name)
        elif call.operation == "DeleteQueue":
            self._free_from[name] = now + self.pace.seconds(self.SPREADS_S, self.SPREADS_S)
            self._appears.pop(name, None)
            self._seen.pop(name, None)
        elif call.operation == "PurgeQueue":
            self._purges_from[name] = now + self.pace.seconds(self.SPREADS_S, self.SPREADS_S)
        elif call.operation == "GetQueueAttributes" and "Attributes" in answer:
            return {**answer, "Attributes": answer["Attributes"] | self._older(name, answer["Attributes"])}
        return answer

    def _older(self, name: str, attributes: Mapping[str, str]) -> dict[str, str]:
        """Those of the attributes that are answered as they were."""
        now, names = self.pace.now(), set(attributes)
        self._asked[name] += 1
        chance = (name, self._asked[name])
        counts = {attribute: attributes[attribute] for attribute in COUNTS & names}
        limit_s = self.pace.seconds(self.SPREADS_S, self.SPREADS_S)
        seen = [(at, known) for at, known in self._seen[name] if at > now - limit_s]
        self._seen[name] = [*seen, (now, counts)]
        lag_s = self.pace.seconds(0, self.SPREADS_S, "lag", *chance)
        older = next((known for at, known in reversed(seen) if at <= now - lag_s), {})
        changed = self._changed.get(name)
        if changed and now < changed.until and self.pace.chance("old", *chance) < 0.5:
            older = older | changed.settings
        return {attribute: value for attribute, value in older.items() if attribute in names}


def _name_of(call: Call) -> str:
    return call.given.get("QueueName") or call.given["QueueUrl"].rpartition("/")[2]
