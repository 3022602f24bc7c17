"""Terraform's AWS provider as one process for many commands.

A `terraform apply` starts it four times, which takes half of its CPU time.
"""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def running_provider(
    infra: Path, environment: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """Run the AWS provider of an initialised `infra`; yields settings that lead Terraform to it.

    The provider uses the account of `environment`, by default this process's, and not Terraform's.
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
