"""IAM takes seconds to spread: a new role can't be assumed yet, and a changed policy isn't heeded yet."""

from __future__ import annotations

import functools
from typing import Any

from ministack.core import iam_evaluator
from ministack.services import iam, lambda_svc

from stampede.emulator.manners.manner import Answer, Call, Manner

NOT_ASSUMED = "The role defined for the function cannot be assumed by Lambda."
NO_INTERFACES = "The provided execution role does not have permissions to call CreateNetworkInterface on EC2"
NO_MESSAGES = "The function execution role does not have permissions to call ReceiveMessage on SQS"


class Permissions(Manner):
    """IAM is eventually consistent: "changes that you make might not be immediately visible" (IAM guide, Troubleshoot
    IAM). Lambda refuses a role that it can't assume yet, and a network or queue that the role has no permission for
    yet: the texts for which terraform-provider-aws tries again (internal/service/lambda, retryFunctionOp and
    retryEventSourceMapping). Until a changed policy has spread, requests are judged by the one before.

    AWS names no time. Seconds are usual, and the provider waits 2 minutes at most.
    """

    ROLE_S, POLICY_S = (3, 15), (5, 30)
    changes = frozenset(["PutRolePolicy", "DeleteRolePolicy", "AttachRolePolicy", "DetachRolePolicy"])
    uses = frozenset(["CreateFunction", "UpdateFunctionConfiguration", "CreateEventSourceMapping"])
    calls = (
        frozenset(f"iam.{name}" for name in changes) | frozenset(f"lambda.{name}" for name in uses) | {"iam.CreateRole"}
    )

    def __init__(self, pace: Any) -> None:
        super().__init__(pace)
        self._assumed_from: dict[str, float] = {}  # by the role's name
        self._before: dict[str, list[tuple[float, list]]] = {}  # until when which policies hold instead of the newest
        self._newest = iam_evaluator._gather_role_policies

    def begin(self) -> None:
        """Judge requests by the policies that have spread."""
        iam_evaluator._gather_role_policies = self.policies

    def policies(self, role: str, account: str) -> list:
        """The policies of a role, as they are heeded now."""
        for until, policies in self._before.get(role, []):
            if self.pace.now() < until:
                return policies
        return self._newest(role, account)

    def before(self, call: Call) -> Answer | None:
        """Note a change of a role; refuse what comes too early after one."""
        if call.service == "iam":
            self._note(call)
            return None
        role = _role_of(call)
        refused = functools.partial(call.refused, 400, "InvalidParameterValueException")
        if self.pace.now() < self._assumed_from.get(role, 0.0):
            return refused(NOT_ASSUMED)
        has_none = role in self._before and not self.policies(role, iam.get_account_id())
        if has_none and call.operation == "CreateEventSourceMapping":
            return refused(NO_MESSAGES)
        if has_none and (call.given.get("VpcConfig") or {}).get("SubnetIds"):
            return refused(NO_INTERFACES)
        return None

    def _note(self, call: Call) -> None:
        role, now = call.given["RoleName"], self.pace.now()
        if call.operation == "CreateRole":
            self._assumed_from[role] = now + self.pace.seconds(*self.ROLE_S, role)
            self._before[role] = []
            return
        held = self._before.setdefault(role, [])
        held.append(
            (now + self.pace.seconds(*self.POLICY_S, role, len(held)), self._newest(role, iam.get_account_id()))
        )


def _role_of(call: Call) -> str:
    """The name of the role that a function has, or is to have."""
    if "Role" in call.given:
        return call.given["Role"].rpartition("/")[2]
    name = call.given["FunctionName"]
    name = name.partition(":function:")[2].partition(":")[0] or name
    return ((lambda_svc._functions.get(name) or {"config": {}})["config"].get("Role") or "").rpartition("/")[2]
