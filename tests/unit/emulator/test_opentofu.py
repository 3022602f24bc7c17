"""A machine with neither `terraform` nor `tofu`: OpenTofu is built once, by what prepares, and used from then on.

`go` is the small program of conftest.py, and what it builds answers `version` like OpenTofu.
"""

import re
from pathlib import Path

import pytest

from stampede.emulator import opentofu, providers
from stampede.emulator.go_build import ProviderError


def _prepare() -> list[str]:
    """Prepare Terraform and its providers and return the lines of progress."""
    lines = []
    providers.prepare(lines.append)
    return lines


def _builds_of_opentofu(machine: Path) -> int:
    calls = machine / "go-calls"
    return calls.read_text().count("./cmd/tofu") if calls.exists() else 0


def test_opentofu_is_built_first_and_said_and_the_providers_come_from_its_registry(bare_machine):
    lines = _prepare()

    assert "neither `terraform` nor `tofu` is on the PATH; building OpenTofu 1.10.7" in lines[0]
    assert any("registry.opentofu.org doesn't answer" in line for line in lines)
    binary = Path(providers.terraform_binary())
    assert binary.read_text() == (bare_machine / "modules/opentofu/cmd/tofu/main.go").read_text()
    assert {path.name for path in binary.parent.iterdir()} == {"tofu", "manifest.json"}


def test_the_second_run_uses_what_the_first_built(bare_machine):
    _prepare()

    assert _prepare() == []
    assert _builds_of_opentofu(bare_machine) == 1


def test_opentofu_is_built_for_a_folder_of_the_users_too(bare_machine):
    config = providers.prepare_for(bare_machine / "infra", lambda line: None)

    assert config.name == "overrides.rc"
    assert _builds_of_opentofu(bare_machine) == 1


@pytest.mark.parametrize("name", ["terraform", "tofu"])
def test_a_program_on_the_path_comes_before_the_opentofu_built_here(bare_machine, name):
    _prepare()
    built = Path(providers.terraform_binary())
    there = bare_machine / "bin" / name
    there.write_bytes(built.read_bytes())
    there.chmod(0o755)

    assert providers.terraform_binary() == str(there)


def test_with_terraform_on_the_path_or_in_the_environment_opentofu_is_not_built(machine, monkeypatch):
    _prepare()
    (machine / "bin/terraform").rename(machine / "chosen")
    monkeypatch.setenv("STAMPEDE_TERRAFORM", str(machine / "chosen"))
    _prepare()

    assert _builds_of_opentofu(machine) == 0


def test_asking_for_the_program_builds_nothing_and_says_what_to_do(bare_machine):
    with pytest.raises(ProviderError, match=r"; install Terraform >= 1\.9, .* or let `make setup` build OpenTofu$"):
        providers.terraform_binary()

    assert not (bare_machine / "go-calls").exists()
    assert not (bare_machine / "cache").exists()


def test_without_go_too_the_message_says_what_to_install_and_nothing_stays(bare_machine):
    (bare_machine / "bin/go").unlink()

    with pytest.raises(
        ProviderError, match=r"building OpenTofu 1\.10\.7 needs `go`; .* or install Terraform >= 1\.9"
    ) as caught:
        _prepare()
    assert "\n" not in str(caught.value)
    assert [path.name for path in (bare_machine / "cache").iterdir()] == ["build.lock"]


def test_a_cut_off_opentofu_is_not_used_and_built_again(bare_machine):
    _prepare()
    binary = Path(providers.terraform_binary())
    binary.write_text("cut")

    assert providers.found_terraform() is None
    _prepare()
    assert providers.terraform_binary() == str(binary)
    assert _builds_of_opentofu(bare_machine) == 2


def test_opentofu_is_built_for_this_machine_whatever_go_is_set_to_build_for(bare_machine, monkeypatch):
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.setenv("GOARCH", "mips")
    _prepare()

    assert "plan9" not in Path(providers.terraform_binary()).read_text()


def test_another_kind_of_machine_with_the_same_cache_builds_its_own(bare_machine, monkeypatch):
    _prepare()
    monkeypatch.setattr(opentofu.platform, "machine", lambda: "riscv64")

    assert providers.found_terraform() is None


def test_a_source_that_go_sum_does_not_pin_is_refused(bare_machine, monkeypatch):
    monkeypatch.setenv("GO_ADDS_A_CHECKSUM", "1")

    with pytest.raises(ProviderError, match=r"stampede/emulator/opentofu/go\.sum doesn't pin every module"):
        _prepare()


def test_go_mod_and_go_sum_pin_the_version_that_is_said():
    module = f"{opentofu.PROGRAM.module} v{opentofu.PROGRAM.version}"

    assert re.findall(r"^require (.+)$", (opentofu.PINS / "go.mod").read_text(), re.MULTILINE) == [module]
    pinned = [line.rpartition(" h1:")[0] for line in (opentofu.PINS / "go.sum").read_text().splitlines()]
    assert pinned == [module, f"{module}/go.mod"]
