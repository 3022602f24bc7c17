"""Builds the Terraform providers from the Go module proxy, for places where the registry doesn't answer.

The modules and their checksums are pinned in `providers/go.mod` and `providers/go.sum`. The AWS provider holds
some 260 service packages: as a whole it takes 20 minutes and 8.6 GB of memory to compile on two cores. What the
stack uses is kept, the rest is left out of the two generated lists that pull it in, and the build takes about
three minutes.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

Progress = Callable[[str], None]

PINS = Path(__file__).parent / "providers"
AWS_MODULE = "github.com/hashicorp/terraform-provider-aws"
# The fork that go.mod puts in its place. It isn't in Go's public checksum database; go.sum pins it instead.
AWS_FORK = "github.com/upbound/terraform-provider-aws"

# Folders of internal/service to keep: what the download experiment uses and the later ones (EFS, copy, Express)
# will use.
AWS_SERVICES = (
    "athena",
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

# Debug data is stripped anyway. The generated API code, most of all lines and no place where time is spent, is
# compiled without optimising: that halves the build and leaves the provider as fast.
COMPILER_FLAGS = (
    "-gcflags=all=-dwarf=false",
    "-gcflags=github.com/aws/aws-sdk-go-v2/service/...=-N -l -dwarf=false",
    f"-gcflags={AWS_MODULE}/internal/service/...=-N -l -dwarf=false",
)

REPORT_EVERY_S = 15.0
GIB = 2**30


class ProviderError(RuntimeError):
    """The Terraform providers can't be made ready; the message is one line that says why and what to do."""


@dataclass(frozen=True)
class Provider:
    """A provider to build: its Go module, its version, and the folders of the module that the compiler reads."""

    name: str
    module: str
    version: str
    folders: tuple[str, ...]
    linker_flags: str


PROVIDERS = (
    Provider("archive", "github.com/terraform-providers/terraform-provider-archive", "1.3.0", ("archive",), "-s -w"),
    Provider(
        "aws",
        AWS_MODULE,
        "6.34.0",
        ("internal", "names", "version"),
        f"-s -w -X {AWS_MODULE}/version.ProviderVersion=6.34.0",
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
    go = _find_go()
    sources = target / "sources"
    modules = _download(go, sources / "pins", progress)
    sizes = {}
    for provider in PROVIDERS:
        copy = sources / provider.name
        _copy_sources(modules[provider.module], copy, provider.folders)
        if provider.module == AWS_MODULE:
            keep_services(copy, AWS_SERVICES, AWS_CLIENTS)
        binary = sources / f"terraform-provider-{provider.name}_v{provider.version}"
        _compile(go, provider, copy, binary, platform, progress)
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
        "go": _go_version(go),
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
    found = set()

    def decide(match: re.Match) -> str:
        found.add(match[1])
        return match[0] if match[1] in wanted else ""

    kept = re.sub(pattern, decide, text, flags=re.DOTALL)
    if missing := sorted(wanted - found):
        raise ProviderError(
            f"{file.name} of the AWS provider doesn't list {', '.join(missing)}; was its version changed?"
        )
    return kept


def _find_go() -> str:
    go = shutil.which("go")
    if not go:
        raise ProviderError(
            "the provider registry doesn't answer, and to build the providers `go` must be on the PATH; install "
            "Go >= 1.25, or name a Terraform CLI config with a provider mirror of yours in TF_CLI_CONFIG_FILE"
        )
    return go


def _go_version(go: str) -> str:
    return subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout.strip()


def _go_environment(platform: str | None = None) -> dict[str, str]:
    environment = dict(os.environ)
    unlisted = [part for part in (environment.get("GONOSUMDB", ""), AWS_FORK) if part]
    environment |= {"GONOSUMDB": ",".join(unlisted), "GOWORK": "off", "GOFLAGS": "-buildvcs=false"}
    if platform:
        system, processor = platform.split("_", 1)
        environment |= {"GOOS": system, "GOARCH": processor, "CGO_ENABLED": "0"}
    return environment


def _download(go: str, pins: Path, progress: Progress) -> dict[str, Path]:
    """Fetch the modules, checked against our go.sum, and return the folder of each."""
    pins.mkdir(parents=True)
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(PINS / name, pins / name)
    command = [go, "mod", "download", "-json", *(provider.module for provider in PROVIDERS)]
    output = _run(command, pins, _go_environment(), "downloading the providers' sources", progress)
    # Go adds a missing checksum to go.sum instead of refusing the module, so an incomplete go.sum must not pass.
    if (pins / "go.sum").read_text() != (PINS / "go.sum").read_text():
        raise ProviderError("emulator/providers/go.sum doesn't pin every module of go.mod beside it; complete it")
    folders, decoder, rest = {}, json.JSONDecoder(), output.strip()
    while rest:
        entry, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        # A replaced module goes by the path of its replacement.
        folders[AWS_MODULE if entry["Path"] == AWS_FORK else entry["Path"]] = Path(entry["Dir"])
    return folders


def _copy_sources(module: Path, copy: Path, folders: Iterable[str]) -> None:
    """Copy what the compiler reads: files of Go's module cache are read-only and can't be overlaid."""
    files = [module / name for name in ("main.go", "go.mod", "go.sum")]
    for folder in folders:
        files += [
            file
            for file in (module / folder).rglob("*")
            if file.is_file() and not file.name.endswith("_test.go") and "testdata" not in file.parts
        ]
    for file in files:
        place = copy / file.relative_to(module)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)  # without the read-only mode


def _compile(go: str, provider: Provider, copy: Path, binary: Path, platform: str, progress: Progress) -> None:
    command = [go, "build", "-p", str(_parallel_compilers()), "-trimpath", "-mod=mod", *COMPILER_FLAGS]
    command += ["-ldflags", provider.linker_flags, "-o", str(binary), "."]
    doing = f"compiling the {provider.name} provider {provider.version}"
    _run(command, copy, _go_environment(platform), doing, progress)


def _parallel_compilers() -> int:
    """Return how many packages to compile at once: one a core and 2 GiB of memory (two peak at 3.4 GB)."""
    cores = os.cpu_count() or 1
    try:
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return cores
    return max(1, min(cores, memory_bytes // (2 * GIB)))


def _run(command: list[str], folder: Path, environment: dict[str, str], doing: str, progress: Progress) -> str:
    """Run a Go command with a line of progress every 15 s and return its stdout.

    Raises ProviderError with Go's own reason. Interrupted, it ends the compilers that Go started too.
    """
    began = time.monotonic()
    progress(f"{doing} ...")
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while True:
            try:
                output, errors = process.communicate(timeout=REPORT_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                progress(f"{doing} ... {time.monotonic() - began:.0f} s")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        raise ProviderError(f"{doing} failed: {_reason(errors, output)}")
    progress(f"{doing}: done in {time.monotonic() - began:.0f} s")
    return output


def _reason(errors: str, output: str) -> str:
    """Return the line that says most of what Go printed, at most 300 characters."""
    if match := re.search(r'"Error": (".*")', output):  # of `go mod download -json`
        return " ".join(json.loads(match[1]).split())[:300]
    lines = [line.strip() for line in errors.splitlines() if not line.startswith(("go: downloading", "#"))]
    return next((" ".join(line.split())[:300] for line in lines if line), "no reason given")
