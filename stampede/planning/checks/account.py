"""Checks of the AWS account: region, what Lambda allows, what earlier runs left. Where no function is used, what EC2
allows stands for it (`hosts`).

Asks little and waits little; whatever AWS doesn't answer or allow becomes a warning, and never a traceback.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from experiments import EXPERIMENTS
from stampede.emulator import ministack, stack
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.checks import credentials, endpoint, hosts
from stampede.planning.checks.asking import Account, NotAnswered
from stampede.planning.demand import Demand
from stampede.planning.rules import UNRESERVED
from stampede.stacks import regions
from stampede.stacks import target as targets
from stampede.stacks.account import network_quota
from stampede.stacks.target import local

CONCURRENCY_QUOTA = "L-B99A9384"  # Service Quotas: Lambda, "Concurrent executions"
USUAL_CONCURRENCY = 1000
NEW_ACCOUNT_MEMORY_MB = 3008
MOST_FUNCTIONS_LISTED = 200


def check(cells: list[Demand], region: str, prefix: str, experiment: str, run_s: float) -> list[Finding]:
    """The checks of the account for a run of `run_s` seconds; where region or credentials are wrong, only that."""
    if (unknown := regions.unknown(region)) is not None:
        problem, hint = unknown
        return [Finding("region", PROBLEM, problem, f"use --set region=...; {hint}")]
    account = Account(targets.configured({"region": region}))
    who = credentials.identity(account)
    if who.status == PROBLEM:
        return [who]
    own: dict[str, Callable[[], Finding]]
    if not cells[0].usage.on_hosts:
        own = {
            "concurrency": lambda: concurrency(account, cells, f"{prefix}-{experiment}"),
            "memory cap": lambda: memory_cap(account, cells),
            "network quota": lambda: network(account),
            "leftovers": lambda: leftovers(account, f"{prefix}-"),
        }
    else:
        own = hosts.checks(account, cells, f"{prefix}-")
    about_who = [who, credentials.lifetime(run_s)]
    if account.target.kind == "endpoint":
        return [*about_who, *at_an_endpoint(account, cells, experiment, own)]
    own = {"region": lambda: enabled_region(account, region), **own}
    return [*about_who, *(_or_unknown(name, ask) for name, ask in own.items())]


def at_an_endpoint(
    account: Account, cells: list[Demand], experiment: str, own: Mapping[str, Callable[[], Finding]]
) -> list[Finding]:
    """What is asked of an endpoint: what it is and has, and of an account's `own` checks those that mean something
    where AWS isn't."""
    worker = "ec2" if cells[0].usage.on_hosts else "lambda"
    on_aws = account.target.url_of(worker) is None  # only other services are elsewhere
    kept = {name: ask for name, ask in own.items() if on_aws or name in ("concurrency", "leftovers", "instance type")}
    offered = endpoint.checks(account, EXPERIMENTS[experiment], cells)
    findings = [_or_unknown(name, ask) for name, ask in {**offered, **kept}.items()]
    runs = endpoint.runs_there(EXPERIMENTS[experiment], cells, findings)
    return [endpoint.what_it_is(account), *findings, runs]


def emulator(cells: list[Demand]) -> list[Finding]:
    """The embedded AWS: whether it runs, answers, and takes N functions at once, where functions are used."""
    running, on_hosts = ministack.running(stack.STATE_DIR), cells[0].usage.on_hosts
    if running is None:
        state = Finding("emulator", OK, "not running; a sweep starts and stops it")
        limit = ministack.account_concurrency(os.environ)
        return [state] if on_hosts else [state, _emulator_concurrency(cells, limit)]
    if not running.answers():
        problem = f"process {running.pid} doesn't answer at {running.endpoint_url}"
        return [Finding("emulator", PROBLEM, problem, "`stampede emulator stop`")]
    account = Account(local({"region": ministack.REGION}, running.access))
    state = Finding("emulator", OK, f"answers at {running.endpoint_url} (process {running.pid})")
    if on_hosts:
        return [state]
    return [
        state,
        _or_unknown("concurrency", lambda: _emulator_concurrency(cells, account.settings()["ConcurrentExecutions"])),
    ]


def enabled_region(account: Account, region: str) -> Finding:
    """The region is switched on for the account."""
    state = account.ask("account", "get_region_opt_status", RegionName=region)["RegionOptStatus"]
    if state in ("ENABLED", "ENABLED_BY_DEFAULT"):
        return Finding("region", OK, f"{region} is enabled")
    way_out = f"run `aws account enable-region --region-name {region}` and wait a few minutes, or use --set region=..."
    return Finding("region", PROBLEM, f"{region} isn't enabled in this account ({state.lower()})", way_out)


def concurrency(account: Account, cells: list[Demand], function_name: str) -> Finding:
    """The largest N can be reserved, with 100 left for all other functions of the account."""
    settings = account.settings()
    limit, unreserved = settings["ConcurrentExecutions"], settings["UnreservedConcurrentExecutions"]
    try:
        own, certain = account.reserved(function_name) or 0, True  # given back when the function gets another N
    except NotAnswered:
        own, certain = 0, False
    elsewhere = limit - unreserved - own
    needed = max(cell.concurrency for cell in cells)
    possible = max(0, unreserved + own - UNRESERVED)
    taken = f", {elsewhere} reserved by other functions" if elsewhere else ""
    need = (
        f"{needed} needed, {possible} can be reserved: the account's concurrency limit is {limit}{taken}, "
        "and 100 must stay unreserved"
    )
    if needed <= possible:
        return Finding("concurrency", OK, need)
    smaller = f"use --set concurrency_value=... up to {possible}, or " if possible else ""
    if account.target.url_of("lambda") is not None:
        return Finding("concurrency", PROBLEM, need, f"{smaller}raise the endpoint's limit")
    way_out = (
        f"{smaller}raise the quota: aws service-quotas request-service-quota-increase --service-code lambda "
        f"--quota-code {CONCURRENCY_QUOTA} --desired-value {max(USUAL_CONCURRENCY, needed + elsewhere + UNRESERVED)} "
        f"--region {account.target.region}"
    )
    hopeless = certain or needed > limit - UNRESERVED
    return Finding("concurrency", PROBLEM if hopeless else WARNING, need, way_out)


def memory_cap(account: Account, cells: list[Demand]) -> Finding:
    """New accounts have 3,008 MB. No API tells the cap, so an account whose concurrency is still low is suspected."""
    most = max(cell.memory_mb for cell in cells)
    if most <= NEW_ACCOUNT_MEMORY_MB:
        return Finding("memory cap", OK, f"{most} MB are allowed in every account")
    limit = account.settings()["ConcurrentExecutions"]
    if limit >= USUAL_CONCURRENCY:
        return Finding("memory cap", OK, f"{most} MB needed; this isn't a new account (concurrency limit {limit})")
    return Finding(
        "memory cap",
        WARNING,
        (
            f"{most} MB needed; an account with a concurrency limit of {limit} looks new, and new "
            "accounts have 3008 MB at most"
        ),
        "use --set memory_size=... up to 3008, or ask AWS Support to raise the limit",
    )


def network(account: Account) -> Finding:
    """The opt-in quota of bandwidth, which decides what figures to expect."""
    quota = network_quota(account)
    if quota == "unknown":
        return Finding(
            "network quota",
            WARNING,
            'unknown: Service Quotas doesn\'t return "Network bandwidth per execution environment"',
            ("check it in the console (Service Quotas, Lambda) and note it with the run; figures depend on it"),
        )
    if quota == "default":
        return Finding("network quota", OK, "not raised: about 0.6 Gbit/s for each function")
    raised = f"{quota}; doctor and sweep predict without it, `stampede simulate --bandwidth-quota` predicts with it"
    return Finding("network quota", OK, raised)


def leftovers(account: Account, prefix: str) -> Finding:
    """Functions whose names begin with `prefix` that are still there, and what they reserve."""
    listed: list[str] = []
    marker: dict[str, str] = {}
    while len(listed) < MOST_FUNCTIONS_LISTED:
        page = account.ask("lambda", "list_functions", **marker)
        listed += [function["FunctionName"] for function in page["Functions"]]
        if not page.get("NextMarker"):
            break
        marker = {"Marker": page["NextMarker"]}
    ours = [name for name in listed if name.startswith(prefix)]
    if not ours:
        return Finding("leftovers", OK, f"there is no function {prefix}*")
    held = ", ".join(f"{name} (reserves {account.reserved(name) or 0})" for name in ours[:5])
    return hosts.left_over(f"from an earlier deployment: {held}")


def _emulator_concurrency(cells: list[Demand], limit: int) -> Finding:
    needed = max(cell.concurrency for cell in cells)
    need = f"{needed} needed, the embedded AWS runs {limit} at once"
    if needed <= limit:
        return Finding("concurrency", OK, need)
    return Finding("concurrency", PROBLEM, need, f"use --set concurrency_value=... up to {limit}")


def _or_unknown(name: str, ask: Callable[[], Finding]) -> Finding:
    try:
        return ask()
    except NotAnswered as reason:
        return Finding(name, WARNING, f"unknown: {reason}", "check it in the console, or allow this call")
    except KeyError as missing:
        return Finding(name, WARNING, f"unknown: the answer has no {missing.args[0]}", "check it in the console")
