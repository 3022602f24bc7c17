"""An event source mapping takes seconds to change, begins to read only then, and refuses to be changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ministack.services import lambda_svc

from stampede.emulator.manners.manner import Answer, Call, Manner

IN_USE = "Cannot {} the event source mapping because it is in use."
DUPLICATE = (
    'An event source mapping with SQS arn (" {} ") and function (" {} ") already exists. Please update or delete the '
    "existing mapping with UUID {}"
)


class _Changing(NamedTuple):
    """Until when a mapping is shown in a state of its own, and the mapping itself where it has been deleted."""

    until: float
    state: str
    deleted: Mapping[str, Any] | None = None


class Triggers(Manner):
    """States Creating, Enabling, Disabling, Updating and Deleting (recorded for CreateEventSourceMapping and
    UpdateEventSourceMapping: aws_answers esm-39, esm-47); until they pass, ResourceInUseException to who changes or
    deletes the mapping, and ResourceConflictException to who makes another of the same queue and function (esm-48).
    A mapping reads its queue only once it is Enabled.
    """

    CHANGES_S = (5, 40)
    calls = frozenset(f"lambda.{verb}EventSourceMapping" for verb in ("Create", "Get", "Update", "Delete"))

    def __init__(self, pace: Any) -> None:
        super().__init__(pace)
        self._changing: dict[str, _Changing] = {}

    def begin(self) -> None:
        """Let MiniStack's poller pass over a mapping that isn't enabled yet."""
        allowed = lambda_svc._sqs_esm_concurrency
        lambda_svc._sqs_esm_concurrency = lambda esm, *more: 0 if self.is_new(esm["UUID"]) else allowed(esm, *more)

    def is_new(self, uuid: str) -> bool:
        """Whether a mapping was just made or enabled, and doesn't read yet."""
        changing = self._now(uuid)
        return changing is not None and changing.state in ("Creating", "Enabling")

    def before(self, call: Call) -> Answer | None:
        """Refuse to change what is changing; show what is going."""
        if call.operation == "CreateEventSourceMapping":
            return self._taken(call)
        changing = self._now(call.given["UUID"])
        if changing is None:
            return None
        verb = call.operation.removesuffix("EventSourceMapping").lower()
        if verb != "get":
            return call.refused(400, "ResourceInUseException", IN_USE.format(verb))
        return call.answered({**changing.deleted, "State": "Deleting"}) if changing.deleted else None

    def after(self, call: Call, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Note a change, and show it."""
        uuid, enabled = answer["UUID"], call.given.get("Enabled")
        state = {
            "CreateEventSourceMapping": "Creating",
            "UpdateEventSourceMapping": {None: "Updating", True: "Enabling", False: "Disabling"}[enabled],
            "DeleteEventSourceMapping": "Deleting",
        }.get(call.operation)
        if state is not None:
            until = self.pace.now() + self.pace.seconds(*self.CHANGES_S, state, len(self._changing))
            self._changing[uuid] = _Changing(until, state, answer if state == "Deleting" else None)
        changing = self._now(uuid)
        return {**answer, "State": changing.state} if changing else answer

    def _now(self, uuid: str) -> _Changing | None:
        changing = self._changing.get(uuid)
        return changing if changing and self.pace.now() < changing.until else None

    def _taken(self, call: Call) -> Answer | None:
        """Refuse a second mapping of a queue to a function, one that is being deleted included."""
        source, name = call.given.get("EventSourceArn"), call.given["FunctionName"]
        going = [changing.deleted for uuid, changing in self._changing.items() if changing.deleted and self._now(uuid)]
        for mapping in [*lambda_svc._esms.values(), *going]:
            if mapping["EventSourceArn"] == source and mapping["FunctionArn"].endswith(f":{name.rpartition(':')[2]}"):
                text = DUPLICATE.format(source, mapping["FunctionArn"].rpartition(":")[2], mapping["UUID"])
                return call.refused(409, "ResourceConflictException", text)
        return None
