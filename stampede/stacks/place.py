"""The place of a run, as in its run.json (`target`, `endpoint_url`, `endpoint_services`): in words,
and compared with a command's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stampede.errors import UsageError
from stampede.stacks import endpoints
from stampede.stacks.endpoints import endpoint_words

_KEYS = ("target", "endpoint_url", "endpoint_services")


def words(place: Mapping[str, Any]) -> str:
    """A place in words."""
    if place.get("target") == "endpoint":
        services = place.get("endpoint_services") or {}
        endpoint = endpoint_words(place.get("endpoint_url") or "an unknown URL", services)
        return endpoint if services else f"{endpoint}, which isn't AWS"
    return {"local": "the embedded AWS", "aws": "AWS"}.get(place.get("target"), "an unknown target")


def is_at(stored: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the run of `stored`, its run.json, began at the place `now`, or has no place."""
    return {name: stored[name] for name in _KEYS if name in stored} in ({}, now)


def refuse_another(
    option: str, run_id: str, stored: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Raise UsageError if a run would continue at `now` and not at the place in `stored`, its
    run.json: figures of two places would be mixed. `option` names the run."""
    if is_at(stored, now):
        return
    way_out = {
        "local": "use --target local",
        "endpoint": (
            f"use --target aws, and set AWS_ENDPOINT_URL={stored.get('endpoint_url')} again"
        ),
    }.get(
        stored.get("target"),
        "use --target aws, and unset AWS_ENDPOINT_URL and every other setting of an endpoint",
    )
    raise UsageError(
        f"{option}: {run_id} was started at {words(stored)}, but this command uses {words(now)}",
        way_out,
    )


def other_stack(outputs: Mapping[str, Any], stored: Mapping[str, Any]) -> str:
    """Why the run of `stored`, its run.json, can't have been sent to the stack of `outputs`; empty
    if it may have been."""
    of_run = {"experiment": stored.get("experiment"), **stored.get("account", {})}
    names = ("experiment", "region", "account_id")
    if all(of_run.get(name) in (None, outputs.get(name, of_run.get(name))) for name in names):
        return ""
    other, applied = (
        f"{stack.get('experiment') or 'an unknown experiment'} in "
        f"{stack.get('region') or 'an unknown region'}, account {stack.get('account_id')}"
        for stack in (of_run, outputs)
    )
    return f"it is of {other}, but the applied stack is {applied}"


def refuse_elsewhere(
    place: Mapping[str, Any], outputs: Mapping[str, Any], *, changes: bool = False
) -> None:
    """Raise UsageError if the stack of these outputs is at an endpoint and `place` is AWS; also the
    other way round if the stack is about to be changed: Terraform would conclude that the resources
    on AWS are gone. The queue's URL shows where the stack is."""
    queue_url = str(outputs.get("queue_url") or "")
    if not queue_url.startswith("http") or place["target"] == "local":
        return
    is_on_aws = endpoints.is_aws(queue_url)
    if place["target"] == "aws" and not is_on_aws:
        raise UsageError(
            "--target aws: the stack in infra/ was applied at an endpoint (its queue: "
            f"{endpoints.shown(queue_url)}), but this command uses AWS",
            "set AWS_ENDPOINT_URL to that endpoint again, or, if it no longer exists, remove "
            "infra/terraform.tfstate",
        )
    if place["target"] == "endpoint" and is_on_aws and changes:
        raise UsageError(
            "--target aws: the stack in infra/ was applied on AWS, but this command uses "
            f"{words(place)}",
            "unset AWS_ENDPOINT_URL and remove the stack first with `terraform -chdir=infra "
            "destroy`: it is billed until then",
        )
