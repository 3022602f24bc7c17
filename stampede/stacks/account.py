"""What the account allows: recorded with every run, because a figure without its limits can't be compared."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stampede.stacks.target import Target

NETWORK_QUOTA_NAME = "Network bandwidth per execution environment"


def describe_account(target: Target) -> dict[str, Any]:
    """Lambda's account limits and the network-bandwidth quota; None or "unknown" where AWS doesn't tell."""
    try:
        settings = target.client("lambda").get_account_settings()["AccountLimit"]
    except (BotoCoreError, ClientError):
        settings = {}
    return {
        "concurrent_executions": settings.get("ConcurrentExecutions"),
        "unreserved_concurrent_executions": settings.get("UnreservedConcurrentExecutions"),
        "network_quota": network_quota(target),
    }


def network_quota(target: Target) -> str:
    """The opt-in quota's value as text; "default" where it isn't listed, "unknown" where Service Quotas can't tell."""
    try:
        pages = target.client("service-quotas").get_paginator("list_service_quotas").paginate(ServiceCode="lambda")
        for page in pages:
            for quota in page["Quotas"]:
                if quota["QuotaName"] == NETWORK_QUOTA_NAME:
                    return f"{quota['Value']:g} {quota.get('Unit', '')}".strip()
    except (BotoCoreError, ClientError, KeyError):
        return "unknown"
    return "default"
