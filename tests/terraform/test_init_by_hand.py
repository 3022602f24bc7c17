"""infra/ belongs to two: to the command line, perhaps with providers built here, and to the user's
`terraform init`.

The registry is a folder here, with programs in it that `init` installs and never runs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stampede.emulator import build_cache, providers, stack
from stampede.stacks.target import aws_terraform

# 6.34.0 and 1.3.0 are other builds than ours
REGISTRY = {"aws": ("6.34.0", "6.99.0"), "archive": ("1.3.0", "2.9.0")}


@pytest.fixture
def infra(copy_of_the_tree, tmp_path, monkeypatch) -> Path:
    """A checkout's infra/ on a machine with a mirror, without a registry and without settings of
    the user's own."""
    if providers.prepare() is None:
        pytest.skip(
            "the providers come from the registry here; there is no mirror that could leave "
            "something behind"
        )
    folder = copy_of_the_tree("by-hand")
    monkeypatch.setattr(stack, "ROOT", folder.parent)
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    # nor does it answer Terraform, which isn't let out to ask
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(build_cache.cache_folder()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TF_CLI_CONFIG_FILE", raising=False)
    return folder


@pytest.fixture
def registry(tmp_path) -> Path:
    """The CLI config of a user for whom the registry answers."""
    system = {"linux": "linux", "darwin": "darwin"}[sys.platform]
    for host in providers.REGISTRIES.values():
        for name, versions in REGISTRY.items():
            for version in versions:
                for processor in ("amd64", "arm64"):
                    place = (
                        tmp_path
                        / "registry"
                        / host
                        / "hashicorp"
                        / name
                        / version
                        / f"{system}_{processor}"
                    )
                    place.mkdir(parents=True)
                    (place / f"terraform-provider-{name}_v{version}").write_text(
                        f"{name} {version}"
                    )
                    (place / f"terraform-provider-{name}_v{version}").chmod(0o755)
    config = tmp_path / "registry.rc"
    config.write_text(
        f'provider_installation {{\n  filesystem_mirror {{ path = "{tmp_path / "registry"}" '
        f"}}\n}}\n"
    )
    return config


def _providers_load(infra: Path) -> bool:
    """Whether the command line's Terraform finds the providers and they run: `validate` asks them
    for their schemas."""
    command = [providers.terraform_binary(), f"-chdir={infra}", "validate", "-json"]
    done = subprocess.run(
        command,
        env=aws_terraform().environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return json.loads(done.stdout)["valid"]


def test_a_mirror_built_here_leaves_nothing_that_stops_a_later_init_from_the_registry(
    infra, registry, terraform
):
    ours = aws_terraform()
    ours.init()
    assert _providers_load(infra)
    assert ours.version()["provider_selections"] == {
        "hashicorp/aws": "6.34.0",
        "hashicorp/archive": "1.3.0",
    }
    assert not (infra / ".terraform.lock.hcl").exists()
    assert not (infra / ".terraform/providers").exists()

    by_hand = terraform(infra, "init", "-input=false", TF_CLI_CONFIG_FILE=str(registry))
    assert by_hand.returncode == 0, by_hand.stderr
    assert '"6.99.0"' in (infra / ".terraform.lock.hcl").read_text()


def test_the_lock_file_of_an_init_from_the_registry_does_not_stop_the_mirror(
    infra, registry, terraform
):
    assert (
        terraform(infra, "init", "-input=false", TF_CLI_CONFIG_FILE=str(registry)).returncode == 0
    )
    locked = (infra / ".terraform.lock.hcl").read_text()
    shutil.rmtree(infra / ".terraform")

    aws_terraform().init()
    assert _providers_load(infra)
    assert (infra / ".terraform.lock.hcl").read_text() == locked


def test_providers_that_the_user_has_initialised_stay_the_ones_in_use(
    infra, registry, terraform, capsys
):
    assert (
        terraform(infra, "init", "-input=false", TF_CLI_CONFIG_FILE=str(registry)).returncode == 0
    )

    ours = aws_terraform()
    ours.init()
    assert "using the providers that were installed earlier" in capsys.readouterr().err
    assert {
        name.rpartition("/")[2]: version
        for name, version in ours.version()["provider_selections"].items()
    } == {
        "aws": "6.99.0",
        "archive": "2.9.0",
    }
