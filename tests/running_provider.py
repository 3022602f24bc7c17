"""Terraform's AWS provider as one process for many commands.

A `terraform apply` starts it four times, and half of its processor time goes into that.
"""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def running_provider(
    infra: Path, environment: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """The AWS provider of an initialised `infra` as a process that Terraform finds running, by
    these settings.

    It has the account of `environment`, else of this process: Terraform's own account doesn't reach
    it.
    """
    providers = infra / ".terraform/providers"
    [program] = providers.glob("*/hashicorp/aws/*/*/terraform-provider-aws*")
    # it says Terraform's, and OpenTofu knows its own
    registry = program.relative_to(providers).parts[0]
    command = [program.resolve(), "-debug"]
    with subprocess.Popen(
        command,
        cwd=infra,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            printed = next(line for line in process.stdout if "TF_REATTACH_PROVIDERS=" in line)
            settings = printed.partition("=")[2].strip().strip("'")
            yield {"TF_REATTACH_PROVIDERS": settings.replace("registry.terraform.io", registry)}
        finally:
            process.terminate()
