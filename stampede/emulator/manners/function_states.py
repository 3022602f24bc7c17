"""A function that was made or changed isn't ready yet: Pending, or with an update in progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ministack.services import lambda_svc

from stampede.emulator.manners.manner import Answer, Call, Manner

CONFLICT = "The operation cannot be performed at this time. "
PENDING = CONFLICT + "The function is currently in the following state: Pending"
IN_PROGRESS = CONFLICT + "An update is in progress for resource: {}"


class _Busy(NamedTuple):
    """Until when a function isn't ready, and whether it is new."""

    until: float
    is_new: bool


class FunctionStates(Manner):
    """State Pending after CreateFunction, LastUpdateStatus InProgress after an update; what changes the function fails
    meanwhile, and while it is Pending an invocation does too (Lambda guide, Lambda function states). Deployment tools
    quote the texts: Laravel Vapor waits for both.

    An update takes seconds. One that puts the function into a network waits for network interfaces, which takes up to
    90 s (Lambda guide, Giving Lambda functions access to resources in an Amazon VPC: function states).
    """

    UPDATE_S, NETWORK_S = (1, 5), (20, 90)
    changes = frozenset(
        ["UpdateFunctionCode", "UpdateFunctionConfiguration", "PublishVersion", "TagResource", "UntagResource"]
    )
    calls = frozenset(f"lambda.{name}" for name in [*changes, "CreateFunction", "GetFunction", "Invoke"]) | {
        "lambda.GetFunctionConfiguration"
    }

    def __init__(self, pace: Any) -> None:
        super().__init__(pace)
        self._busy: dict[str, _Busy] = {}
        self._networks: dict[str, Any] = {}

    def before(self, call: Call) -> Answer | None:
        """Refuse what has to wait until the function is ready."""
        name = _name_of(call)
        self._networks[name] = _network_of(name)
        busy = self._busy.get(name)
        if busy is None or self.pace.now() >= busy.until:
            return None
        if busy.is_new and (call.operation in self.changes or call.operation == "Invoke"):
            return call.refused(409, "ResourceConflictException", PENDING)
        if call.operation in self.changes:
            arn = lambda_svc._functions[name]["config"]["FunctionArn"]
            return call.refused(409, "ResourceConflictException", IN_PROGRESS.format(arn))
        return None

    def after(self, call: Call, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Note a change, and show the function's state in every answer that has it."""
        name = _name_of(call)
        if call.operation in ("CreateFunction", "UpdateFunctionCode", "UpdateFunctionConfiguration"):
            moves = _network_of(name) not in (None, self._networks.get(name))
            takes_s = self.pace.seconds(*(self.NETWORK_S if moves else self.UPDATE_S), call.operation, name)
            self._busy[name] = _Busy(self.pace.now() + takes_s, call.operation == "CreateFunction")
        if call.operation == "GetFunction":
            return {**answer, "Configuration": self._shown(name, answer["Configuration"])}
        return self._shown(name, answer) if "LastUpdateStatus" in answer else answer

    def _shown(self, name: str, configuration: Mapping[str, Any]) -> Mapping[str, Any]:
        busy = self._busy.get(name)
        if busy is None or self.pace.now() >= busy.until:
            return configuration
        code = {"StateReasonCode": "Creating", "StateReason": "The function is being created."}
        state = {"State": "Pending", **code} if busy.is_new else {"State": "Active"}
        return {**configuration, **state, "LastUpdateStatus": "InProgress"}


def _name_of(call: Call) -> str:
    """The function's name; calls name it by its ARN too, and those of tags only so."""
    given = call.given.get("FunctionName") or call.given.get("Resource") or ""
    return given.partition(":function:")[2].partition(":")[0] or given


def _network_of(name: str) -> list | None:
    """The subnets and groups of a function; None outside a network."""
    config = (lambda_svc._functions.get(name) or {"config": {}})["config"].get("VpcConfig") or {}
    return [sorted(config["SubnetIds"]), sorted(config["SecurityGroupIds"])] if config.get("SubnetIds") else None
