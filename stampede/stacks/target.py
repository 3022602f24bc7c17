"""The target of a verb: the applied stack (its `terraform output -json`) and its AWS API.

There are three kinds. `local` is the embedded AWS with the copy of `infra/` in `.stampede/local/`.
`--target aws` is whatever this shell's AWS configuration reaches, with the state in `infra/`: `aws`
or another `endpoint` (`endpoints.py`), which is treated with the same care, as it may bill, but
never called AWS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConfigParseError,
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
)

from experiments import EXPERIMENTS, Experiment
from stampede import full_disk
from stampede.emulator import ministack, stack
from stampede.emulator.ministack import Access
from stampede.emulator.providers import built_versions, prepare_for, terraform_environment
from stampede.errors import RunError, UsageError, one_line
from stampede.progress import say
from stampede.stacks import endpoints
from stampede.stacks.aws_errors import Kind, code_of, kind_of
from stampede.stacks.place import refuse_elsewhere, words
from stampede.stacks.terraform import Terraform

RETRIES = {"mode": "standard", "total_max_attempts": 6}


class NoStackError(UsageError):
    """No stack is applied."""


@dataclass(frozen=True)
class Target:
    """An applied stack: `kind` is "local", "aws" or "endpoint", `outputs` are Terraform's; without
    an `endpoint_url` it is AWS's. If an endpoint replaces only some services, `services` has their
    URLs. `key` is the emulator's key for boto3."""

    kind: str
    outputs: dict[str, Any]
    endpoint_url: str | None = None
    services: Mapping[str, str] = field(default_factory=dict)
    key: Mapping[str, str] = field(default_factory=Access("", "none", "none").key.copy, repr=False)

    def __getitem__(self, name: str) -> Any:
        """An output of the stack; raises UsageError if it is missing."""
        try:
            return self.outputs[name]
        except KeyError:
            raise UsageError(
                f"the applied stack has no output {name!r}", "apply this version of infra/"
            ) from None

    @property
    def option(self) -> str:
        """Its --target, "local" or "aws", which decides timeouts and the place of Terraform's
        state."""
        return "local" if self.kind == "local" else "aws"

    @property
    def place(self) -> dict[str, Any]:
        """Its place, as in run.json."""
        noted: dict[str, Any] = {"target": self.kind}
        if self.kind == "endpoint":
            noted |= {"endpoint_url": self.endpoint_url}
        return noted | ({"endpoint_services": dict(self.services)} if self.services else {})

    def url_of(self, service: str) -> str | None:
        """The URL of a service, None for AWS's own."""
        return self.services.get(service) if self.services else self.endpoint_url

    @property
    def region(self) -> str:
        """The stack's region."""
        return self["region"]

    @property
    def experiment(self) -> Experiment:
        """The applied experiment; raises UsageError if this version doesn't have it."""
        name = self["experiment"]
        if name not in EXPERIMENTS:
            raise UsageError(
                f"the applied stack is of the experiment {name!r}; this version has "
                f"{', '.join(EXPERIMENTS)}"
            )
        return EXPERIMENTS[name]

    @cached_property
    def session(self) -> boto3.Session:
        """The boto3 session, with the emulator's key or the default credential chain. Raises
        UsageError for a missing profile."""
        if self.kind == "local":
            # AWS_PROFILE may name a missing profile, and ~/.aws/config may be damaged: only an
            # account needs them.
            nowhere = dict.fromkeys(
                ("config_file", "credentials_file"), (None, None, os.devnull, None)
            )
            unconfigured = botocore.session.Session(
                {"profile": (None, None, None, None), **nowhere}
            )
            return boto3.Session(**self.key, region_name=self.region, botocore_session=unconfigured)
        try:
            return boto3.Session(region_name=self.region)
        except ProfileNotFound as error:
            raise UsageError(
                f"AWS_PROFILE: {one_line(error)}", "`aws configure list-profiles` lists yours"
            ) from None
        except ConfigParseError as error:
            raise endpoints.damaged(error) from None

    @cached_property
    def _clients(self) -> dict[str, Any]:
        """Making a client takes 0.1 s of CPU time, which local functions would lack."""
        return {}

    def client(self, service: str, **config: Any) -> Any:
        """A boto3 client of the target, the same one each time; a new one with `config`, the
        arguments of botocore's Config. Raises UsageError without credentials."""
        if config:
            return self._new_client(service, config)
        if service not in self._clients:
            self._clients[service] = self._new_client(service, {})
        return self._clients[service]

    def account_limits(self) -> dict[str, Any]:
        """Lambda's limits for the account and the opt-in quota of a function's network, which any
        comparison of figures needs; None or "unknown" if AWS doesn't say, "default" if the quota
        isn't listed."""
        limits: dict[str, Any] = {}
        with suppress(BotoCoreError, ClientError):
            limits = self.client("lambda").get_account_settings()["AccountLimit"]
        quota = "unknown"
        with suppress(BotoCoreError, ClientError, KeyError):
            listing = self.client("service-quotas").get_paginator("list_service_quotas")
            pages = listing.paginate(ServiceCode="lambda")
            rows = {row["QuotaName"]: row for page in pages for row in page["Quotas"]}
            row = rows.get("Network bandwidth per execution environment")
            quota = f"{row['Value']:g} {row.get('Unit', '')}".strip() if row else "default"
        return {
            "concurrent_executions": limits.get("ConcurrentExecutions"),
            "unreserved_concurrent_executions": limits.get("UnreservedConcurrentExecutions"),
            "network_quota": quota,
        }

    def _new_client(self, service: str, config: Mapping[str, Any]) -> Any:
        # for other kinds botocore resolves it, service by service
        own = self.endpoint_url if self.kind == "local" else None
        session = self.session
        try:
            credentials = session.get_credentials()
        except (PartialCredentialsError, CredentialRetrievalError) as error:
            raise UsageError(one_line(error), HOW_TO_SIGN_IN) from None
        if credentials is None:
            raise UsageError("no AWS credentials found", HOW_TO_SIGN_IN)
        settings = {
            "retries": dict(RETRIES),  # botocore changes it
            "connect_timeout": 5,
            "read_timeout": 60,
        }
        try:
            return session.client(service, endpoint_url=own, config=Config(**(settings | config)))
        except (BotoCoreError, ValueError) as error:
            raise UsageError(f"region {self.region!r}: {one_line(error)}") from None


HOW_TO_SIGN_IN = (
    "set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws sso login`, "
    "or try it without an account: `make run`"
)


def resolve(option: str | None) -> Target:
    """Find the applied stack of --target `option`, or the only one, and report it. Raises
    UsageError if there are two."""
    target = _applied(option)
    refuse_elsewhere(target.place, target.outputs)
    # a stack may have hosts and no function
    worker = target.outputs.get("function_name") or target["queue_name"]
    where = {"local": f"local at {target.endpoint_url}", "aws": "aws"}.get(target.kind) or words(
        target.place
    )
    say(f"stack: {where}, {worker} in {target.region}", style="dim")
    return target


def local(outputs: dict[str, Any], access: Access) -> Target:
    """The embedded AWS's stack."""
    return Target("local", outputs, access.endpoint_url, key=access.key)


def configured(outputs: dict[str, Any]) -> Target:
    """The stack of `--target aws`, at AWS or at the endpoint of this shell's configuration. Raises
    UsageError."""
    endpoint = endpoints.configured()
    if endpoint is None:
        return Target("aws", outputs)
    return Target("endpoint", outputs, endpoint.url, endpoint.services)


def place(option: str) -> dict[str, Any]:
    """The place of `--target option`, as in run.json: `target`, for an endpoint also
    `endpoint_url`, and `endpoint_services` if it replaces only some. Raises UsageError."""
    return {"target": "local"} if option == "local" else configured({}).place


def is_gone(target: Target) -> bool:
    """Whether the embedded AWS of `target` has ended, so that nothing will answer."""
    return target.kind == "local" and ministack.running(stack.STATE_DIR) is None


def refuse_full_disk(target: Target) -> None:
    """Raise OSError if the functions of the embedded AWS have no disk space: they would leave no
    records, and their messages would come back after each visibility timeout."""
    if target.kind == "local":
        full_disk.refuse(stack.STATE_DIR)


@contextmanager
def explained(doing: str, target: Target) -> Iterator[None]:
    """Turn boto3's errors into RunError: one line with the way out."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise explain(error, doing, target) from None


def explain(error: BotoCoreError | ClientError, doing: str, target: Target) -> RunError:
    """The RunError for boto3's error while `doing`: one line with the way out."""
    url = _url_asked(error) if target.services else target.endpoint_url
    where = f"in {target.region}" + (f" at {url}" if url else "")
    code, kind = code_of(error), kind_of(error)
    if isinstance(error, NoCredentialsError | PartialCredentialsError | CredentialRetrievalError):
        return RunError(f"{doing}: no AWS credentials found", HOW_TO_SIGN_IN)
    if kind is Kind.CREDENTIALS:
        who = "the endpoint" if target.kind == "endpoint" else "AWS"
        return RunError(
            f"{doing}: {who} doesn't accept these credentials ({code})",
            "renew them, e.g. `aws sso login`",
        )
    if isinstance(
        error,
        EndpointConnectionError | ConnectTimeoutError | ConnectionClosedError | ReadTimeoutError,
    ):
        gone = {
            "local": "is the embedded AWS running (`stampede emulator status`)?",
            "aws": "check the network, and whether this is the region that you meant",
            "endpoint": "is it running, and is AWS_ENDPOINT_URL right?",
        }[target.kind]
        return RunError(f"{doing}: no answer {where}", gone)
    if kind is Kind.MISSING and "Queue" in code:
        return RunError(f"{doing}: there is no such queue {where}", "apply the stack first")
    return RunError(f"{doing} {where}: {one_line(error)}")


def _url_asked(error: BotoCoreError | ClientError) -> str | None:
    """The URL that didn't answer, if `error` has it."""
    url = error.kwargs.get("endpoint_url") if isinstance(error, BotoCoreError) else None
    return endpoints.shown(url) if url else None


def local_terraform(access: Access, *, follow_parent: bool = False) -> Terraform:
    """Terraform on the local copy of infra/, against the embedded AWS."""
    log_file = stack.STATE_DIR / "terraform.log"
    return Terraform(
        stack.FOLDER / "infra", stack.environment(access), log_file, follow_parent=follow_parent
    )


def aws_terraform() -> Terraform:
    """Terraform in infra/, against whatever this shell's AWS configuration reaches."""
    infra = stack.ROOT / "infra"
    config = prepare_for(infra)
    environment = terraform_environment(config, os.environ)
    return Terraform(
        infra, environment, stack.STATE_DIR / "terraform.log", built_versions() if config else {}
    )


def _applied(kind: str | None) -> Target:
    """The applied stack. Raises UsageError without one, or with two."""
    stacks = []
    if kind in (None, "local"):
        emulator = ministack.running(stack.STATE_DIR)
        is_initialised = (stack.FOLDER / "infra" / ".terraform").exists()
        if emulator and is_initialised and (outputs := local_terraform(emulator.access).outputs()):
            stacks.append(local(outputs, emulator.access))
    if kind in (None, "aws") and (stack.ROOT / "infra" / ".terraform").exists():
        outputs = aws_terraform().outputs()
        if outputs:
            stacks.append(configured(outputs))
    if len(stacks) > 1:
        raise UsageError(
            "--target: a local stack and one in infra/ are both applied",
            "use --target local or --target aws",
        )
    if not stacks:
        raise NoStackError(
            "no applied stack found",
            "deploy one on AWS with `terraform -chdir=infra apply`, or a local "
            "one with `stampede emulator start --apply`",
        )
    return stacks[0]
