"""EC2 deletes nothing that is still used: a subnet or security group with a network interface, a network with anything.

Of the interfaces only what they hold is shown, by the refusals: DescribeNetworkInterfaces doesn't list them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ministack.services import ec2, efs, lambda_svc

from stampede.emulator.manners.manner import Answer, Call, Manner


class Interface(NamedTuple):
    """A network interface, or several alike: the subnets that it is in, and its security groups."""

    subnets: frozenset[str]
    groups: frozenset[str]


class Dependencies(Manner):
    """DependencyViolation, as EC2's error codes name it (EC2 API reference, Error codes for the API), in the words that
    EC2 has for each kind of resource (terraform-provider-aws#13661 and others quote them).

    The interfaces of a function stay after it has left a network or was deleted, for minutes, and up to 20 (Lambda
    guide, Giving Lambda functions access to resources in an Amazon VPC). Here that is LINGERS_S.
    """

    LINGERS_S = (60, 300)
    calls = frozenset(
        [
            "ec2.DeleteSubnet",
            "ec2.DeleteSecurityGroup",
            "ec2.DeleteRouteTable",
            "ec2.DeleteVpc",
            "ec2.CreateVpcEndpoint",
            "lambda.UpdateFunctionConfiguration",
            "lambda.DeleteFunction",
        ]
    )

    def __init__(self, pace: Any) -> None:
        super().__init__(pace)
        self._lingering: list[tuple[float, Interface]] = []
        # MiniStack forgets an endpoint's groups: by its network and service.
        self._groups_of_endpoints: dict[tuple[str, str], list[str]] = {}

    def before(self, call: Call) -> Answer | None:
        """Refuse to delete what is in use; remember where a function was."""
        given = call.given
        if call.operation == "DeleteSubnet":
            subnet = given["SubnetId"]
            if any(subnet in interface.subnets for interface in self._interfaces()):
                return _violation(call, f"The subnet '{subnet}' has dependencies and cannot be deleted.")
        if call.operation == "DeleteSecurityGroup" and self._is_used(group := given.get("GroupId", "")):
            return _violation(call, f"resource {group} has a dependent object")
        if call.operation == "DeleteRouteTable":
            table = given["RouteTableId"]
            associations = (ec2._route_tables.get(table) or {}).get("Associations", [])
            if any(association.get("SubnetId") for association in associations):
                return _violation(call, f"The routeTable '{table}' has dependencies and cannot be deleted.")
        if call.operation == "DeleteVpc":
            vpc = given["VpcId"]
            if any(endpoint["VpcId"] == vpc for endpoint in ec2._vpc_endpoints.values()):
                return _violation(call, f"The vpc '{vpc}' has dependencies and cannot be deleted.")
        if call.operation == "CreateVpcEndpoint":
            groups = [value for name, value in given.items() if name.startswith("SecurityGroupId.")]
            self._groups_of_endpoints[given["VpcId"], given["ServiceName"]] = groups
        if call.service == "lambda":
            self._leaves(call)
        return None

    def _leaves(self, call: Call) -> None:
        """Let the interfaces of a function stay for a while where it is deleted, or gets other ones."""
        record = lambda_svc._functions.get(call.given["FunctionName"]) or {"config": {}}
        held = _of_network(record["config"].get("VpcConfig") or {})
        wanted = call.given.get("VpcConfig")
        stays = call.operation == "UpdateFunctionConfiguration" and (wanted is None or _of_network(wanted) == held)
        if held.subnets and not stays:
            until = self.pace.now() + self.pace.seconds(*self.LINGERS_S, "lingers", len(self._lingering))
            self._lingering.append((until, held))

    def _interfaces(self) -> Iterator[Interface]:
        """Those of functions, those they have just left, and of endpoints, mount targets and instances."""
        for record in lambda_svc._functions.values():
            yield _of_network(record["config"].get("VpcConfig") or {})
        for until, interface in self._lingering:
            if self.pace.now() < until:
                yield interface
        for endpoint in ec2._vpc_endpoints.values():
            groups = self._groups_of_endpoints.get((endpoint["VpcId"], endpoint["ServiceName"]), [])
            yield Interface(frozenset(endpoint["SubnetIds"]), frozenset(groups))
        for target in efs._mount_targets.values():
            yield Interface(frozenset([target["SubnetId"]]), frozenset(target.get("SecurityGroups", [])))
        for instance in ec2._instances.values():
            if instance["State"]["Name"] != "terminated":
                groups = frozenset(group["GroupId"] for group in instance.get("SecurityGroups", []))
                yield Interface(frozenset([instance.get("SubnetId", "")]), groups)

    def _is_used(self, group: str) -> bool:
        """Whether an interface has the security group, or a rule of another group names it."""
        if any(group in interface.groups for interface in self._interfaces()):
            return True
        for other in ec2._security_groups.values():
            if other["GroupId"] != group:
                for rule in [*other["IpPermissions"], *other["IpPermissionsEgress"]]:
                    if any(pair.get("GroupId") == group for pair in rule.get("UserIdGroupPairs", [])):
                        return True
        return False


def _of_network(config: Mapping[str, Any]) -> Interface:
    """The interfaces of a function by its VpcConfig; nowhere outside a network."""
    return Interface(frozenset(config.get("SubnetIds") or ()), frozenset(config.get("SecurityGroupIds") or ()))


def _violation(call: Call, message: str) -> Answer:
    return call.refused(400, "DependencyViolation", message)
