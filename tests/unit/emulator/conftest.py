"""A machine for tests of what is built here: `go` and `terraform` are small programs that answer like the real ones."""

import sys
from pathlib import Path

import pytest

from stampede.emulator import provider_build, providers

TERRAFORM = '#!/bin/sh\necho "Terraform v1.11.4"\necho "on linux_amd64"\n'
OPENTOFU = TERRAFORM.replace("Terraform v1.11.4", "OpenTofu v1.10.7")

GO = r"""#!%s
import json, os, pathlib, sys
arguments = sys.argv[1:]
pathlib.Path(os.environ["GO_CALLS"]).open("a").write(" ".join([*arguments[:2], arguments[-1]]) + "\n")
if arguments[0] == "env":
    print("go1.26.0")
elif arguments[:2] == ["mod", "download"]:
    if os.environ.get("GO_ADDS_A_CHECKSUM"):
        pathlib.Path("go.sum").open("a").write("example.com/other v1.0.0 h1:x=\n")
    for path in arguments[3:]:
        path = path.replace("hashicorp/terraform-provider-aws", "upbound/terraform-provider-aws")
        folder = pathlib.Path(os.environ["GO_MODULES"]) / pathlib.Path(path).name
        print(json.dumps({"Path": path, "Dir": str(folder)}, indent="\t"))
elif arguments[0] == "build":
    if reason := os.environ.get("GO_FAILS_WITH"):
        print("go: downloading something\n# a/package\n" + reason, file=sys.stderr)
        sys.exit(1)
    output = pathlib.Path(arguments[arguments.index("-o") + 1])
    source = pathlib.Path(arguments[-1], "main.go").read_text()
    output.write_text(source + os.environ.get("GOOS", "") + os.environ.get("GOARCH", ""))
    output.chmod(0o755)
""".replace("%s", sys.executable, 1)

PACKAGES = """import (
\t"github.com/hashicorp/terraform-provider-aws/internal/conns"
%s)

func servicePackages(ctx context.Context) []conns.ServicePackage {
\tv := []conns.ServicePackage{
%s\t}
}
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache, no registry, and our `go` and `terraform`; returns its folder."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("terraform", TERRAFORM), ("go", GO)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    _lay_out_modules(tmp_path / "modules")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GO_MODULES", str(tmp_path / "modules"))
    monkeypatch.setenv("GO_CALLS", str(tmp_path / "go-calls"))
    for name in ("STAMPEDE_TERRAFORM", "TF_CLI_CONFIG_FILE", "GONOSUMDB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    return tmp_path


def _lay_out_modules(folder: Path) -> None:
    archive = folder / "terraform-provider-archive"
    aws = folder / "terraform-provider-aws"
    for module in (archive, aws):
        module.mkdir(parents=True)
        for name in ("main.go", "go.mod", "go.sum"):
            (module / name).write_text(f"{module.name}\n")
    (archive / "archive").mkdir()
    opentofu = folder / "opentofu"
    for name, text in (("cmd/tofu/main.go", OPENTOFU), ("go.mod", ""), ("go.sum", ""), ("internal/testdata/x", "out")):
        (opentofu / name).parent.mkdir(parents=True, exist_ok=True)
        (opentofu / name).write_text(text)
    services = [*provider_build.AWS_SERVICES, "workmail"]
    clients = [*provider_build.AWS_CLIENTS, "workmail"]
    generated = aws / "internal/provider/sdkv2/service_packages_gen.go"
    generated.parent.mkdir(parents=True)
    imports = "".join(f'\t"github.com/hashicorp/terraform-provider-aws/internal/service/{name}"\n' for name in services)
    generated.write_text(PACKAGES % (imports, "".join(f"\t\t{name}.ServicePackage(ctx),\n" for name in services)))
    factories = aws / "internal/conns/awsclient_gen.go"
    factories.parent.mkdir(parents=True)
    factories.write_text(
        "".join(f'\t"github.com/aws/aws-sdk-go-v2/service/{name}"\n' for name in clients)
        + "".join(
            f"func (c *AWSClient) {name.title()}Client(ctx context.Context) *{name}.Client {{\n"
            f"\treturn make({name})\n}}\n\n"
            for name in clients
        )
    )
    (aws / "internal/generated_test.go").write_text("left out")
    for name in ("names", "version"):
        (aws / name).mkdir()


@pytest.fixture
def bare_machine(machine, monkeypatch):
    """The machine without `terraform`, and with nothing on the PATH but `go`; returns its folder."""
    (machine / "bin/terraform").unlink()
    monkeypatch.setenv("PATH", str(machine / "bin"))
    return machine
