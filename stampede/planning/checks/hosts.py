"""Checks of the AWS account for work on EC2 hosts: their type, their vCPUs, and those that earlier runs left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.checks.asking import Account
from stampede.planning.demand import Demand

VCPU_QUOTA = "L-1216C47A"  # Service Quotas: EC2, "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
STANDARD_FAMILIES = "acdhimrtz"
OTHER_FAMILIES = ("inf", "trn", "hpc", "dl", "mac")  # begin with such a letter, or another, and have other quotas
BILLED_STATES = ["pending", "running", "stopping", "stopped"]  # a stopped one still has its disk
MOST_PAGES = 10


def checks(account: Account, cells: list[Demand], prefix: str) -> dict[str, Callable[[], Finding]]:
    """The checks by name; each raises NotAnswered where AWS doesn't tell."""
    return {
        "instance type": lambda: offered(account, cells),
        "vCPUs": lambda: vcpus(account, cells),
        "leftovers": lambda: leftovers(account, prefix),
    }


def offered(account: Account, cells: list[Demand]) -> Finding:
    """Every instance type is to be had in the region."""
    vcpus_by_type = _vcpus_by_type(account, cells)
    missing = sorted({cell.usage.instance_type for cell in cells} - vcpus_by_type.keys())
    if missing:
        problem = f"{missing[0]} isn't available in {account.target.region}"
        return Finding("instance type", PROBLEM, problem, "choose another instance type, or --set region=...")
    return Finding("instance type", OK, f"{', '.join(sorted(vcpus_by_type))} in {account.target.region}")


def vcpus(account: Account, cells: list[Demand]) -> Finding:
    """All hosts of a cell at once, against the account's quota of vCPUs, from which what runs already is taken."""
    vcpus_by_type = _vcpus_by_type(account, cells)
    known = [cell for cell in cells if cell.usage.instance_type in vcpus_by_type]
    if not known:
        return Finding("vCPUs", WARNING, "unknown: the instance type isn't available", "see instance type above")
    largest = max(known, key=lambda cell: cell.concurrency * vcpus_by_type[cell.usage.instance_type])
    needed = largest.concurrency * vcpus_by_type[largest.usage.instance_type]
    need = f"{needed} needed for {largest.concurrency} x {largest.usage.instance_type}"
    if not _is_standard(largest.usage.instance_type):
        return Finding("vCPUs", WARNING, f"{need}; this family has a quota of its own", "check it in the console")
    quota = _quota(account)
    if quota is None:
        return Finding("vCPUs", WARNING, f"{need}; the quota is unknown", f"check {VCPU_QUOTA} in the console")
    need = f"{need}; the quota is {quota} for all standard on-demand instances of the account"
    if needed <= quota:
        return Finding("vCPUs", OK, need)
    way_out = (
        "use fewer or smaller hosts, or raise the quota: aws service-quotas request-service-quota-increase "
        f"--service-code ec2 --quota-code {VCPU_QUOTA} --desired-value {needed} --region {account.target.region}"
    )
    return Finding("vCPUs", PROBLEM, need, way_out)


def leftovers(account: Account, prefix: str) -> Finding:
    """Instances whose names begin with `prefix` that are still there: they are billed by the hour."""
    filters = [
        {"Name": "tag:Name", "Values": [f"{prefix}*"]},
        {"Name": "instance-state-name", "Values": BILLED_STATES},
    ]
    reservations = account.ask("ec2", "describe_instances", Filters=filters)["Reservations"]
    ours = [instance for reservation in reservations for instance in reservation["Instances"]]
    if not ours:
        return Finding("leftovers", OK, f"there is no instance {prefix}*")
    held = ", ".join(
        f"{instance['InstanceId']} ({instance['InstanceType']}, {instance['State']['Name']})" for instance in ours[:5]
    )
    return left_over(f"from an earlier deployment, and billed: {held}")


def left_over(found: str) -> Finding:
    """What an earlier deployment left, instances or functions, and the way out."""
    return Finding(
        "leftovers",
        WARNING,
        found,
        "`terraform -chdir=infra destroy` removes what is in infra/'s state; a sweep uses that only with --take-over",
    )


def _vcpus_by_type(account: Account, cells: list[Demand]) -> dict[str, int]:
    """vCPUs by instance type, of those that are to be had in the region."""
    types = sorted({cell.usage.instance_type for cell in cells})
    # A filter, as a type that isn't there is an error by its name.
    answer = account.ask("ec2", "describe_instance_types", Filters=[{"Name": "instance-type", "Values": types}])
    return {row["InstanceType"]: row["VCpuInfo"]["DefaultVCpus"] for row in answer["InstanceTypes"]}


def _is_standard(instance_type: str) -> bool:
    return instance_type[0] in STANDARD_FAMILIES and not instance_type.startswith(OTHER_FAMILIES)


def _quota(account: Account) -> int | None:
    more: dict[str, Any] = {}
    for _ in range(MOST_PAGES):
        page = account.ask("service-quotas", "list_service_quotas", ServiceCode="ec2", MaxResults=100, **more)
        for quota in page["Quotas"]:
            if quota.get("QuotaCode") == VCPU_QUOTA:
                return int(quota["Value"])
        if not page.get("NextToken"):
            break
        more = {"NextToken": page["NextToken"]}
    return None
