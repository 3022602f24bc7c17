"""Sources of Terraform and its providers, and builds that are complete or absent.

`go` and `terraform` are small fakes here; tests/terraform builds and uses the real ones.
"""

import fcntl
import io
import re
import sys
import threading
from pathlib import Path

import pytest

from stampede.emulator import build_cache, go_build, provider_build, providers
from stampede.emulator.go_build import ProviderError

TERRAFORM = '#!/bin/sh\necho "Terraform v1.11.4"\necho "on linux_amd64"\n'
OPENTOFU = TERRAFORM.replace("Terraform v1.11.4", "OpenTofu v1.10.7")
GO = r"""#!%s
import os, pathlib, sys
arguments = sys.argv[1:]
pathlib.Path(os.environ["GO_CALLS"]).open("a").write(" ".join(arguments) + "\n")
if arguments[0] == "env":
    print("go1.26.0")
elif arguments[0] == "list":
    print(pathlib.Path(os.environ["GO_MODULES"]) / pathlib.Path(arguments[-1]).name)
elif arguments[0] == "build":
    if reason := os.environ.get("GO_FAILS_WITH"):
        print("go: downloading something\n# a/package\n" + reason, file=sys.stderr)
        sys.exit(1)
    output = pathlib.Path(arguments[arguments.index("-o") + 1])
    sources = [file.read_text() for file in sorted(pathlib.Path(arguments[-1]).rglob("*.go"))]
    output.write_text("".join(sources) + os.environ.get("GOOS", "") + os.environ.get("GOARCH", ""))
    output.chmod(0o755)
""".replace("%s", sys.executable, 1)
IMPORTED = '\t"github.com/hashicorp/terraform-provider-aws/internal/service/{0}"\n'
LISTED = "\t\t{0}.ServicePackage(ctx),\n"
CLIENT = '\t"github.com/aws/aws-sdk-go-v2/service/{0}"\n'
FACTORY = (
    "func (c *AWSClient) XClient(ctx context.Context) *{0}.Client {{\n\treturn make({0})\n}}\n\n"
)
REGISTRIES = ("registry.terraform.io", "registry.opentofu.org")
ADDRESSES = {f"{host}/hashicorp/{name}" for name in ("aws", "archive") for host in REGISTRIES}
SERVICES = "internal/provider/sdkv2/service_packages_gen.go"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The folder of a machine with an empty cache, no registry, and fake `go` and `terraform`."""
    services = [*provider_build.AWS_SERVICES, "workmail"]
    clients = [*provider_build.AWS_CLIENTS, "workmail"]
    packages = [text.format(name) for text in (IMPORTED, LISTED) for name in services]
    factories = [text.format(name) for text in (CLIENT, FACTORY) for name in clients]
    files = {
        "bin/terraform": TERRAFORM,
        "bin/go": GO,
        "modules/terraform-provider-archive/main.go": "archive\n",
        "modules/terraform-provider-aws/main.go": "aws\n",
        f"modules/terraform-provider-aws/{SERVICES}": "".join(packages),
        "modules/terraform-provider-aws/internal/conns/awsclient_gen.go": "".join(factories),
        "modules/opentofu/cmd/tofu/main.go": OPENTOFU,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GO_MODULES", str(tmp_path / "modules"))
    monkeypatch.setenv("GO_CALLS", str(tmp_path / "go-calls"))
    for name in ("STAMPEDE_TERRAFORM", "TF_CLI_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    return tmp_path


def builds(machine):
    calls = machine / "go-calls"
    return calls.read_text().count("build ") if calls.exists() else 0


def test_nothing_is_built_if_the_registry_answers_or_the_user_has_a_mirror(machine, monkeypatch):
    (machine / "bin/terraform").write_text(OPENTOFU)
    hosts = []
    monkeypatch.setattr(providers, "registry_answers", lambda host: hosts.append(host) or True)
    assert providers.prepare() is providers.prepare_for(machine / "infra") is None
    assert set(hosts) == {"registry.opentofu.org"}
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    (machine / ".terraformrc").write_text(
        'provider_installation {\n  network_mirror { url = "https://mirror/" }\n}\n'
    )
    assert providers.prepare() is providers.prepare_for(machine / "infra") is None
    assert builds(machine) == 0


def test_without_a_registry_the_providers_are_built_once_for_both_registries(
    machine, monkeypatch, capsys
):
    monkeypatch.setattr(providers.python_runtime, "make_once", lambda: None)
    assert providers.main() == 0
    config = Path(capsys.readouterr().out.strip())
    for address in sorted(ADDRESSES):
        name = address.rpartition("/")[2]
        version = providers.built_versions()[f"hashicorp/{name}"]
        folder = config.parent / "mirror" / address / version / "linux_amd64"
        text = (folder / f"terraform-provider-{name}_v{version}").read_text()
        assert f"{name}\n" in text and text.endswith("linuxamd64")
        assert config.read_text().count(f'"{address}"') == 2  # mirrored, and not direct
    assert f'path = "{config.parent}/mirror"' in config.read_text()
    # The last one, the aws provider, has only the services and clients that a stack uses.
    assert re.findall(r"(\w+)\.ServicePackage\(ctx", text) == list(provider_build.AWS_SERVICES)
    assert re.findall(r"\*(\w+)\.Client", text) == list(provider_build.AWS_CLIENTS)
    assert "workmail" not in text

    overrides = providers.prepare_for(machine / "infra")
    places = dict(re.findall(r'^"(\S+)" = "(\S+)"$', overrides.read_text(), re.MULTILINE))
    assert "dev_overrides {" in overrides.read_text() and set(places) == ADDRESSES
    for place in places.values():
        assert len(list(Path(place).glob("terraform-provider-*"))) == 1

    monkeypatch.setattr(providers, "registry_answers", lambda host: True)
    # the user's own folder: the registry comes first
    assert providers.prepare_for(machine / "infra") is None
    monkeypatch.setattr(
        providers, "registry_answers", lambda host: pytest.fail("asked the registry")
    )
    (machine / "infra/.terraform/providers").mkdir(parents=True)
    assert providers.prepare_for(machine / "infra") is None
    (machine / "cache").rename(machine / "moved")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(machine / "moved"))
    assert str(machine / "moved") in providers.prepare().read_text()
    assert builds(machine) == 2


FAULTS = {
    "compiling": (
        "GO_FAILS_WITH",
        "main.go:3:1: no space   left",
        "archive provider 1.3.0 failed: main.go:3:1: no sp",
    ),
    "no go": ("PATH", "", r"needs `go`; install Go >= 1\.25"),
    "wrong program": (
        "STAMPEDE_TERRAFORM",
        "terrafrom",
        "STAMPEDE_TERRAFORM=terrafrom is not a program",
    ),
    "unwritable": (
        "STAMPEDE_CACHE_DIR",
        "/dev/null/cache",
        r"cache can't be written .*; set STAMPEDE_CACHE_DIR",
    ),
}


@pytest.mark.parametrize(("variable", "value", "reason"), FAULTS.values(), ids=FAULTS)
def test_a_failed_build_gives_its_reason_in_one_line_and_leaves_nothing(
    machine, monkeypatch, capsys, variable, value, reason
):
    if variable == "PATH":
        (machine / "bin/go").unlink()
    else:
        monkeypatch.setenv(variable, value)
    assert providers.main() == 1
    printed = capsys.readouterr()
    assert not printed.out and re.search(f"^error: .*{reason}.*$", printed.err, re.MULTILINE)
    assert {path.name for path in (machine / "cache").glob("*")} <= {"build.lock"}


def test_an_interrupted_or_killed_build_leaves_nothing_and_the_next_one_works(machine, monkeypatch):
    def interrupt(line):
        if "compiling the aws" in line:
            raise KeyboardInterrupt

    leftover = machine / "cache/building-killed"
    leftover.mkdir(parents=True)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(go_build, "say", interrupt)
        providers.prepare()
    assert [path.name for path in (machine / "cache").iterdir()] == ["build.lock"]
    assert providers.prepare().is_file()


def test_of_two_builds_at_once_the_second_waits_and_uses_the_first_ones_mirror(
    machine, monkeypatch
):
    (machine / "cache").mkdir()
    results, waiting = [], threading.Event()
    monkeypatch.setattr(build_cache, "say", lambda line: waiting.set())
    with (machine / "cache/build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first build
        second = threading.Thread(target=lambda: results.append(providers.prepare()))
        second.start()
        assert waiting.wait(60)
        second.join(0.3)
        assert second.is_alive()
        finished = providers.finished_folder("linux_amd64")
        finished.mkdir()
    second.join(60)
    assert results == [finished / "terraform.rc"] and builds(machine) == 0


def test_other_pins_and_machines_have_another_folder(machine, monkeypatch):
    folders = {
        provider_build.finished_folder(platform) for platform in ("linux_amd64", "linux_arm64")
    }
    for name in ("go.mod", "go.sum"):
        (machine / name).write_text(
            (provider_build.PINS / name).read_text().replace("h1:dJlp2", "h1:other")
        )
    monkeypatch.setattr(provider_build, "PINS", machine)
    assert len({*folders, provider_build.finished_folder("linux_amd64")}) == 3


@pytest.mark.parametrize("page", ['{"providers.v1": "/v1/"}', "<html>please log in</html>", ""])
def test_only_a_service_list_with_providers_counts_as_an_answer(monkeypatch, page):
    def reply(url, timeout):
        assert (url, timeout) == ("https://registry.example/.well-known/terraform.json", 5.0)
        if not page:
            raise TimeoutError
        return io.StringIO(page)

    monkeypatch.setattr("urllib.request.urlopen", reply)
    assert providers.registry_answers("registry.example") is ("providers" in page)


def test_without_terraform_opentofu_is_built_once_and_installed_ones_come_first(
    machine, monkeypatch
):
    (machine / "bin/terraform").unlink()
    with pytest.raises(
        ProviderError, match=r"; install Terraform >= 1\.9, .* or let `make setup` build OpenTofu$"
    ):
        providers.terraform_binary()
    monkeypatch.setenv("GOOS", "plan9")
    providers.prepare()
    binary = Path(providers.terraform_binary())
    assert binary.read_text() == OPENTOFU  # and nothing of plan9
    providers.prepare()
    assert builds(machine) == 3
    for name in ("tofu", "terraform"):
        (machine / "bin" / name).write_text(OPENTOFU)
        (machine / "bin" / name).chmod(0o755)
        assert providers.terraform_binary() == str(machine / "bin" / name)
    monkeypatch.setenv("STAMPEDE_TERRAFORM", str(machine / "bin/go"))
    assert providers.terraform_binary() == str(machine / "bin/go")
