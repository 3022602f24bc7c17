"""Builds the Terraform providers from the Go module proxy, for places where the registry doesn't
answer.

The modules and their checksums are pinned in `providers/go.mod` and `providers/go.sum`. The AWS
provider holds some 260 service packages: as a whole it takes 20 minutes and 8.6 GB of memory to
compile on two cores. What the stack uses is kept, the rest is left out of the two generated lists
that pull it in, and the build takes about three minutes.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from stampede.emulator import build_cache, go_build
from stampede.emulator.go_build import Program, Progress

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
# Packages of the AWS SDK whose clients those services ask for: meta has none, logs is called
# cloudwatchlogs there, and organizations needs account too.
AWS_CLIENTS = tuple(
    sorted(set(AWS_SERVICES) - {"meta", "logs"} | {"account", "cloudwatchlogs"}),
)


def keep_used_services(sources: Path) -> None:
    """Drop every other service package and SDK client from the two generated lists of the AWS
    provider."""
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
    """Return the folder of the mirror for a platform such as linux_amd64, whether it has been built
    or not; its name changes with anything the built providers depend on, the Go version aside."""
    pins = [(PINS / name).read_text() for name in ("go.mod", "go.sum")]
    versions = [provider.version for provider in PROVIDERS]
    return build_cache.folder_for(
        "providers", *pins, *versions, *AWS_SERVICES, "/", *AWS_CLIENTS, platform, "layout 1"
    )


def place(mirror: Path, host: str, provider: Program, platform: str) -> Path:
    """Where a filesystem mirror has the provider of a registry."""
    return mirror / host / "hashicorp" / provider.name / provider.version / platform


def build(target: Path, platform: str, hosts: Iterable[str], progress: Progress) -> None:
    """Compile the providers into a filesystem mirror below `target`, an empty folder.

    `platform` is Terraform's name of the machine (`linux_amd64`), `hosts` the registries to file
    them under. Raises ProviderError when Go is missing, the module proxy can't be reached, a
    checksum is wrong or a build fails.
    """
    system, architecture = platform.split("_", 1)
    for provider in PROVIDERS:
        binary = target / f"terraform-provider-{provider.name}_v{provider.version}"
        go_build.build(provider, PINS, binary, progress, GOOS=system, GOARCH=architecture)
        for host in hosts:
            folder = place(target / "mirror", host, provider, platform)
            folder.mkdir(parents=True)
            os.link(binary, folder / binary.name)
        binary.unlink()
