"""Commands, perhaps with providers built here, and the user's own `terraform init` share infra/."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from stampede.emulator import build_cache, providers, stack
from stampede.stacks.target import aws_terraform

# 6.34.0 and 1.3.0 differ from the providers built here.
REGISTRY = {"aws": ("6.34.0", "6.99.0"), "archive": ("1.3.0", "2.9.0")}


@pytest.fixture
def infra(copy_of_the_tree, tmp_path, monkeypatch) -> Path:
    """A checkout's infra/ on a machine with a mirror, without a registry or the user's settings."""
    if providers.prepare() is None:
        pytest.skip("the providers come from the registry here: there is no mirror")
    folder = copy_of_the_tree("by-hand")
    monkeypatch.setattr(stack, "ROOT", folder.parent)
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    # nor can Terraform reach the registry
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(build_cache.cache_folder()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TF_CLI_CONFIG_FILE", raising=False)
    return folder


@pytest.fixture
def registry(tmp_path) -> str:
    """A user's CLI config that stands in for the registry: `init` installs its programs and never
    runs them."""
    system = {"linux": "linux", "darwin": "darwin"}[sys.platform]
    for host in providers.REGISTRIES.values():
        for name, versions in REGISTRY.items():
            for version in versions:
                for processor in ("amd64", "arm64"):
                    place = tmp_path / host / "hashicorp" / name / version / f"{system}_{processor}"
                    place.mkdir(parents=True)
                    program = place / f"terraform-provider-{name}_v{version}"
                    program.write_text(f"{name} {version}")
                    program.chmod(0o755)
    config = tmp_path / "registry.rc"
    mirror = f'filesystem_mirror {{ path = "{tmp_path}" }}'
    config.write_text(f"provider_installation {{\n  {mirror}\n}}\n")
    return str(config)


def test_neither_init_stops_the_other_and_the_users_providers_stay_in_use(
    infra, registry, terraform, capsys
):
    def runs() -> bool:
        """Whether the command's Terraform has providers that run, unlike the registry's: `validate`
        asks them for their schemas."""
        own = aws_terraform()
        own.init()
        return json.loads(terraform(infra, "validate", "-json", **own.environment).stdout)["valid"]

    def by_hand() -> str:
        done = terraform(infra, "init", "-input=false", TF_CLI_CONFIG_FILE=registry)
        assert done.returncode == 0, done.stderr
        return lock.read_text()

    lock, installed = infra / ".terraform.lock.hcl", infra / ".terraform/providers"
    assert (runs(), lock.exists(), installed.exists()) == (True, False, False)
    locked = by_hand()
    assert '"6.99.0"' in locked and not runs()
    assert "using the providers that were installed earlier" in capsys.readouterr().err
    shutil.rmtree(infra / ".terraform")
    assert (runs(), lock.read_text()) == (True, locked), "its hashes are of other builds"
