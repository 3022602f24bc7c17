"""Makes Terraform and its providers ready: found where they are, else built once.

`prepare()` decides; `python -m stampede.emulator.providers` runs it and prints the config file's
path on stdout. `prepare_for()` decides for a folder in which the user runs Terraform by hand too.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from stampede.emulator import build_cache, opentofu, provider_build, python_runtime
from stampede.emulator.go_build import NotReadyError, Progress, ProviderError
from stampede.emulator.provider_build import PROVIDERS, finished_folder
from stampede.progress import say

REGISTRIES = {"Terraform": "registry.terraform.io", "OpenTofu": "registry.opentofu.org"}
REGISTRY_TIMEOUT_S = 5.0
# How long the build of the providers takes.
BUILD_TAKES = "3 to 6 minutes"


def terraform_binary() -> str:
    """Return the path of Terraform or OpenTofu, as `found_terraform` finds it; ProviderError
    without any."""
    if found := found_terraform():
        return found
    raise NotReadyError(
        opentofu.NEITHER,
        "install Terraform >= 1.9, set STAMPEDE_TERRAFORM, or let `make setup` build OpenTofu",
    )


def found_terraform() -> str | None:
    """Return the path of STAMPEDE_TERRAFORM, else of `terraform`, of `tofu`, of the OpenTofu built
    here; else None.

    Builds nothing. Raises ProviderError when STAMPEDE_TERRAFORM is not a program.
    """
    if chosen := os.environ.get("STAMPEDE_TERRAFORM"):
        if found := shutil.which(chosen):
            return found
        raise NotReadyError(
            f"STAMPEDE_TERRAFORM={chosen} is not a program",
            "set it to the path of terraform or tofu, or unset it",
        )
    for name in ("terraform", "tofu"):
        if found := shutil.which(name):
            return found
    return opentofu.built()


def terraform_environment(config: Path | None, base: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of `base` to run Terraform with: the CLI config from `prepare`, if any, and no
    update check."""
    own = {"TF_CLI_CONFIG_FILE": str(config)} if config else {}
    return dict(base) | {"CHECKPOINT_DISABLE": "1"} | own


def prepare(progress: Progress = say) -> Path | None:
    """Return the CLI config file of the provider mirror, or None where Terraform finds the
    providers by itself.

    In this order: a mirror built earlier; the user's own CLI config with a mirror of theirs; the
    registry; a build of 3 to 6 minutes. Before that it builds OpenTofu where there is no Terraform.
    Raises ProviderError, one line, when something has to be built and there's no Go or no network,
    or when the build fails.
    """
    flavour, platform = _terraform(progress)
    finished = finished_folder(platform)
    if not build_cache.is_complete(finished) and _come_from_elsewhere(REGISTRIES[flavour]):
        return None
    _build_once(REGISTRIES[flavour], platform, progress)
    names = ", ".join(json.dumps(address) for address in _places(platform))
    mirror = (
        f"filesystem_mirror {{\n path = {json.dumps(str(finished / 'mirror'))}\n include = "
        f"[{names}]\n}}"
    )
    return _write_config(
        finished / "terraform.rc", f"{mirror}\ndirect {{\n exclude = [{names}]\n}}"
    )


def prepare_for(folder: Path, progress: Progress = say) -> Path | None:
    """Return the CLI config for `folder`, where the user runs Terraform by hand too; None for the
    user's own config.

    Unlike `prepare` it leaves nothing of a mirror behind: a lock file with the hashes of providers
    built here would stop the next `terraform init` that the registry answers. So a folder that is
    initialised stays as it is, the registry comes before a mirror built earlier, and the mirror
    comes as development overrides, for which Terraform neither reads nor writes the lock file. With
    them `terraform get` has to take the place of `terraform init`, which would ask the registry; a
    backend other than the local one can't be had that way. Raises ProviderError like `prepare`.
    """
    if (folder / ".terraform" / "providers").is_dir():
        return None
    flavour, platform = _terraform(progress)
    if _come_from_elsewhere(REGISTRIES[flavour]):
        return None
    _build_once(REGISTRIES[flavour], platform, progress)
    overrides = "\n".join(
        f'"{address}" = {json.dumps(str(place))}' for address, place in _places(platform).items()
    )
    config = finished_folder(platform) / "overrides.rc"
    return _write_config(config, f"dev_overrides {{\n{overrides}\n}}\ndirect {{}}")


def built_versions() -> dict[str, str]:
    """Return the versions of the providers built here, which no lock file names under development
    overrides."""
    return {f"hashicorp/{provider.name}": provider.version for provider in PROVIDERS}


def _terraform(progress: Progress) -> tuple[str, str]:
    """Flavour and platform of the Terraform that is there, or of the OpenTofu that is built now."""
    flavour, _, platform = terraform_identity(found_terraform() or opentofu.build_once(progress))
    return flavour, platform


def _come_from_elsewhere(host: str) -> bool:
    """Tell whether Terraform finds the providers by itself: by the user's own CLI config or at the
    registry."""
    return _own_mirror_config() is not None or registry_answers(host)


def _build_once(host: str, platform: str, progress: Progress) -> None:
    finished = finished_folder(platform)
    why = (
        f"{host} doesn't answer; building the AWS provider from the Go module proxy, "
        f"{BUILD_TAKES}, once"
    )

    def build(draft: Path) -> None:
        provider_build.build(draft, platform, REGISTRIES.values(), progress)

    if not build_cache.is_complete(finished):
        build_cache.build_once(finished, "the providers", why, build, progress)


def _places(platform: str) -> dict[str, Path]:
    """The folders of the providers in the mirror, by the addresses that they have at either
    registry."""
    mirror = finished_folder(platform) / "mirror"
    return {
        f"{host}/hashicorp/{provider.name}": provider_build.place(mirror, host, provider, platform)
        for host in REGISTRIES.values()
        for provider in PROVIDERS
    }


def registry_answers(host: str) -> bool:
    """Ask a registry for its service list, once, for at most 5 s."""
    try:
        with urllib.request.urlopen(
            f"https://{host}/.well-known/terraform.json", timeout=REGISTRY_TIMEOUT_S
        ) as reply:
            return "providers.v1" in json.load(reply)
    except (
        OSError,
        ValueError,
    ):  # URLError and timeouts are OSErrors; a captive portal's page isn't JSON
        return False


def _write_config(config: Path, methods: str) -> Path:
    """Write a CLI config anew, at once: the cache may have moved, and another process may read the
    file."""
    with tempfile.NamedTemporaryFile("w", dir=config.parent, delete=False) as draft:
        draft.write(
            "# Written by stampede: providers built from source, because the registry didn't "
            "answer.\n"
        )
        draft.write(f"provider_installation {{\n{methods}\n}}\n")
    return Path(draft.name).replace(config)


def terraform_identity(binary: str) -> tuple[str, str, str]:
    """Return ("Terraform" or "OpenTofu", version, platform such as linux_amd64); ProviderError for
    anything else."""
    environment = terraform_environment(None, os.environ)
    try:
        reply = subprocess.run(
            [binary, "version"],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=True,
        )
        lines = reply.stdout.splitlines()
        flavour, version = lines[0].split()[:2]
        platform = next(line.split()[1] for line in lines if line.startswith("on "))
        return (
            ("OpenTofu" if flavour == "OpenTofu" else "Terraform"),
            version.removeprefix("v"),
            platform,
        )
    except (OSError, subprocess.SubprocessError, ValueError, IndexError, StopIteration):
        raise NotReadyError(
            f"`{binary} version` doesn't print what Terraform prints",
            "set STAMPEDE_TERRAFORM to Terraform or OpenTofu",
        ) from None


def _own_mirror_config() -> Path | None:
    """Return the user's CLI config if it says itself where providers come from."""
    named = os.environ.get("TF_CLI_CONFIG_FILE")
    for config in (
        Path(named) if named else None,
        Path.home() / ".terraformrc",
        Path.home() / ".tofurc",
    ):
        if (
            config
            and config.is_file()
            and "provider_installation" in config.read_text(errors="replace")
        ):
            return config
    return None


def main() -> int:
    """Prepare the providers and the runtime of local functions; print the CLI config's path, or
    nothing when Terraform finds the providers itself."""
    try:
        config = prepare()
        python_runtime.make_once(say)
    except ProviderError as error:
        say(f"error: {error}")
        return 1
    if config:
        print(config)
    return 0


if __name__ == "__main__":
    sys.exit(main())
