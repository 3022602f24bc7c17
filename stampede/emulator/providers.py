"""Finds Terraform and its providers, or builds them once.

`prepare()` serves the local stack; `python -m stampede.emulator.providers` runs it and prints the
config file's path on stdout. `prepare_for()` serves a folder where users run Terraform by hand.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from stampede.emulator import build_cache, opentofu, provider_build, python_runtime
from stampede.emulator.go_build import NotReadyError, ProviderError
from stampede.emulator.provider_build import PROVIDERS, finished_folder
from stampede.progress import say

REGISTRIES = {"Terraform": "registry.terraform.io", "OpenTofu": "registry.opentofu.org"}
REGISTRY_TIMEOUT_S = 5.0
BUILD_TAKES = "3 to 6 minutes"


def terraform_binary() -> str:
    """Return the path that `found_terraform` finds; raises ProviderError without one."""
    if found := found_terraform():
        return found
    raise NotReadyError(
        opentofu.NEITHER,
        "install Terraform >= 1.9, set STAMPEDE_TERRAFORM, or let `make setup` build OpenTofu",
    )


def found_terraform() -> str | None:
    """Return the path of STAMPEDE_TERRAFORM, `terraform`, `tofu` or the OpenTofu built here, the
    first that exists, or None.

    Builds nothing. Raises ProviderError when STAMPEDE_TERRAFORM is not a program.
    """
    if chosen := os.environ.get("STAMPEDE_TERRAFORM"):
        if found := shutil.which(chosen):
            return found
        raise NotReadyError(
            f"STAMPEDE_TERRAFORM={chosen} is not a program",
            "set it to the path of terraform or tofu, or unset it",
        )
    return shutil.which("terraform") or shutil.which("tofu") or opentofu.built()


def terraform_environment(config: Path | None, base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` with the CLI config from `prepare`, if any, and without the update check."""
    own = {"TF_CLI_CONFIG_FILE": str(config)} if config else {}
    return dict(base) | {"CHECKPOINT_DISABLE": "1"} | own


def prepare() -> Path | None:
    """Return the CLI config of the mirror, or None where Terraform finds the providers itself.

    Providers come from a mirror built earlier, the user's own CLI config, the registry, or a build
    of 3 to 6 minutes, in this order. Without Terraform it builds OpenTofu first. Raises
    ProviderError, one line, when a build fails, such as without Go or network.
    """
    registry, platform = _registry_and_platform()
    finished = finished_folder(platform)
    if not finished.is_dir() and _come_from_elsewhere(registry):
        return None
    _build_once(registry, platform)
    names = ", ".join(json.dumps(address) for address in _places(platform))
    path = json.dumps(str(finished / "mirror"))
    mirror = f"filesystem_mirror {{\n path = {path}\n include = [{names}]\n}}"
    direct = f"direct {{\n exclude = [{names}]\n}}"
    return _write_config(finished / "terraform.rc", f"{mirror}\n{direct}")


def prepare_for(folder: Path) -> Path | None:
    """Return the CLI config for `folder`, where users also run Terraform by hand; None for their
    own config.

    Unlike `prepare` it must not put hashes of providers built here into the lock file: they would
    stop the user's next `terraform init` from the registry. So an initialised folder stays as it
    is, the registry comes before a mirror, and the mirror is given as development overrides, for
    which Terraform ignores the lock file. Overrides need `terraform get` in place of `terraform
    init`, which would ask the registry; so only the local backend works. Raises ProviderError as
    `prepare` does.
    """
    if (folder / ".terraform" / "providers").is_dir():
        return None
    registry, platform = _registry_and_platform()
    if _come_from_elsewhere(registry):
        return None
    _build_once(registry, platform)
    overrides = "\n".join(
        f'"{address}" = {json.dumps(str(place))}' for address, place in _places(platform).items()
    )
    config = finished_folder(platform) / "overrides.rc"
    return _write_config(config, f"dev_overrides {{\n{overrides}\n}}\ndirect {{}}")


def built_versions() -> dict[str, str]:
    """Return the versions of the providers built here, by `hashicorp/<name>`: development overrides
    have no lock file to name them."""
    return {f"hashicorp/{provider.name}": provider.version for provider in PROVIDERS}


def _registry_and_platform() -> tuple[str, str]:
    """Registry host and platform of the installed Terraform, or of the OpenTofu built now."""
    flavour, _, platform = terraform_identity(found_terraform() or opentofu.build_once())
    return REGISTRIES[flavour], platform


def _come_from_elsewhere(host: str) -> bool:
    """Tell whether the user's own CLI config or the registry provides the providers."""
    return has_own_mirror() or registry_answers(host)


def _build_once(host: str, platform: str) -> None:
    build_cache.build_once(
        finished_folder(platform),
        "the providers",
        f"{host} doesn't answer; building the AWS provider from the Go module proxy, "
        f"{BUILD_TAKES}, once",
        lambda draft: provider_build.build(draft, platform, REGISTRIES.values()),
    )


def _places(platform: str) -> dict[str, Path]:
    """The providers' folders in the mirror, by their addresses at both registries."""
    mirror = finished_folder(platform) / "mirror"
    return {
        f"{host}/hashicorp/{provider.name}": provider_build.place(mirror, host, provider, platform)
        for host in REGISTRIES.values()
        for provider in PROVIDERS
    }


def registry_answers(host: str) -> bool:
    """Ask a registry for its service list, once, for at most 5 s."""
    url = f"https://{host}/.well-known/terraform.json"
    try:
        with urllib.request.urlopen(url, timeout=REGISTRY_TIMEOUT_S) as reply:
            return "providers.v1" in json.load(reply)
    except (OSError, ValueError):  # unreachable, too slow, or a captive portal's page
        return False


def _write_config(config: Path, methods: str) -> Path:
    """Rewrite a CLI config, as the cache may have moved; atomically, as others may read it."""
    with tempfile.NamedTemporaryFile("w", dir=config.parent, delete=False) as draft:
        draft.write("# By stampede: providers built from source, as the registry didn't answer.\n")
        draft.write(f"provider_installation {{\n{methods}\n}}\n")
    return Path(draft.name).replace(config)


def terraform_identity(binary: str) -> tuple[str, str, str]:
    """Return flavour ("Terraform" or "OpenTofu"), version and platform such as linux_amd64.

    Raises ProviderError for any other program.
    """
    options = {"env": terraform_environment(None, os.environ), "timeout": 60, "check": False}
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
        reply = subprocess.run([binary, "version"], capture_output=True, text=True, **options)
        if match := re.match(r"(Terraform|OpenTofu) v(\S+)\non (\S+)", reply.stdout):
            return match.groups()
    raise NotReadyError(
        f"`{binary} version` doesn't print what Terraform prints",
        "set STAMPEDE_TERRAFORM to Terraform or OpenTofu",
    )


def has_own_mirror() -> bool:
    """Tell whether the user's CLI config says where providers come from."""
    configs = [Path.home() / ".terraformrc", Path.home() / ".tofurc"]
    if chosen := os.environ.get("TF_CLI_CONFIG_FILE"):
        configs.append(Path(chosen))
    return any(
        config.is_file() and "provider_installation" in config.read_text(errors="replace")
        for config in configs
    )


def main() -> int:
    """Prepare the providers and the runtime of local functions; print the CLI config's path, if
    there is one."""
    try:
        config = prepare()
        python_runtime.make_once()
    except ProviderError as error:
        say(f"error: {error}")
        return 1
    if config:
        print(config)
    return 0


if __name__ == "__main__":
    sys.exit(main())
