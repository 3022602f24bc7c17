"""Builds the Terraform providers from the Go module proxy, for places where the registry doesn't answer.

The modules and their checksums are pinned in `providers/go.mod` and `providers/go.sum`. The AWS provider holds
some 260 service packages: as a whole it takes 20 minutes and 8.6 GB of memory to compile on two cores. What the
stack uses is kept, the rest is left out of the two generated lists that pull it in, and the build takes about
three minutes.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from stampede.emulator import go_build
from stampede.emulator.go_build import Program, Progress, ProviderError

PINS = Path(__file__).parent / "providers"
AWS_MODULE = "github.com/hashicorp/terraform-provider-aws"
AWS_FORK = "github.com/upbound/terraform-provider-aws"

# Folders of internal/service to keep: what the download experiment uses and the later ones (EFS, copy, Express)
# will use.
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
# Packages of the AWS SDK whose clients those services ask for: meta has none, logs is called cloudwatchlogs
# there, and organizations needs account too.
AWS_CLIENTS = tuple(
    sorted(set(AWS_SERVICES) - {"meta", "logs"} | {"account", "cloudwatchlogs"}),
)


PROVIDERS = (
    Program(
        name="archive",
        title="the archive provider",
        module="github.com/terraform-providers/terraform-provider-archive",
        version="1.3.0",
        folders=("archive",),
        linker_flags="-s -w",
    ),
    Program(
        name="aws",
        title="the aws provider",
        module=AWS_MODULE,
        version="6.34.0",
        folders=("internal", "names", "version"),
        linker_flags=f"-s -w -X {AWS_MODULE}/version.ProviderVersion=6.34.0",
        # Halves the build and leaves the provider as fast.
        unoptimised=("github.com/aws/aws-sdk-go-v2/service/...", f"{AWS_MODULE}/internal/service/..."),
        fork=AWS_FORK,
    ),
)


def fingerprint(platform: str) -> str:
    """Return 12 hex digits that change with anything the built providers depend on, the Go version aside."""
    parts = [(PINS / name).read_text() for name in ("go.mod", "go.sum")]
    parts += [provider.version for provider in PROVIDERS]
    parts += [*AWS_SERVICES, "/", *AWS_CLIENTS, platform, "layout 1"]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def build(target: Path, platform: str, hosts: Iterable[str], progress: Progress) -> dict:
    """Compile the providers into a filesystem mirror below `target`, an empty folder; return what was built.

    `platform` is Terraform's name of the machine (`linux_amd64`), `hosts` the registries to file them under.
    Raises ProviderError when Go is missing, the module proxy can't be reached, a checksum is wrong or a build
    fails.
    """
    go = go_build.find_go(
        "the provider registry doesn't answer, and building the providers needs `go`",
        "set TF_CLI_CONFIG_FILE to a Terraform CLI config with a provider mirror",
    )
    sources = target / "sources"
    modules = go_build.download(go, PINS, sources / "pins", PROVIDERS, progress)
    sizes = {}
    for provider in PROVIDERS:
        copy = sources / provider.name
        go_build.copy_sources(modules[provider.module], copy, provider)
        if provider.module == AWS_MODULE:
            keep_services(copy, AWS_SERVICES, AWS_CLIENTS)
        binary = sources / f"terraform-provider-{provider.name}_v{provider.version}"
        go_build.compile_program(go, provider, copy, binary, platform, progress)
        for host in hosts:
            place = target / "mirror" / host / "hashicorp" / provider.name / provider.version / platform
            place.mkdir(parents=True)
            os.link(binary, place / binary.name)
            sizes[str((place / binary.name).relative_to(target))] = binary.stat().st_size
    shutil.rmtree(sources)
    return {
        **{provider.name: provider.version for provider in PROVIDERS},
        "aws_services": list(AWS_SERVICES),
        "platform": platform,
        "go": go_build.go_version(go),
        "sizes_bytes": sizes,
    }


def keep_services(copy: Path, services: Iterable[str], clients: Iterable[str]) -> None:
    """Drop every other service package and SDK client from the two generated lists of an AWS provider tree.

    Raises ProviderError when a named one isn't listed: the files then have another shape than the pinned version.
    """
    packages = copy / "internal/provider/sdkv2/service_packages_gen.go"
    text = packages.read_text()
    text = _keep(text, r'\t"[^"]+/internal/service/(\w+)"\n', services, packages)
    text = _keep(text, r"\t\t(\w+)\.ServicePackage\(ctx\),\n", services, packages)
    packages.write_text(text)

    factories = copy / "internal/conns/awsclient_gen.go"
    text = factories.read_text()
    text = _keep(text, r'\t"github\.com/aws/aws-sdk-go-v2/service/(\w+)"\n', clients, factories)
    one_client = r"func \(c \*AWSClient\) \w+\(ctx [^)]*\) \*(\w+)\.Client \{\n.*?\n\}\n\n?"
    text = _keep(text, one_client, clients, factories)
    factories.write_text(text)


def _keep(text: str, pattern: str, wanted: Iterable[str], file: Path) -> str:
    """Remove the matches of `pattern` whose first group isn't wanted."""
    wanted = set(wanted)
    names = set()

    def decide(match: re.Match) -> str:
        names.add(match[1])
        return match[0] if match[1] in wanted else ""

    kept = re.sub(pattern, decide, text, flags=re.DOTALL)
    if missing := sorted(wanted - names):
        raise ProviderError(
            f"{file.name} of the AWS provider doesn't list {', '.join(missing)}",
            "check whether its version has changed",
        )
    return kept
