"""Builds the Terraform providers from the Go module proxy where the registry doesn't answer.

`providers/go.mod` and `providers/go.sum` pin the modules and their checksums. The whole AWS
provider has some 260 service packages and takes 20 minutes and 8.6 GB of memory to compile on two
cores. Two generated lists pull them in; with only the services that the stack uses left there, the
build takes about three minutes.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from stampede.emulator import build_cache, go_build
from stampede.emulator.go_build import Program

PINS = Path(__file__).parent / "providers"
AWS_MODULE = "github.com/hashicorp/terraform-provider-aws"
# Folders of internal/service to keep.
AWS_SERVICES = (
    "athena",
    "cloudformation",
    "ec2",
    "efs",
    "glue",
    "iam",
    "kms",
    "lambda",
    "logs",
    "meta",
    "organizations",
    "s3",
    "s3control",
    "sqs",
    "sts",
)
# SDK clients of those services: meta has none, logs is called cloudwatchlogs, and organizations
# also needs account.
AWS_CLIENTS = tuple(sorted(set(AWS_SERVICES) - {"meta", "logs"} | {"account", "cloudwatchlogs"}))


def keep_used_services(sources: Path) -> None:
    """Drop all other service packages and SDK clients from the AWS provider's generated lists."""
    packages = sources / "internal/provider/sdkv2/service_packages_gen.go"
    keep(packages, r'\t"[^"]+/internal/service/(\w+)"\n', AWS_SERVICES)
    keep(packages, r"\t\t(\w+)\.ServicePackage\(ctx\),\n", AWS_SERVICES)
    factories = sources / "internal/conns/awsclient_gen.go"
    keep(factories, r'\t"github\.com/aws/aws-sdk-go-v2/service/(\w+)"\n', AWS_CLIENTS)
    keep(
        factories,
        r"func \(c \*AWSClient\) \w+\(ctx [^)]*\) \*(\w+)\.Client \{\n.*?\n\}\n\n?",
        AWS_CLIENTS,
    )


def keep(file: Path, pattern: str, wanted: Iterable[str]) -> None:
    """Remove from a file the matches of `pattern` whose first group isn't wanted."""
    kept = re.compile(pattern, re.DOTALL).sub(
        lambda match: match[0] if match[1] in wanted else "", file.read_text()
    )
    file.write_text(kept)


PROVIDERS = (
    Program(
        name="archive",
        title="the archive provider",
        module="github.com/terraform-providers/terraform-provider-archive",
        version="1.3.0",
        linker_flags="-s -w",
    ),
    Program(
        name="aws",
        title="the aws provider",
        module=AWS_MODULE,
        version="6.34.0",
        linker_flags=f"-s -w -X {AWS_MODULE}/version.ProviderVersion=6.34.0",
        # Halves the build and leaves the provider as fast.
        unoptimised=(
            "github.com/aws/aws-sdk-go-v2/service/...",
            f"{AWS_MODULE}/internal/service/...",
        ),
        trim=keep_used_services,
    ),
)


def finished_folder(platform: str) -> Path:
    """Return the mirror's folder for a platform such as linux_amd64, whether or not it exists yet.

    Its name depends on all that the providers are built from, except the version of Go.
    """
    pins = [(PINS / name).read_text() for name in ("go.mod", "go.sum")]
    versions = [provider.version for provider in PROVIDERS]
    return build_cache.folder_for(
        "providers", *pins, *versions, *AWS_SERVICES, "/", *AWS_CLIENTS, platform, "layout 1"
    )


def place(mirror: Path, host: str, provider: Program, platform: str) -> Path:
    """The folder of a registry's provider in a filesystem mirror."""
    return mirror / host / "hashicorp" / provider.name / provider.version / platform


def build(target: Path, platform: str, hosts: Iterable[str]) -> None:
    """Compile the providers into a filesystem mirror below `target`, an empty folder.

    `platform` is Terraform's name for the machine (`linux_amd64`); `hosts` are the registries that
    the mirror stands for. Raises ProviderError when Go is missing, the module proxy can't be
    reached, a checksum is wrong or a build fails.
    """
    system, architecture = platform.split("_", 1)
    for provider in PROVIDERS:
        binary = target / f"terraform-provider-{provider.name}_v{provider.version}"
        go_build.build(provider, PINS, binary, GOOS=system, GOARCH=architecture)
        for host in hosts:
            folder = place(target / "mirror", host, provider, platform)
            folder.mkdir(parents=True)
            os.link(binary, folder / binary.name)
        binary.unlink()
