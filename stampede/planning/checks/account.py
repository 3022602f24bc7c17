"""Checks of the AWS account or of another endpoint: credentials, Lambda's limits, leftovers of
earlier runs, and whether an endpoint has what an experiment needs.

Only calls that read, with short timeouts. A call that isn't answered or allowed becomes a warning,
never a traceback.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from dateutil import parser

from experiments import EXPERIMENTS, Experiment
from stampede.emulator import ministack
from stampede.errors import RunError, UsageError, one_line
from stampede.experiment import DIRECTORY_BUCKETS, FILE_SYSTEM, KEYS
from stampede.finding import OK, PROBLEM, WARNING, Finding, Wrong
from stampede.phrases import minutes
from stampede.planning.demand import Demand
from stampede.planning.plan import Plan
from stampede.planning.rules import UNRESERVED
from stampede.stacks import own_object as own_objects
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import Kind, code_of, kind_of
from stampede.stacks.place import words
from stampede.stacks.target import Target, explain

# Short, because the user waits, and can ask again.
PATIENCE = {
    "connect_timeout": 3,
    "read_timeout": 10,
    "retries": {"mode": "standard", "max_attempts": 2},
}
# Raised by botocore's parsers for an answer that isn't the service's, such as HTML.
NOT_THAT_SERVICE = (ResponseParserError, LookupError, ValueError, TypeError, AttributeError)
NOT_ANSWERED = (BotoCoreError, ClientError, UsageError, *NOT_THAT_SERVICE)
# Errors that say that we may not ask, or not now, and nothing about what is there.
NOT_TO_US = (Kind.THROTTLED, Kind.CREDENTIALS, Kind.DENIED)
# When a shell's credentials expire, as botocore reads it. If it isn't set, an hour is usual.
EXPIRATION = "AWS_CREDENTIAL_EXPIRATION"
LONG_RUN_S = 3600
CONCURRENCY_QUOTA = "L-B99A9384"  # Service Quotas: Lambda, "Concurrent executions"
USUAL_CONCURRENCY = 1000
BILLED_STATES = ["pending", "running", "stopping", "stopped"]  # a stopped one still has its disk
# What a stack needs of an endpoint, with a call that only an endpoint that has it answers.
ALWAYS = {
    "S3": ("s3", "list_buckets"),
    "SQS": ("sqs", "list_queues"),
    "Logs": ("logs", "describe_log_groups"),
    "IAM": ("iam", "list_roles"),
}
PARTS = {
    FILE_SYSTEM: ("efs", "describe_file_systems"),
    KEYS: ("kms", "list_keys"),
    DIRECTORY_BUCKETS: ("s3", "list_directory_buckets"),
}
ATHENA = {"Athena": ("athena", "list_work_groups"), "Glue": ("glue", "get_databases")}
HOSTS = {"hosts": ("ec2", "describe_instances")}
FUNCTIONS = {"functions": ("lambda", "list_functions")}
# Only infra/ creates them; an endpoint without them can still be used.
SAVED_QUERIES = {"saved queries": ("logs", "describe_query_definitions")}
OVERRIDE = (
    "remove them from infra/ with an override file (docs/endpoints.md), or `terraform apply` fails"
)
OTHER_ENDPOINT = "use an endpoint that has it, AWS itself, or --target local"


def check(cells: Sequence[Demand], experiment: Experiment, run_s: float) -> list[Finding]:
    """The checks of the account for a run of `run_s` seconds; wrong credentials end them."""
    values, on_hosts = cells[0].cell.values, cells[0].usage.on_hosts
    target, prefix = targets.configured({"region": str(values["region"])}), f"{values['prefix']}-"
    findings = [credentials(target)]
    if findings[0].status == PROBLEM:
        return findings
    findings.append(session(run_s))
    asked: dict[str, Callable[[], Wrong]] = {}
    if target.kind == "endpoint":
        findings.append(Finding("endpoint", OK, words(target.place)))
        needed = ALWAYS | {name: PARTS[name] for name in experiment.needs if name in PARTS}
        needed |= ATHENA if experiment.athena is not None else {}
        needed |= (HOSTS if on_hosts else FUNCTIONS) | SAVED_QUERIES
        asked = {name: partial(lacks, target, name, *call) for name, call in needed.items()}
    if on_hosts:
        asked["leftovers"] = partial(hosts_left, target, prefix)
    else:
        asked["concurrency"] = partial(concurrency, target, cells, prefix + experiment.name)
        asked["leftovers"] = partial(functions_left, target, prefix)
    return [*findings, *(_answered(name, ask) for name, ask in asked.items())]


def credentials(target: Target) -> Finding:
    """STS accepts the credentials, without which nothing else can be asked."""
    try:
        answer = _client(target, "sts").get_caller_identity()
        return Finding("credentials", OK, f"account {answer['Account']} as {answer['Arn']}")
    except (BotoCoreError, ClientError) as error:
        wrong = explain(error, "checking the credentials", target)
    except UsageError as error:
        wrong = error
    # A RuntimeError is what botocore says of an AWS_CREDENTIAL_EXPIRATION that is past.
    except (RuntimeError, *NOT_THAT_SERVICE) as error:
        url = target.url_of("sts") or "AWS"
        wrong = RunError(
            f"no usable answer from STS at {url} ({one_line(error)})",
            f"renew them, or correct {EXPIRATION} or AWS_ENDPOINT_URL",
        )
    return Finding("credentials", PROBLEM, wrong.found, wrong.way_out)


def session(run_s: float) -> Finding:
    """The shell's session token lasts for a run of `run_s` seconds, as far as known. Credentials
    that botocore renews by itself don't expire here."""
    held = botocore.session.get_session().get_credentials()
    text = os.environ.get(EXPIRATION) if held.method == "env" else None
    left_s = (parser.parse(text) - datetime.now(UTC)).total_seconds() if text else LONG_RUN_S
    is_held = held.method in ("env", "shared-credentials-file", "config-file")
    if not is_held or not held.token or left_s >= run_s:
        return Finding("session", OK)
    expiry = f"that expires in {minutes(left_s)}" if text else "without a known expiry"
    return Finding(
        "session",
        WARNING,
        f"a session token {expiry}; the run takes about {minutes(run_s)}",
        "renew it first, e.g. `aws sso login`",
    )


def emulator(cells: Sequence[Demand]) -> list[Finding]:
    """The embedded AWS can run N functions at once, if functions are used."""
    if cells[0].usage.on_hosts:
        return []
    n, limit = max(cell.concurrency for cell in cells), ministack.CONCURRENCY
    if n <= limit:
        return [Finding("concurrency", OK)]
    return [
        Finding(
            "concurrency",
            PROBLEM,
            f"{n} needed, the embedded AWS runs {limit} at once",
            "use a smaller --set concurrency_value=...",
        )
    ]


def own_object(plan: Plan) -> list[Finding]:
    """The object of the user's own, if there is one, which is as large as planned. Raises what
    `own_objects.of_plan` does for one that can't be read."""
    held = own_objects.of_plan(plan.target, plan.experiment, plan.cells)
    if held is None:
        return []
    size = EXPERIMENTS[plan.experiment].own_object.size
    if all(cell.values[size] == held.size_mb for cell in plan.cells):
        return [Finding("object", OK, held.words)]
    return [
        Finding(
            "object",
            PROBLEM,
            f"{held.words}, has another {size} than planned",
            f"start a new run with --set {size}={held.size_mb}, or put the object back",
        )
    ]


def _client(target: Target, service: str) -> Any:
    """A client with short timeouts; raises what `Target.client` raises."""
    return target.client(service, **PATIENCE)


def _answered(name: str, check: Callable[[], Wrong]) -> Finding:
    """What a check finds; a warning if its calls aren't answered."""
    try:
        return Finding(name, *(check() or (OK,)))
    except NOT_ANSWERED as error:
        return Finding(
            name, WARNING, f"unknown: {_why(error)}", "check it in the console, or allow this call"
        )


def _why(error: Exception) -> str:
    """The reason for a missing answer, in a few words."""
    if isinstance(error, ClientError):
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 501:
            return f"the endpoint doesn't implement {error.operation_name}"
        return f"{error.operation_name} answered {code_of(error) or 'an error'}"
    is_named = isinstance(error, BotoCoreError | UsageError)
    return one_line(error) if is_named else "the answer isn't from that service"


def lacks(target: Target, name: str, service: str, operation: str) -> Wrong:
    """Whether an endpoint lacks what the stack needs. Raises ClientError if it may not be asked."""
    try:
        getattr(_client(target, service), operation)()
    except (ClientError, *NOT_THAT_SERVICE) as error:
        if isinstance(error, ClientError) and kind_of(error) in NOT_TO_US:
            raise
        if name in SAVED_QUERIES:
            return WARNING, _why(error), OVERRIDE
        return PROBLEM, f"not available: {_why(error)}", OTHER_ENDPOINT
    return None


def reserved(client: Any, function_name: str) -> int:
    """The reserved concurrency of a function; 0 if it has none or doesn't exist."""
    try:
        answer = client.get_function_concurrency(FunctionName=function_name)
    except client.exceptions.ResourceNotFoundException:
        return 0
    return answer.get("ReservedConcurrentExecutions", 0)


def concurrency(target: Target, cells: Sequence[Demand], function_name: str) -> Wrong:
    """The largest N can be reserved, and 100 stay for all other functions of the account."""
    client = _client(target, "lambda")
    limits = client.get_account_settings()["AccountLimit"]
    own = reserved(client, function_name)  # given back when the function gets another N
    limit, free = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"] + own
    needed, possible = max(cell.concurrency for cell in cells), max(0, free - UNRESERVED)
    if needed <= possible:
        return None
    need = (
        f"{needed} needed, {possible} can be reserved: the account's concurrency limit is {limit}, "
        f"other functions reserve {limit - free} and {UNRESERVED} must stay unreserved"
    )
    raise_it = "raise the endpoint's limit"
    if target.url_of("lambda") is None:
        wanted = max(USUAL_CONCURRENCY, needed + limit - free + UNRESERVED)
        raise_it = (
            "raise the quota: aws service-quotas request-service-quota-increase --service-code "
            f"lambda --quota-code {CONCURRENCY_QUOTA} --desired-value {wanted} --region "
            f"{target.region}"
        )
    return PROBLEM, need, f"use a smaller --set concurrency_value=..., or {raise_it}"


def functions_left(target: Target, prefix: str) -> Wrong:
    """No function whose name begins with `prefix` is left, where it may reserve concurrency."""
    client = _client(target, "lambda")
    pages = client.get_paginator("list_functions").paginate()
    names = [row["FunctionName"] for page in pages for row in page["Functions"]]
    return _left(
        f"{name} (reserves {reserved(client, name)})" for name in names if name.startswith(prefix)
    )


def hosts_left(target: Target, prefix: str) -> Wrong:
    """No instance whose name begins with `prefix` is left, where it is billed by the hour."""
    filters = {"tag:Name": [f"{prefix}*"], "instance-state-name": BILLED_STATES}
    asked = [{"Name": name, "Values": values} for name, values in filters.items()]
    reservations = _client(target, "ec2").describe_instances(Filters=asked)["Reservations"]
    return _left(
        f"{row['InstanceId']} (billed)"
        for reservation in reservations
        for row in reservation["Instances"]
    )


def _left(held: Iterable[str]) -> Wrong:
    listed = ", ".join(itertools.islice(held, 5))
    if not listed:
        return None
    return (
        WARNING,
        f"from an earlier deployment: {listed}",
        "`terraform -chdir=infra destroy` removes what is in infra/'s state; a sweep uses that "
        "only with --take-over",
    )
