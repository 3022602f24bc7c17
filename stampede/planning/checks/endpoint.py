"""Checks of an endpoint in AWS's stead: what it is, and whether it has what an experiment needs.

Only calls that read. What answers them may still not do it: an emulator may keep a function and run none. Where only
making one would show that, it is a warning.
"""

from __future__ import annotations

import http.client
import json
import platform
import subprocess
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from experiments import Experiment
from stampede.experiment import DIRECTORY_BUCKETS, FILE_SYSTEM, KEYS
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.checks.asking import Account, NotAnswered
from stampede.planning.demand import Demand
from stampede.stacks.place import words

TIMEOUT_S = 3
DOCKER_TIMEOUT_S = 10  # it may have to be woken up
HOW_TO = "see docs/endpoints.md"
LOOPBACK = ("127.0.0.1", "localhost", "::1", "localhost.localstack.cloud")


@dataclass(frozen=True)
class Capability:
    """Something that an endpoint has or lacks, and the call that only something which has it answers. What answers may
    still be for show: `unsure` then says what only a run shows."""

    name: str
    service: str
    operation: str
    unsure: str = ""

    def finding(self, account: Account) -> Finding:
        """Whether it is there."""
        try:
            account.ask(self.service, self.operation)
        except NotAnswered as reason:
            if reason.is_lacking:
                return Finding(self.name, PROBLEM, f"not available: {reason}", _OTHERWISE)
            return Finding(self.name, WARNING, f"unknown: {reason}", "allow this call, or run one cell first")
        if self.unsure:
            return Finding(self.name, WARNING, f"it answers; {self.unsure}", "run one cell first")
        return Finding(self.name, OK, "there")


_OTHERWISE = "use an endpoint that has it, AWS itself, or --target local"
ALWAYS = (
    Capability("S3", "s3", "list_buckets"),
    Capability("SQS", "sqs", "list_queues"),
    Capability("Logs", "logs", "describe_log_groups"),
    Capability("IAM", "iam", "list_roles"),
)
HOSTS = Capability("hosts", "ec2", "describe_instances", "only a run shows whether an instance there runs its program")
PARTS = {
    FILE_SYSTEM: Capability(
        FILE_SYSTEM, "efs", "describe_file_systems", "only a run shows whether a function there can mount one"
    ),
    KEYS: Capability(KEYS, "kms", "list_keys"),
}
ATHENA = Capability("Athena", "athena", "list_work_groups")
CATALOG = Capability("Glue", "glue", "get_databases")


def checks(account: Account, experiment: Experiment, cells: list[Demand]) -> dict[str, Callable[[], Finding]]:
    """The checks by name, of what the stack of `experiment` consists of with these cells, whether all use it or not."""
    needed = [*ALWAYS]
    needed += [HOSTS] if cells[0].usage.on_hosts else []
    needed += [part for name, part in PARTS.items() if name in experiment.needs]
    needed += [ATHENA, CATALOG] if experiment.athena is not None else []
    capabilities = {capability.name: partial(capability.finding, account) for capability in needed}
    if not cells[0].usage.on_hosts:
        capabilities["functions"] = partial(functions, account)
    if DIRECTORY_BUCKETS in experiment.needs:
        capabilities[DIRECTORY_BUCKETS] = partial(directory_buckets, account)
    return capabilities | {"saved queries": partial(saved_queries, account)}


def what_it_is(account: Account) -> Finding:
    """That it isn't AWS, and its name where it has one."""
    product = _localstack(account.target.endpoint_url)
    named = f": LocalStack {product.get('version', '')}".rstrip() if product else ""
    place = f"{words(account.target.place)}{named}; figures are labelled with it"
    return Finding("endpoint", OK, place)


def runs_there(experiment: Experiment, cells: list[Demand], findings: list[Finding]) -> Finding:
    """What of the experiment will run there, after the `findings` of what it has."""
    all_cells = f"{'the one cell' if len(cells) == 1 else f'all {len(cells)} cells'} of {experiment.name}"
    lacking, unsure = (
        [finding.check for finding in findings if finding.status == status] for status in (PROBLEM, WARNING)
    )
    if lacking:
        return Finding(
            "runs there", WARNING, f"{experiment.name} can't run here; missing: {', '.join(lacking)}", HOW_TO
        )
    if unsure:
        return Finding("runs there", WARNING, f"{all_cells}, if these work: {', '.join(unsure)}", HOW_TO)
    return Finding("runs there", OK, all_cells)


def functions(account: Account) -> Finding:
    """Whether functions can be made and run."""
    capability = Capability("functions", "lambda", "list_functions", "only a run shows whether they really run")
    finding, product = capability.finding(account), _localstack(account.target.url_of("lambda"))
    return finding if product is None or finding.status == PROBLEM else _in_docker(account, product)


def directory_buckets(account: Account) -> Finding:
    """Whether S3 has directory buckets: one that hasn't may take the call for ListBuckets, and answer as to that."""
    bodies: list[bytes] = []

    def keep(http_response: Any, **_: Any) -> None:
        bodies.append(http_response.content)

    account.client("s3").meta.events.register("after-call.s3.ListDirectoryBuckets", keep)
    unsure = "only a run shows whether sessions are opened"
    finding = Capability("directory buckets", "s3", "list_directory_buckets", unsure).finding(account)
    if finding.status != PROBLEM and bodies and b"ListAllMyDirectoryBucketsResult" not in bodies[-1]:
        problem = "not available: ListDirectoryBuckets is answered like ListBuckets"
        return Finding("directory buckets", PROBLEM, problem, _OTHERWISE)
    return finding


def saved_queries(account: Account) -> Finding:
    """Whether Logs keeps saved queries, which infra/ puts there. Nothing else asks it: lines are evaluated here."""
    evaluated = "a run's lines are evaluated on this machine"
    try:
        account.ask("logs", "describe_query_definitions")
    except NotAnswered as reason:
        way_out = "remove them from infra/ with an override file (docs/endpoints.md), or `terraform apply` fails"
        return Finding("saved queries", WARNING, f"{reason}; {evaluated}", way_out)
    return Finding("saved queries", OK, f"kept; {evaluated}")


def _in_docker(account: Account, product: dict[str, Any]) -> Finding:
    """LocalStack runs a function in a Docker container, on the machine where it is itself."""
    rule = "LocalStack runs functions in Docker containers"
    is_here = urlsplit(account.target.url_of("lambda")).hostname in LOOPBACK
    if not is_here:
        unknown = f"{rule}; whether it has Docker isn't visible from this machine"
        return Finding("functions", WARNING, unknown, "run one cell first")
    why_not = _no_docker()
    if why_not is None:
        return Finding("functions", OK, f"{rule}, and Docker answers on this machine")
    way_out = f"start Docker ({HOW_TO}), or use --target local, whose functions need no containers"
    # Behind a tunnel it may be another machine; `system` ends with the kernel's release, in a container too.
    on_this_machine = platform.release() in str(product.get("system"))
    return Finding("functions", PROBLEM if on_this_machine else WARNING, f"{rule}, and {why_not}", way_out)


def _no_docker() -> str | None:
    """None where Docker's daemon answers this machine, else why it doesn't."""
    command = ["docker", "version", "--format", "{{.Server.Version}}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=DOCKER_TIMEOUT_S, check=False)
    except FileNotFoundError:
        return "there is no Docker on this machine"
    except (OSError, subprocess.TimeoutExpired):
        return "Docker doesn't answer on this machine"
    return None if done.returncode == 0 else "Docker's daemon doesn't answer on this machine"


def _localstack(url: str | None) -> dict[str, Any] | None:
    """What LocalStack says of itself at `url`; None for anything else."""
    if url is None:
        return None
    try:
        with urllib.request.urlopen(f"{url}/_localstack/info", timeout=TIMEOUT_S) as response:
            info = json.load(response)
    except (OSError, ValueError, http.client.HTTPException):  # URLError and timeouts are OSErrors
        return None
    return info if isinstance(info, dict) and "version" in info else None
