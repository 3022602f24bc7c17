"""Where Terraform and its providers come from, and that a build is either whole or not there at all.

`go` and `terraform` are small programs that answer like the real ones; those are built and used in tests/terraform.
"""

import fcntl
import io
import re
import sys
import threading
import urllib.error
from pathlib import Path

import pytest

from stampede.emulator import build_cache, opentofu, provider_build, providers
from stampede.emulator.go_build import ProviderError

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
    module = pathlib.Path(os.environ["GO_MODULES"]) / pathlib.Path(arguments[-1]).name
    print(json.dumps({"Path": arguments[-1], "Dir": str(module)}, indent="\t"))
elif arguments[0] == "build":
    if reason := os.environ.get("GO_FAILS_WITH"):
        print("go: downloading something\n# a/package\n" + reason, file=sys.stderr)
        sys.exit(1)
    output = pathlib.Path(arguments[arguments.index("-o") + 1])
    source = pathlib.Path(arguments[-1], "main.go").read_text()
    output.write_text(source + os.environ.get("GOOS", "") + os.environ.get("GOARCH", ""))
    output.chmod(0o755)
""".replace("%s", sys.executable, 1)
IMPORTED = '\t"github.com/hashicorp/terraform-provider-aws/internal/service/{0}"\n'
LISTED = "\t\t{0}.ServicePackage(ctx),\n"
CLIENT = '\t"github.com/aws/aws-sdk-go-v2/service/{0}"\n'
FACTORY = "func (c *AWSClient) XClient(ctx context.Context) *{0}.Client {{\n\treturn make({0})\n}}\n\n"
REGISTRIES = ("registry.terraform.io", "registry.opentofu.org")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache, no registry, and our `go` and `terraform`; returns its folder."""
    services, clients = [*provider_build.AWS_SERVICES, "workmail"], [*provider_build.AWS_CLIENTS, "workmail"]
    packages = [text.format(name) for text in (IMPORTED, LISTED) for name in services]
    factories = [text.format(name) for text in (CLIENT, FACTORY) for name in clients]
    aws = "modules/terraform-provider-aws"
    files = {
        "bin/terraform": TERRAFORM,
        "bin/go": GO,
        "modules/terraform-provider-archive/main.go": "archive\n",
        f"{aws}/main.go": "aws\n",
        f"{aws}/internal/generated_test.go": "left out",
        f"{aws}/internal/provider/sdkv2/service_packages_gen.go": "".join(packages),
        f"{aws}/internal/conns/awsclient_gen.go": "".join(factories),
        "modules/opentofu/cmd/tofu/main.go": OPENTOFU,
        "modules/opentofu/internal/testdata/x": "left out",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GO_MODULES", str(tmp_path / "modules"))
    monkeypatch.setenv("GO_CALLS", str(tmp_path / "go-calls"))
    for name in ("STAMPEDE_TERRAFORM", "TF_CLI_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    return tmp_path


@pytest.fixture
def bare_machine(machine, monkeypatch):
    """The machine without `terraform`, and with nothing on the PATH but `go`; returns its folder."""
    (machine / "bin/terraform").unlink()
    monkeypatch.setenv("PATH", str(machine / "bin"))
    return machine


def prepared():
    """The config that was prepared, and the lines of progress."""
    lines = []
    return providers.prepare(lines.append), lines


def builds(machine):
    calls = machine / "go-calls"
    return calls.read_text().count("build") if calls.exists() else 0


@pytest.mark.parametrize(("program", "registry"), [(TERRAFORM, REGISTRIES[0]), (OPENTOFU, REGISTRIES[1])])
def test_where_its_registry_answers_nothing_is_built(machine, monkeypatch, program, registry):
    (machine / "bin/terraform").write_text(program)
    hosts = []
    monkeypatch.setattr(providers, "registry_answers", lambda host: hosts.append(host) or True)
    assert prepared()[0] is providers.prepare_for(machine / "infra") is None
    assert set(hosts) == {registry} and builds(machine) == 0


def test_without_a_registry_the_providers_are_built_once_and_filed_for_both_registries(machine, monkeypatch):
    config, lines = prepared()
    mirror = config.parent / "mirror"
    for host in REGISTRIES:
        for name, version in (("aws", "6.34.0"), ("archive", "1.3.0")):
            file = mirror / host / f"hashicorp/{name}/{version}/linux_amd64/terraform-provider-{name}_v{version}"
            assert file.read_text() == f"{name}\nlinuxamd64"
    assert f'path = "{mirror}"' in config.read_text()
    assert config.read_text().count('"registry.terraform.io/hashicorp/aws"') == 2  # mirrored, and not direct
    assert "registry.terraform.io doesn't answer; building the AWS provider" in lines[0]
    assert {path.name for path in config.parent.iterdir()} == {"mirror", "manifest.json", "terraform.rc"}

    monkeypatch.setattr(providers, "registry_answers", lambda host: pytest.fail("asked the registry"))
    assert prepared() == (config, [])
    assert builds(machine) == 2


def test_a_cut_off_binary_is_built_again_and_a_moved_cache_has_its_new_path(machine, monkeypatch):
    config, _ = prepared()
    next(config.parent.rglob("terraform-provider-aws_*")).write_text("cut")
    assert prepared()[0] == config
    assert next(config.parent.rglob("terraform-provider-aws_*")).read_text().startswith("aws")
    (machine / "cache").rename(machine / 'a "${b}" folder')
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(machine / 'a "${b}" folder'))
    assert r"a \"$${b}\" folder/" in prepared()[0].read_text()
    assert builds(machine) == 4


def test_another_machine_or_pin_has_a_mirror_of_its_own(machine, monkeypatch):
    folders = [provider_build.finished_folder(platform) for platform in ("linux_amd64", "linux_arm64")]
    for name in ("go.mod", "go.sum"):
        (machine / name).write_text((provider_build.PINS / name).read_text())
    monkeypatch.setattr(provider_build, "PINS", machine)
    assert provider_build.finished_folder("linux_amd64") == folders[0]
    (machine / "go.sum").write_text((machine / "go.sum").read_text().replace("h1:dJlp2", "h1:other"))
    assert len({*folders, provider_build.finished_folder("linux_amd64")}) == 3


FAULTS = {
    "compiling": (
        "GO_FAILS_WITH",
        "main.go:3:1: no space   left",
        "archive provider 1.3.0 failed: main.go:3:1: no sp",
    ),
    "unpinned": ("GO_ADDS_A_CHECKSUM", "1", r"stampede/emulator/providers/go\.sum doesn't pin every module"),
    "no go": ("PATH", "", r"needs `go`; install Go >= 1\.25"),
    "wrong program": ("STAMPEDE_TERRAFORM", "terrafrom", "STAMPEDE_TERRAFORM=terrafrom is not a program"),
    "odd program": ("STAMPEDE_TERRAFORM", "go", "doesn't print what Terraform prints"),
    "unwritable": ("STAMPEDE_CACHE_DIR", "/dev/null/cache", r"cache can't be written .*; set STAMPEDE_CACHE_DIR"),
}


@pytest.mark.parametrize(("variable", "value", "reason"), FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_built_says_why_in_one_line_and_leaves_nothing(machine, monkeypatch, variable, value, reason):
    if variable == "PATH":
        (machine / "bin/go").unlink()
    else:
        monkeypatch.setenv(variable, value)
    with pytest.raises(ProviderError, match=reason) as caught:
        prepared()
    assert "\n" not in str(caught.value)
    assert {path.name for path in (machine / "cache").glob("*")} <= {"build.lock"}


def test_an_interrupted_or_killed_build_leaves_nothing_and_the_next_one_works(machine):
    def interrupt(line):
        if "compiling the aws" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        providers.prepare(interrupt)
    assert [path.name for path in (machine / "cache").iterdir()] == ["build.lock"]
    leftover = machine / "cache/building-killed"
    leftover.mkdir()
    assert prepared()[0].is_file() and not leftover.exists()


def test_of_two_builds_at_once_the_second_waits_and_uses_the_first_ones_mirror(machine):
    (machine / "cache").mkdir()
    lines, results, waiting = [], [], threading.Event()

    def listen(line):
        lines.append(line)
        waiting.set()

    with (machine / "cache/build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first build
        second = threading.Thread(target=lambda: results.append(providers.prepare(listen)))
        second.start()
        assert waiting.wait(60)
        second.join(0.5)
        assert lines == [f"another process is building in {machine / 'cache'}; waiting for it"]
        finished = providers.finished_folder("linux_amd64")
        finished.mkdir()
        (finished / "x").write_text("built")
        (finished / "manifest.json").write_text('{"sizes_bytes": {"x": 5}}')
    second.join(60)
    assert results == [finished / "terraform.rc"] and builds(machine) == 0


@pytest.mark.parametrize(
    ("pins", "programs"), [(provider_build.PINS, provider_build.PROVIDERS), (opentofu.PINS, (opentofu.PROGRAM,))]
)
def test_go_sum_pins_what_go_mod_names(pins, programs):
    text = (pins / "go.mod").read_text()
    required = dict(re.findall(r"^(?:\t|require )(\S+) (v\S+)$", text, re.MULTILINE))
    replaced = dict(re.findall(r"^replace (\S+) => (\S+ v\S+)$", text, re.MULTILINE))
    modules = {replaced.get(path, f"{path} {version}") for path, version in required.items()}
    pinned = {" ".join(line.split()[:2]) for line in (pins / "go.sum").read_text().splitlines()}
    assert required.keys() == {program.module for program in programs}
    assert pinned == modules | {f"{module}/go.mod" for module in modules}


def test_only_the_used_services_and_clients_stay_and_a_missing_one_is_named(machine):
    sources = machine / "modules/terraform-provider-aws"
    packages = sources / "internal/provider/sdkv2/service_packages_gen.go"
    provider_build.keep_used_services(sources)
    clients = (sources / "internal/conns/awsclient_gen.go").read_text()
    assert re.findall(r"(\w+)\.ServicePackage\(ctx", packages.read_text()) == list(provider_build.AWS_SERVICES)
    assert re.findall(r"\*(\w+)\.Client", clients) == list(provider_build.AWS_CLIENTS)
    assert "workmail" not in packages.read_text() + clients
    packages.write_text(packages.read_text().replace("athena", "teapot"))
    with pytest.raises(ProviderError, match=r"service_packages_gen\.go .* doesn't list athena"):
        provider_build.keep_used_services(sources)


def test_a_folder_of_the_users_gets_the_mirror_as_development_overrides(machine):
    config = providers.prepare_for(machine / "infra", lambda line: None)
    places = dict(re.findall(r'^"(\S+)" = "(\S+)"$', config.read_text(), re.MULTILINE))
    assert set(places) == {f"{host}/hashicorp/{name}" for host in REGISTRIES for name in ("aws", "archive")}
    for address, place in places.items():
        assert len(list(Path(place).glob(f"terraform-provider-{address.rpartition('/')[2]}_v*"))) == 1
    assert "dev_overrides {" in config.read_text() and "mirror {" not in config.read_text()
    assert providers.built_versions() == {"hashicorp/aws": "6.34.0", "hashicorp/archive": "1.3.0"}


def test_for_a_folder_of_the_users_what_they_have_comes_before_a_mirror_built_earlier(machine, monkeypatch):
    infra = machine / "infra"
    prepared()
    monkeypatch.setattr(providers, "registry_answers", lambda host: True)
    assert providers.prepare_for(infra) is None
    monkeypatch.setattr(providers, "registry_answers", lambda host: pytest.fail("asked the registry"))
    (infra / ".terraform/providers").mkdir(parents=True)
    assert providers.prepare_for(infra) is None


def test_a_cli_config_with_a_provider_mirror_of_the_user_is_left_in_charge(machine, monkeypatch):
    (machine / "own.rc").write_text('provider_installation {\n  network_mirror { url = "https://mirror/" }\n}\n')
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(machine / "own.rc"))
    assert prepared()[0] is providers.prepare_for(machine / "infra") is None
    assert builds(machine) == 0


def test_the_cache_folder_follows_its_two_environment_variables(monkeypatch):
    monkeypatch.delenv("STAMPEDE_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value, folder in (
        ("HOME", "/home/someone", "/home/someone/.cache/stampede"),
        ("XDG_CACHE_HOME", "/var/caches", "/var/caches/stampede"),
        ("STAMPEDE_CACHE_DIR", "/big/disk", "/big/disk"),
    ):
        monkeypatch.setenv(name, value)
        assert build_cache.cache_folder() == Path(folder)


def test_terraforms_environment_names_a_config_that_is_there(tmp_path):
    (tmp_path / "there.rc").write_text("")
    there, missing = ({"TF_CLI_CONFIG_FILE": str(tmp_path / name), "A": "b"} for name in ("there.rc", "missing.rc"))
    environment = providers.terraform_environment(tmp_path / "terraform.rc", missing)
    assert environment.items() >= {"TF_CLI_CONFIG_FILE": str(tmp_path / "terraform.rc"), "A": "b"}.items()
    assert "TF_CLI_CONFIG_FILE" not in providers.terraform_environment(None, missing)
    assert providers.terraform_environment(None, there).items() >= there.items()


ANSWERS = [b'{"providers.v1": "/v1/"}', b"<html>please log in</html>", b"{}"]
ANSWERS += [urllib.error.URLError("no route"), TimeoutError(), ConnectionResetError()]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_only_a_service_list_with_providers_counts_as_an_answer(monkeypatch, answer):
    def reply(url, timeout):
        assert (url, timeout) == ("https://registry.example/.well-known/terraform.json", 5.0)
        if isinstance(answer, Exception):
            raise answer
        response = io.BytesIO(answer)
        response.status = 200
        return response

    monkeypatch.setattr("urllib.request.urlopen", reply)
    assert providers.registry_answers("registry.example") is (answer == ANSWERS[0])


def test_the_command_prints_the_configs_path_alone_on_stdout_or_one_line_and_status_1(machine, capsys, monkeypatch):
    monkeypatch.setattr(providers.python_runtime, "make_once", lambda progress: None)
    assert providers.main() == 0
    printed = capsys.readouterr()
    assert Path(printed.out.strip()).name == "terraform.rc" and "building the AWS provider" in printed.err
    monkeypatch.setenv("STAMPEDE_TERRAFORM", "terrafrom")
    assert providers.main() == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1) and printed.err.startswith("error: ")


def test_without_terraform_opentofu_is_built_first_and_once_for_this_machine(bare_machine, monkeypatch):
    with pytest.raises(ProviderError, match=r"; install Terraform >= 1\.9, .* or let `make setup` build OpenTofu$"):
        providers.terraform_binary()
    assert builds(bare_machine) == 0
    monkeypatch.setenv("GOOS", "plan9")
    _, lines = prepared()
    assert "neither `terraform` nor `tofu` is on the PATH; building OpenTofu 1.10.7" in lines[0]
    assert any("registry.opentofu.org doesn't answer" in line for line in lines)
    binary = Path(providers.terraform_binary())
    assert binary.read_text() == OPENTOFU  # and nothing of plan9
    assert {path.name for path in binary.parent.iterdir()} == {"tofu", "manifest.json"}
    assert prepared()[1] == []

    binary.write_text("cut")
    assert providers.found_terraform() is None
    prepared()
    assert providers.terraform_binary() == str(binary)
    monkeypatch.setattr(opentofu.platform, "machine", lambda: "riscv64")
    assert providers.found_terraform() is None


def test_a_program_in_the_environment_or_on_the_path_comes_before_the_opentofu_built_here(bare_machine, monkeypatch):
    prepared()
    for name in ("tofu", "terraform"):
        (bare_machine / "bin" / name).write_text(OPENTOFU)
        (bare_machine / "bin" / name).chmod(0o755)
        assert providers.terraform_binary() == str(bare_machine / "bin" / name)
    monkeypatch.setenv("STAMPEDE_TERRAFORM", str(bare_machine / "bin/go"))
    assert providers.terraform_binary() == str(bare_machine / "bin/go")
