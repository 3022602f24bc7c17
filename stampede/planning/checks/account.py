"""Checks of the AWS account, or of an endpoint in its stead: region, what Lambda and EC2 allow, what earlier runs left,
and whether an endpoint has what an experiment needs.

Only calls that read, with little patience; whatever isn't answered or allowed becomes a warning, never a traceback.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from experiments import Experiment
from stampede.emulator import ministack, stack
from stampede.errors import UsageError, one_line
from stampede.experiment import DIRECTORY_BUCKETS, FILE_SYSTEM, KEYS
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.checks import credentials
from stampede.planning.demand import Demand
from stampede.planning.rules import UNRESERVED
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import code_of
from stampede.stacks.place import words
from stampede.stacks.target import Target, local

PATIENCE = {"connect_timeout": 3, "read_timeout": 10, "retries": {"mode": "standard", "max_attempts": 2}}
# Of botocore's parsers, for an answer that isn't the service's: HTML, or a document of another kind.
NOT_THAT_SERVICE = (ResponseParserError, LookupError, ValueError, TypeError, AttributeError)
# What says that we may not ask, or not now, and nothing of what is there.
NOT_TO_US = re.compile(
    "denied|unauthorized|forbidden|token|signature|credential|accesskey|optin|throttl|toomanyrequests|slowdown"
    "|unavailable|timeout",
    re.IGNORECASE,
)
CONCURRENCY_QUOTA = "L-B99A9384"  # Service Quotas: Lambda, "Concurrent executions"
USUAL_CONCURRENCY = 1000
NEW_ACCOUNT_MEMORY_MB = 3008
VCPU_QUOTA = "L-1216C47A"  # Service Quotas: EC2, "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
# Families that begin with one of its letters, and aren't others with a quota of their own.
STANDARD_FAMILY = re.compile("(?!inf|trn|hpc|dl|mac)[acdhimrtz]")
BILLED_STATES = ["pending", "running", "stopping", "stopped"]  # a stopped one still has its disk
# More pages of functions or quotas than these nobody waits for.
MOST_PAGES = 10
# What names the next page in an answer, and what asks for it.
Turning = tuple[str, str]
FUNCTION_PAGES, QUOTA_PAGES = ("NextMarker", "Marker"), ("NextToken", "NextToken")
# What an endpoint needs for a stack: a call that only something which has it answers.
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


class NotAnswered(Exception):
    """AWS didn't answer, or not to us; the message says why in a few words. `is_lacking` where it is the answer of a
    service that doesn't know what was asked, which only one in AWS's stead gives."""

    def __init__(self, reason: str, *, is_lacking: bool = False) -> None:
        super().__init__(reason)
        self.is_lacking = is_lacking


class Account:
    """The account behind the target's endpoints, asked with short timeouts. Settings are asked once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._settings: dict[str, int] | None = None
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """A client that gives up soon, made once; raises what `Target.client` raises."""
        if service not in self._clients:
            self._clients[service] = self.target.client(service, **PATIENCE)
        return self._clients[service]

    def ask(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """One call; raises NotAnswered."""
        try:
            return getattr(self.client(service), operation)(**parameters)
        except ClientError as error:
            raise NotAnswered(_why(error), is_lacking=not NOT_TO_US.search(code_of(error))) from error
        except (BotoCoreError, UsageError) as error:
            raise NotAnswered(one_line(error)) from None
        except NOT_THAT_SERVICE:
            raise NotAnswered("the answer isn't from that service", is_lacking=True) from None

    def pages(self, service: str, operation: str, turning: Turning, **parameters: Any) -> Iterator[dict[str, Any]]:
        """The first pages of a list. Raises NotAnswered."""
        answered, asked = turning
        token: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page = self.ask(service, operation, **parameters, **token)
            yield page
            if not page.get(answered):
                return
            token = {asked: page[answered]}

    def settings(self) -> dict[str, int]:
        """Lambda's limits of the account; raises NotAnswered."""
        if self._settings is None:
            self._settings = self.ask("lambda", "get_account_settings")["AccountLimit"]
        return self._settings

    def reserved(self, function_name: str) -> int | None:
        """What a function reserves, 0 for nothing, None where there is no such function. Raises NotAnswered."""
        try:
            answer = self.ask("lambda", "get_function_concurrency", FunctionName=function_name)
        except NotAnswered as error:
            if isinstance(error.__cause__, ClientError) and code_of(error.__cause__) == "ResourceNotFoundException":
                return None
            raise
        return answer.get("ReservedConcurrentExecutions", 0)


def _why(error: ClientError) -> str:
    if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 501:
        return f"the endpoint doesn't implement {error.operation_name}"
    return f"{error.operation_name} answered {code_of(error) or 'an error'}"


def check(cells: Sequence[Demand], region: str, prefix: str, experiment: Experiment, run_s: float) -> list[Finding]:
    """The checks of the account for a run of `run_s` seconds; where the credentials are wrong, only that."""
    account = Account(targets.configured({"region": region}))
    who = credentials.identity(account.client, account.target)
    if who.status == PROBLEM:
        return [who]
    is_endpoint = account.target.kind == "endpoint"
    place = [Finding("endpoint", OK, words(account.target.place))] if is_endpoint else []
    questions = _questions(account, cells, prefix, experiment)
    return [who, credentials.lifetime(run_s), *place, *(_or_unknown(name, ask) for name, ask in questions.items())]


def _questions(
    account: Account, cells: Sequence[Demand], prefix: str, experiment: Experiment
) -> dict[str, Callable[[], Finding]]:
    """What is asked, by the name of the check: of an endpoint what it has, of AWS what only that has; each may raise
    NotAnswered."""
    on_hosts = cells[0].usage.on_hosts
    checks: dict[str, Callable[[], Finding]] = {}
    if account.target.kind == "endpoint":
        needed = ALWAYS | {name: PARTS[name] for name in experiment.needs if name in PARTS}
        needed |= ATHENA if experiment.athena is not None else {}
        needed |= {"hosts": ("ec2", "describe_instances")} if on_hosts else {"functions": ("lambda", "list_functions")}
        checks |= {name: partial(capability, account, name, *call) for name, call in needed.items()}
        checks["saved queries"] = partial(saved_queries, account)
    else:
        checks["region"] = partial(enabled_region, account)
    if on_hosts:
        checks["instances"] = partial(instances, account, cells)
    else:
        checks["concurrency"] = partial(concurrency, account, cells, f"{prefix}-{experiment.name}")
        if account.target.url_of("lambda") is None:
            checks["memory cap"] = partial(memory_cap, account, cells)
    return checks | {"leftovers": partial(leftovers, account, f"{prefix}-", on_hosts)}


def emulator(cells: Sequence[Demand]) -> list[Finding]:
    """The embedded AWS: whether it answers where it runs, and takes N functions at once, where functions are used."""
    running = ministack.running(stack.STATE_DIR)
    if running is not None and not running.answers():
        problem = f"process {running.pid} doesn't answer at {running.endpoint_url}"
        return [Finding("emulator", PROBLEM, problem, "`stampede emulator stop`")]
    state = [Finding("emulator", OK, f"answers at {running.endpoint_url}" if running else "")]
    if cells[0].usage.on_hosts:
        return state

    def runs_n() -> Finding:
        limit = ministack.account_concurrency(os.environ)
        if running is not None:
            embedded = Account(local({"region": ministack.REGION}, running.access))
            limit = embedded.settings()["ConcurrentExecutions"]
        if (n := max(cell.concurrency for cell in cells)) <= limit:
            return Finding("concurrency", OK)
        need = f"{n} needed, the embedded AWS runs {limit} at once"
        return Finding("concurrency", PROBLEM, need, f"use --set concurrency_value=... up to {limit}")

    return [*state, _or_unknown("concurrency", runs_n)]


def _or_unknown(name: str, ask: Callable[[], Finding]) -> Finding:
    try:
        return ask()
    except NotAnswered as reason:
        return Finding(name, WARNING, f"unknown: {reason}", "check it in the console, or allow this call")
    except (LookupError, StopIteration):
        return Finding(name, WARNING, "unknown: the answer lacks what was asked for", "check it in the console")


def enabled_region(account: Account) -> Finding:
    """The region is switched on for the account."""
    region = account.target.region
    state = account.ask("account", "get_region_opt_status", RegionName=region)["RegionOptStatus"]
    if state in ("ENABLED", "ENABLED_BY_DEFAULT"):
        return Finding("region", OK)
    way_out = f"run `aws account enable-region --region-name {region}` and wait a few minutes, or use --set region=..."
    return Finding("region", PROBLEM, f"{region} isn't enabled in this account ({state.lower()})", way_out)


def capability(account: Account, name: str, service: str, operation: str) -> Finding:
    """An endpoint has what the stack needs."""
    try:
        account.ask(service, operation)
    except NotAnswered as reason:
        if not reason.is_lacking:
            raise
        otherwise = "use an endpoint that has it, AWS itself, or --target local"
        return Finding(name, PROBLEM, f"not available: {reason}", otherwise)
    return Finding(name, OK)


def saved_queries(account: Account) -> Finding:
    """Logs keeps saved queries, which infra/ puts there. Nothing else asks it: lines are evaluated here."""
    try:
        account.ask("logs", "describe_query_definitions")
    except NotAnswered as reason:
        way_out = "remove them from infra/ with an override file (docs/endpoints.md), or `terraform apply` fails"
        return Finding("saved queries", WARNING, str(reason), way_out)
    return Finding("saved queries", OK)


def concurrency(account: Account, cells: Sequence[Demand], function_name: str) -> Finding:
    """The largest N can be reserved, with 100 left for all other functions of the account."""
    settings = account.settings()
    limit, unreserved = settings["ConcurrentExecutions"], settings["UnreservedConcurrentExecutions"]
    own = account.reserved(function_name) or 0  # given back when the function gets another N
    elsewhere, needed = limit - unreserved - own, max(cell.concurrency for cell in cells)
    possible = max(0, unreserved + own - UNRESERVED)
    if needed <= possible:
        return Finding("concurrency", OK)
    taken = f", {elsewhere} reserved by other functions" if elsewhere else ""
    need = (
        f"{needed} needed, {possible} can be reserved: the account's concurrency limit is {limit}{taken}, "
        "and 100 must stay unreserved"
    )
    smaller = f"use --set concurrency_value=... up to {possible}, or " if possible else ""
    wanted = max(USUAL_CONCURRENCY, needed + elsewhere + UNRESERVED)
    is_aws = account.target.url_of("lambda") is None
    larger = _raise_quota(account, "lambda", CONCURRENCY_QUOTA, wanted) if is_aws else "raise the endpoint's limit"
    return Finding("concurrency", PROBLEM, need, f"{smaller}{larger}")


def _raise_quota(account: Account, service: str, quota: str, wanted: int) -> str:
    return (
        f"raise the quota: aws service-quotas request-service-quota-increase --service-code {service} "
        f"--quota-code {quota} --desired-value {wanted} --region {account.target.region}"
    )


def memory_cap(account: Account, cells: Sequence[Demand]) -> Finding:
    """New accounts have 3,008 MB. No API tells the cap, so an account whose concurrency is still low is suspected."""
    most = max(cell.memory_mb for cell in cells)
    if most <= NEW_ACCOUNT_MEMORY_MB or account.settings()["ConcurrentExecutions"] >= USUAL_CONCURRENCY:
        return Finding("memory cap", OK)
    limit = account.settings()["ConcurrentExecutions"]
    suspected = f"{most} MB needed; an account with a concurrency limit of {limit} looks new: 3008 at most"
    return Finding("memory cap", WARNING, suspected, "use --set memory_size=... up to 3008, or ask AWS Support")


def instances(account: Account, cells: Sequence[Demand]) -> Finding:
    """Every instance type is to be had in the region, and all hosts of a cell at once fit the account's vCPUs; that of
    the standard families, others have quotas of their own."""
    types = sorted({cell.usage.instance_type for cell in cells})
    # A filter, as a type that isn't there is an error by its name.
    answer = account.ask("ec2", "describe_instance_types", Filters=[{"Name": "instance-type", "Values": types}])
    vcpus = {row["InstanceType"]: row["VCpuInfo"]["DefaultVCpus"] for row in answer["InstanceTypes"]}
    if missing := [name for name in types if name not in vcpus]:
        problem = f"{missing[0]} isn't available in {account.target.region}"
        return Finding("instances", PROBLEM, problem, "choose another instance type, or --set region=...")
    largest = max(cells, key=lambda cell: cell.concurrency * vcpus[cell.usage.instance_type])
    name, needed = largest.usage.instance_type, largest.concurrency * vcpus[largest.usage.instance_type]
    if not STANDARD_FAMILY.match(name) or account.target.url_of("ec2") is not None:
        return Finding("instances", OK)
    pages = account.pages("service-quotas", "list_service_quotas", QUOTA_PAGES, ServiceCode="ec2", MaxResults=100)
    quota = next(row["Value"] for page in pages for row in page["Quotas"] if row.get("QuotaCode") == VCPU_QUOTA)
    if needed <= quota:
        return Finding("instances", OK)
    need = f"{needed} vCPUs needed for {largest.concurrency} x {name}; the quota is {quota:.0f} for all of the account"
    way_out = f"use fewer or smaller hosts, or {_raise_quota(account, 'ec2', VCPU_QUOTA, needed)}"
    return Finding("instances", PROBLEM, need, way_out)


def leftovers(account: Account, prefix: str, on_hosts: bool) -> Finding:
    """Nothing whose name begins with `prefix` is still there: no function, which reserves concurrency, or no instance,
    which is billed by the hour."""
    if on_hosts:
        filters = [
            {"Name": "tag:Name", "Values": [f"{prefix}*"]},
            {"Name": "instance-state-name", "Values": BILLED_STATES},
        ]
        reservations = account.ask("ec2", "describe_instances", Filters=filters)["Reservations"]
        rows = [row for reservation in reservations for row in reservation["Instances"]]
        held = [f"{row['InstanceId']} ({row['InstanceType']}, {row['State']['Name']}, billed)" for row in rows[:5]]
    else:
        pages = account.pages("lambda", "list_functions", FUNCTION_PAGES)
        names = [row["FunctionName"] for page in pages for row in page["Functions"]]
        own = [name for name in names if name.startswith(prefix)]
        held = [f"{name} (reserves {account.reserved(name) or 0})" for name in own[:5]]
    if not held:
        return Finding("leftovers", OK)
    way_out = (
        "`terraform -chdir=infra destroy` removes what is in infra/'s state; a sweep uses that only with --take-over"
    )
    return Finding("leftovers", WARNING, f"from an earlier deployment: {', '.join(held)}", way_out)
