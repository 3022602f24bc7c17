"""The provider mirror: where providers come from, and that a build is either whole or not there at all.

`go` and `terraform` are the small programs of conftest.py; the real providers are built and used in tests/terraform.
"""

import fcntl
import io
import json
import re
import threading
import urllib.error
from pathlib import Path

import pytest

from stampede.emulator import build_cache, provider_build, providers
from stampede.emulator.go_build import ProviderError
from stampede.emulator.provider_build import AWS_FORK, PINS


def _prepare(lines: list[str] | None = None) -> Path | None:
    return providers.prepare((lines if lines is not None else []).append)


def _builds(machine: Path) -> int:
    calls = machine / "go-calls"
    return calls.read_text().count("build") if calls.exists() else 0


def test_where_the_registry_answers_no_mirror_is_made(machine, monkeypatch):
    hosts = []
    monkeypatch.setattr(providers, "registry_answers", lambda host: hosts.append(host) or True)

    assert _prepare() is None
    assert hosts == ["registry.terraform.io"]
    assert _builds(machine) == 0


def test_opentofu_is_asked_for_at_its_own_registry(machine, monkeypatch):
    tofu = machine / "bin/tofu"
    tofu.write_text((machine / "bin/terraform").read_text().replace("Terraform", "OpenTofu"))
    tofu.chmod(0o755)
    monkeypatch.setenv("STAMPEDE_TERRAFORM", "tofu")
    hosts = []
    monkeypatch.setattr(providers, "registry_answers", lambda host: hosts.append(host) or True)

    assert _prepare() is None
    assert hosts == ["registry.opentofu.org"]


def test_without_a_registry_the_providers_are_built_and_filed_for_both_registries(machine):
    lines = []
    config = _prepare(lines)

    mirror = config.parent / "mirror"
    for host in ("registry.terraform.io", "registry.opentofu.org"):
        aws = mirror / host / "hashicorp/aws/6.34.0/linux_amd64/terraform-provider-aws_v6.34.0"
        assert aws.read_text() == "terraform-provider-aws\nlinuxamd64"
        archive = mirror / host / "hashicorp/archive/1.3.0/linux_amd64/terraform-provider-archive_v1.3.0"
        assert archive.read_text() == "terraform-provider-archive\nlinuxamd64"
    assert f'path    = "{mirror}"' in config.read_text()
    assert config.read_text().count('"registry.terraform.io/hashicorp/aws"') == 2  # mirrored, and not direct
    manifest = json.loads((config.parent / "manifest.json").read_text())
    assert (manifest["aws"], manifest["archive"], manifest["go"]) == ("6.34.0", "1.3.0", "go1.26.0")
    assert "registry.terraform.io doesn't answer; building the AWS provider" in lines[0]
    assert {path.name for path in config.parent.iterdir()} == {"mirror", "manifest.json", "terraform.rc"}


def test_a_finished_mirror_is_used_without_asking_the_registry(machine, monkeypatch):
    first = _prepare()
    monkeypatch.setattr(providers, "registry_answers", lambda host: pytest.fail("asked the registry"))
    lines = []

    assert _prepare(lines) == first
    assert lines == []
    assert _builds(machine) == len(provider_build.PROVIDERS)


def test_a_mirror_with_a_cut_off_binary_is_built_again(machine):
    config = _prepare()
    next(config.parent.rglob("terraform-provider-aws_*")).write_text("cut")

    assert _prepare() == config
    assert next(config.parent.rglob("terraform-provider-aws_*")).read_text().startswith("terraform-provider-aws")
    assert _builds(machine) == 2 * len(provider_build.PROVIDERS)


def test_a_changed_pin_makes_another_mirror(machine, monkeypatch):
    pins = machine / "pins"
    pins.mkdir()
    for name in ("go.mod", "go.sum"):
        (pins / name).write_text((PINS / name).read_text())
    before = provider_build.fingerprint("linux_amd64")
    monkeypatch.setattr(provider_build, "PINS", pins)
    assert provider_build.fingerprint("linux_amd64") == before
    (pins / "go.sum").write_text((PINS / "go.sum").read_text().replace("h1:dJlp2", "h1:other"))

    assert provider_build.fingerprint("linux_amd64") != before
    assert provider_build.fingerprint("linux_arm64") != provider_build.fingerprint("linux_amd64")


def test_a_moved_cache_folder_gets_a_config_with_its_new_path(machine, monkeypatch):
    _prepare()
    (machine / "cache").rename(machine / "elsewhere")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(machine / "elsewhere"))

    config = _prepare()
    assert f'path    = "{machine}/elsewhere/' in config.read_text()
    assert _builds(machine) == len(provider_build.PROVIDERS)


def test_a_path_with_quotes_and_templates_stays_one_string_in_the_config(tmp_path):
    folder = tmp_path / 'a "${b}" folder'
    folder.mkdir()

    assert r'a \"$${b}\" folder/mirror"' in providers.write_config(folder).read_text()


def test_a_failed_build_gives_gos_reason_in_one_line_and_leaves_nothing(machine, monkeypatch):
    monkeypatch.setenv("GO_FAILS_WITH", "main.go:3:1: no space   left on device")

    with pytest.raises(ProviderError) as caught:
        _prepare()
    expected = "compiling the archive provider 1.3.0 failed: main.go:3:1: no space left on device"
    assert str(caught.value) == expected
    assert [path.name for path in (machine / "cache").iterdir()] == ["build.lock"]


def test_an_interrupted_build_leaves_nothing_and_the_next_one_works(machine):
    def interrupt(line: str) -> None:
        if "compiling the aws" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        providers.prepare(interrupt)
    assert [path.name for path in (machine / "cache").iterdir()] == ["build.lock"]
    assert _prepare().is_file()


def test_what_a_killed_build_left_behind_is_cleared_by_the_next_one(machine):
    leftover = machine / "cache/building-killed"
    leftover.mkdir(parents=True)
    (leftover / "half").write_text("half")

    assert _prepare().is_file()
    assert not leftover.exists()


def test_of_two_builds_at_once_the_second_waits_and_uses_the_first_ones_mirror(machine):
    (machine / "cache").mkdir()
    lines, results = [], []
    with (machine / "cache/build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first build
        waiting = threading.Event()

        def listen(line: str) -> None:
            lines.append(line)
            waiting.set()

        second = threading.Thread(target=lambda: results.append(providers.prepare(listen)))
        second.start()
        assert waiting.wait(60)
        finished = providers.finished_folder("linux_amd64")
        hosts = providers.REGISTRIES.values()
        build_cache._build_into(
            finished, "x", lambda draft: provider_build.build(draft, "linux_amd64", hosts, print), print
        )
    second.join(60)

    assert lines == [f"another process is building in {machine / 'cache'}; waiting for it"]
    assert results == [finished / "terraform.rc"]
    assert _builds(machine) == len(provider_build.PROVIDERS)


def test_without_go_the_message_says_what_to_install(machine):
    (machine / "bin/go").unlink()

    with pytest.raises(ProviderError, match=r"needs `go`; install Go >= 1\.25") as caught:
        _prepare()
    assert "\n" not in str(caught.value)


def test_a_module_that_go_sum_does_not_pin_is_refused(machine, monkeypatch):
    monkeypatch.setenv("GO_ADDS_A_CHECKSUM", "1")

    with pytest.raises(ProviderError, match=r"go\.sum doesn't pin every module"):
        _prepare()


def test_go_sum_pins_both_modules_of_go_mod():
    required = re.findall(r"^\t(\S+) (v\S+)$", (PINS / "go.mod").read_text(), re.MULTILINE)
    replaced = dict(re.findall(r"^replace (\S+) => (\S+ v\S+)$", (PINS / "go.mod").read_text(), re.MULTILINE))
    pinned = {" ".join(line.split()[:2]) for line in (PINS / "go.sum").read_text().splitlines()}

    modules = {replaced.get(path, f"{path} {version}") for path, version in required}
    assert {path for path, _ in required} == {provider.module for provider in provider_build.PROVIDERS}
    assert any(module.startswith(f"{AWS_FORK} v") for module in modules)
    assert pinned == modules | {f"{module}/go.mod" for module in modules}


def test_only_the_named_services_and_clients_stay(machine):
    copy = machine / "modules/terraform-provider-aws"
    provider_build.keep_services(copy, ["s3", "sqs"], ["s3"])

    packages = (copy / "internal/provider/sdkv2/service_packages_gen.go").read_text()
    assert re.findall(r"(\w+)\.ServicePackage\(ctx", packages) == ["s3", "sqs"]
    assert re.findall(r"internal/(?:service/)?(\w+)\"", packages) == ["conns", "s3", "sqs"]
    clients = (copy / "internal/conns/awsclient_gen.go").read_text()
    assert re.findall(r"\*(\w+)\.Client", clients) == ["s3"]
    assert clients.count("make(") == 1


def test_a_service_that_the_provider_does_not_have_is_refused_by_name(machine):
    with pytest.raises(ProviderError, match=r"service_packages_gen\.go .* doesn't list teapot"):
        provider_build.keep_services(machine / "modules/terraform-provider-aws", ["s3", "teapot"], ["s3"])


@pytest.fixture
def infra(machine):
    """A folder in which the user runs Terraform by hand too."""
    folder = machine / "infra"
    folder.mkdir()
    return folder


def test_a_folder_of_the_users_gets_the_mirror_as_development_overrides(machine, infra):
    config = providers.prepare_for(infra, lambda line: None)

    assert config.name == "overrides.rc"
    places = dict(re.findall(r'^    "(\S+)" = "(\S+)"$', config.read_text(), re.MULTILINE))
    assert set(places) == {
        f"{host}/hashicorp/{name}"
        for host in ("registry.terraform.io", "registry.opentofu.org")
        for name in ("aws", "archive")
    }
    for address, place in places.items():
        assert len(list(Path(place).glob(f"terraform-provider-{address.rpartition('/')[2]}_v*"))) == 1
    assert "dev_overrides {" in config.read_text()
    assert "mirror {" not in config.read_text()
    assert providers.built_versions() == {"hashicorp/aws": "6.34.0", "hashicorp/archive": "1.3.0"}


def test_for_a_folder_of_the_users_the_registry_comes_before_a_mirror_built_earlier(machine, infra, monkeypatch):
    assert _prepare() is not None
    monkeypatch.setattr(providers, "registry_answers", lambda host: True)

    assert providers.prepare_for(infra) is None


def test_a_folder_that_the_user_has_initialised_is_left_as_it_is_without_asking_the_registry(
    machine, infra, monkeypatch
):
    (infra / ".terraform/providers").mkdir(parents=True)
    monkeypatch.setattr(providers, "registry_answers", lambda host: pytest.fail("asked the registry"))

    assert providers.prepare_for(infra) is None
    assert _builds(machine) == 0


def test_a_cli_config_with_a_provider_mirror_of_the_user_is_left_in_charge(machine, infra, monkeypatch):
    own = machine / "own.rc"
    own.write_text('provider_installation {\n  network_mirror { url = "https://mirror.example/" }\n}\n')
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(own))

    assert _prepare() is None
    assert providers.prepare_for(infra) is None
    assert _builds(machine) == 0


def test_a_cache_folder_that_cannot_be_written_is_named_with_the_fix(machine, monkeypatch):
    (machine / "file").write_text("")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(machine / "file/cache"))

    with pytest.raises(ProviderError, match=r"file/cache can't be written .*; set STAMPEDE_CACHE_DIR"):
        _prepare()


def test_the_cache_folder_follows_its_two_environment_variables(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("STAMPEDE_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert build_cache.cache_folder() == Path("/home/someone/.cache/stampede")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    assert build_cache.cache_folder() == Path("/var/caches/stampede")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", "/big/disk")
    assert build_cache.cache_folder() == Path("/big/disk")


def test_terraform_comes_before_tofu_and_the_environment_before_both(machine, monkeypatch):
    assert providers.terraform_binary() == str(machine / "bin/terraform")
    (machine / "bin/terraform").rename(machine / "bin/tofu")
    assert providers.terraform_binary() == str(machine / "bin/tofu")
    monkeypatch.setenv("STAMPEDE_TERRAFORM", str(machine / "bin/go"))
    assert providers.terraform_binary() == str(machine / "bin/go")


def test_a_wrong_terraform_in_the_environment_is_named(machine, monkeypatch):
    monkeypatch.setenv("STAMPEDE_TERRAFORM", "terrafrom")
    with pytest.raises(ProviderError, match="STAMPEDE_TERRAFORM=terrafrom is not a program"):
        _prepare()
    monkeypatch.setenv("STAMPEDE_TERRAFORM", "go")
    with pytest.raises(ProviderError, match="doesn't print what Terraform prints"):
        _prepare()


def test_terraforms_environment_names_the_mirrors_config(tmp_path):
    environment = providers.terraform_environment(tmp_path / "terraform.rc", {"TF_CLI_CONFIG_FILE": "/x", "A": "b"})

    assert environment["TF_CLI_CONFIG_FILE"] == str(tmp_path / "terraform.rc")
    assert environment["A"] == "b"


def test_a_cli_config_that_does_not_exist_is_left_out_and_one_that_does_is_kept(tmp_path):
    missing = {"TF_CLI_CONFIG_FILE": str(tmp_path / "missing.rc")}
    assert "TF_CLI_CONFIG_FILE" not in providers.terraform_environment(None, missing)

    (tmp_path / "there.rc").write_text("")
    there = {"TF_CLI_CONFIG_FILE": str(tmp_path / "there.rc")}
    assert providers.terraform_environment(None, there)["TF_CLI_CONFIG_FILE"] == there["TF_CLI_CONFIG_FILE"]


@pytest.mark.parametrize(
    ("body", "answers"),
    [(b'{"providers.v1": "/v1/providers/"}', True), (b"<html>please log in</html>", False), (b"{}", False)],
)
def test_only_a_service_list_with_providers_counts_as_an_answer(monkeypatch, body, answers):
    requests = []

    def reply(url: str, timeout: float) -> io.BytesIO:
        requests.append((url, timeout))
        response = io.BytesIO(body)
        response.status = 200
        return response

    monkeypatch.setattr("urllib.request.urlopen", reply)

    assert providers.registry_answers("registry.example") is answers
    assert requests == [("https://registry.example/.well-known/terraform.json", 5.0)]


@pytest.mark.parametrize("error", [urllib.error.URLError("no route"), TimeoutError(), ConnectionResetError()], ids=repr)
def test_a_registry_that_cannot_be_reached_does_not_answer(monkeypatch, error):
    def fail(url: str, timeout: float) -> None:
        raise error

    monkeypatch.setattr("urllib.request.urlopen", fail)

    assert providers.registry_answers("registry.example") is False


def test_the_command_prints_the_configs_path_and_nothing_else_on_stdout(machine, capsys):
    assert providers.main() == 0

    printed = capsys.readouterr()
    assert Path(printed.out.strip()).name == "terraform.rc"
    assert "building the AWS provider" in printed.err


def test_the_command_ends_with_one_line_and_status_1_on_an_error(machine, capsys):
    (machine / "bin/go").unlink()

    assert providers.main() == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1].startswith("error: the provider registry doesn't answer")
    assert "Traceback" not in printed.err
