"""The embedded AWS with three delays that AWS has and it lacks; a minute on AWS takes 3 s here.

`python -m tests.fakes.late_aws` is the command line with such an embedded AWS, whose keeper is this
module too.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from ministack.core import iam_evaluator
from ministack.core.responses import get_account_id
from ministack.services import cloudwatch_logs, ec2, iam, lambda_svc

from stampede.cli import command_line
from stampede.emulator import keeper, ministack

# A function's interfaces stay for minutes after it has left a network (Lambda guide, VPC).
LINGERS_S = 6.0
# AWS doesn't say how long a changed policy takes (IAM guide, Troubleshoot IAM).
SPREADS_S = 1.5
# Lambda's lines were recorded 2 to 9 s after their timestamps (grafana/alloy#5854).
LATE_S, EMPTY_ONE_IN = 0.4, 10


def keep_used_networks() -> None:
    """Makes EC2 refuse to delete a subnet or group that a function uses, or used a moment ago."""
    used_at: dict[str, float] = {}
    handle = lambda_svc.handle_request

    def note() -> None:
        for function in lambda_svc._functions.values():
            network = function["config"].get("VpcConfig") or {}
            for name in (*network.get("SubnetIds", ()), *network.get("SecurityGroupIds", ())):
                used_at[name] = time.monotonic()

    async def handle_request(*request: Any) -> tuple:
        note()
        return await handle(*request)

    def refusing(delete: Callable[[dict], tuple], parameter: str) -> Callable[[dict], tuple]:
        def delete_unless_used(parameters: dict) -> tuple:
            note()
            name = ec2._p(parameters, parameter)
            if time.monotonic() > used_at.get(name, -LINGERS_S) + LINGERS_S:
                return delete(parameters)
            return ec2._error("DependencyViolation", f"resource {name} has a dependent object", 400)

        return delete_unless_used

    lambda_svc.handle_request = handle_request
    for action, parameter in (("DeleteSubnet", "SubnetId"), ("DeleteSecurityGroup", "GroupId")):
        ec2._ACTION_MAP[action] = refusing(ec2._ACTION_MAP[action], parameter)


def spread_policies_late() -> None:
    """Judges requests by the policies that a role had SPREADS_S ago."""
    handle, gather = iam.handle_request, iam_evaluator._gather_role_policies
    history: dict[str, list[tuple[float, list]]] = {}

    def policies(role: str, account: str) -> list:
        newest, seen = gather(role, account), history.setdefault(role, [])
        if not seen or seen[-1][1] != newest:
            seen.append((time.monotonic(), newest))
        heeded = [then for at, then in seen if at < time.monotonic() - SPREADS_S]
        if len(heeded) < len(seen):
            print(f"late_aws: {role} is judged by the policies before", file=sys.stderr)
        return heeded[-1] if heeded else []

    async def handle_request(*request: Any) -> tuple:
        answer = await handle(*request)
        for role in iam._roles:
            policies(role, get_account_id())
        return answer

    iam.handle_request, iam_evaluator._gather_role_policies = handle_request, policies


def show_lines_late() -> None:
    """Makes Logs show lines late, and sometimes an empty page first."""
    show_all, asked = cloudwatch_logs._filter_log_events, itertools.count(1)

    def show_what_is_due(data: dict) -> tuple:
        token = data.pop("nextToken", None)
        status, headers, body = show_all(data)
        if status != 200:
            return status, headers, body
        answer, latest_ms = json.loads(body), 1000 * (time.time() - LATE_S)
        if token is None and next(asked) % EMPTY_ONE_IN == 0:
            answer |= {"events": [], "nextToken": "late"}
        due = [event for event in answer["events"] if event["timestamp"] <= latest_ms]
        if len(due) < len(answer["events"]):
            print("late_aws: some lines aren't shown yet", file=sys.stderr)
        return status, headers, json.dumps(answer | {"events": due}).encode()

    cloudwatch_logs._filter_log_events = show_what_is_due


def main() -> int | None:
    """The keeper if started by the command line below; otherwise the command line."""
    if not sys.argv[1:2] or not sys.argv[1].isdecimal():
        ministack.KEEPER = "tests.fakes.late_aws"
        return command_line.main()
    keep_used_networks()
    spread_policies_late()
    show_lines_late()
    keeper.main()
    return None


if __name__ == "__main__":
    sys.exit(main())
