"""Makes the Terraform providers ready: from the registry where it answers, else from a mirror built once.

`prepare()` decides; `python -m emulator.providers` runs it and prints the config file's path on stdout. `prepare_for()`
decides for a folder in which the user runs Terraform by hand too.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from emulator import provider_build
from emulator.provider_build import Progress, ProviderError

REGISTRIES = {"Terraform": "registry.terraform.io", "OpenTofu": "registry.opentofu.org"}
REGISTRY_TIMEOUT_S = 5.0
PROVIDER_NAMES = tuple(provider.name for provider in provider_build.PROVIDERS)


def print_to_stderr(line: str) -> None:
    """Print one line of progress."""
    print(line, file=sys.stderr, flush=True)


def cache_folder() -> Path:
    """Return the folder for built things: STAMPEDE_CACHE_DIR, else `stampede` in the user's cache folder."""
    if chosen := os.environ.get("STAMPEDE_CACHE_DIR"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "stampede"


def terraform_binary() -> str:
    """Return the path of STAMPEDE_TERRAFORM, else of `terraform`, else of `tofu`; ProviderError without any."""
    if chosen := os.environ.get("STAMPEDE_TERRAFORM"):
        if found := shutil.which(chosen):
            return found
        raise ProviderError(
            f"STAMPEDE_TERRAFORM={chosen} is not a program; give the path of terraform or tofu, or unset it"
        )
    for name in ("terraform", "tofu"):
        if found := shutil.which(name):
            return found
    raise ProviderError(
        "neither `terraform` nor `tofu` is on the PATH; install Terraform >= 1.9, or set STAMPEDE_TERRAFORM"
    )


def terraform_environment(config: Path | None, base: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of `base` to run Terraform with: the CLI config from `prepare`, and no update check.

    Without a config, a TF_CLI_CONFIG_FILE that names a missing file is left out: Terraform would warn each time.
    """
    environment = dict(base) | {"CHECKPOINT_DISABLE": "1"}
    if config:
        environment["TF_CLI_CONFIG_FILE"] = str(config)
    elif (named := environment.get("TF_CLI_CONFIG_FILE")) is not None and not Path(named).is_file():
        del environment["TF_CLI_CONFIG_FILE"]
    return environment


def prepare(progress: Progress = print_to_stderr) -> Path | None:
    """Return the CLI config file of the provider mirror, or None where Terraform finds the providers by itself.

    In this order: a mirror built earlier; the user's own CLI config with a mirror of theirs; the registry; a build of
    3 to 6 minutes. Raises ProviderError, one line, when there's no terraform, no Go or no network, or when the build
    fails.
    """
    flavour, platform = _terraform_identity(terraform_binary())
    finished = _finished_folder(platform)
    if is_complete(finished):
        return write_config(finished)
    if _come_from_elsewhere(REGISTRIES[flavour]):
        return None
    _build_once(finished, REGISTRIES[flavour], platform, progress)
    return write_config(finished)


def prepare_for(folder: Path, progress: Progress = print_to_stderr) -> Path | None:
    """Return the CLI config for `folder`, where the user runs Terraform by hand too; None for the user's own config.

    Unlike `prepare` it leaves nothing of a mirror behind: a lock file with the hashes of providers built here would
    stop the next `terraform init` that the registry answers. So a folder that is initialised stays as it is, the
    registry comes before a mirror built earlier, and the mirror comes as development overrides, for which Terraform
    neither reads nor writes the lock file. With them `terraform get` has to take the place of `terraform init`, which
    would ask the registry; a backend other than the local one can't be had that way. Raises ProviderError like
    `prepare`.
    """
    if (folder / ".terraform" / "providers").is_dir():
        return None
    flavour, platform = _terraform_identity(terraform_binary())
    if _come_from_elsewhere(REGISTRIES[flavour]):
        return None
    finished = _finished_folder(platform)
    if not is_complete(finished):
        _build_once(finished, REGISTRIES[flavour], platform, progress)
    return write_overrides(finished, platform)


def built_versions() -> dict[str, str]:
    """Return the versions of the providers built here, which no lock file names under development overrides."""
    return {f"hashicorp/{provider.name}": provider.version for provider in provider_build.PROVIDERS}


def _finished_folder(platform: str) -> Path:
    return cache_folder() / f"providers-{provider_build.fingerprint(platform)}"


def _come_from_elsewhere(host: str) -> bool:
    """Tell whether Terraform finds the providers by itself: by the user's own CLI config or at the registry."""
    return _own_mirror_config() is not None or registry_answers(host)


def _build_once(finished: Path, host: str, platform: str, progress: Progress) -> None:
    cache = finished.parent
    with _only_one_build(cache, progress):
        if not is_complete(finished):  # another process may have built it while we waited
            progress(
                f"{host} doesn't answer; building the AWS provider from the Go module proxy, 3 to 6 minutes, "
                f"once (kept in {cache})"
            )
            _build_into(finished, platform, progress)


def registry_answers(host: str) -> bool:
    """Ask a registry for its service list, once, for at most 5 s."""
    try:
        with urllib.request.urlopen(f"https://{host}/.well-known/terraform.json", timeout=REGISTRY_TIMEOUT_S) as reply:
            return reply.status == 200 and "providers.v1" in json.load(reply)
    except (OSError, ValueError):  # URLError and timeouts are OSErrors; a captive portal's page isn't JSON
        return False


def is_complete(finished: Path) -> bool:
    """Tell whether a mirror folder holds everything its manifest lists, at the sizes listed there."""
    try:
        sizes = json.loads((finished / "manifest.json").read_text())["sizes_bytes"]
        return bool(sizes) and all((finished / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError):
        return False


def write_config(finished: Path) -> Path:
    """Write the mirror's CLI config, if it isn't there for this very path already, and return its path."""
    names = ", ".join(f'"{host}/hashicorp/{name}"' for host in REGISTRIES.values() for name in PROVIDER_NAMES)
    return _write_installation(
        finished / "terraform.rc",
        "  filesystem_mirror {\n"
        f"    path    = {_hcl_string(str(finished / 'mirror'))}\n"
        f"    include = [{names}]\n"
        "  }\n"
        "  direct {\n"
        f"    exclude = [{names}]\n"
        "  }\n",
    )


def write_overrides(finished: Path, platform: str) -> Path:
    """Write the CLI config that has the mirror's providers as development overrides, and return its path."""
    lines = [
        f'    "{host}/hashicorp/{provider.name}" = '
        + _hcl_string(str(finished / "mirror" / host / "hashicorp" / provider.name / provider.version / platform))
        for host in REGISTRIES.values()
        for provider in provider_build.PROVIDERS
    ]
    return _write_installation(
        finished / "overrides.rc", "  dev_overrides {\n" + "\n".join(lines) + "\n  }\n  direct {}\n"
    )


def _write_installation(config: Path, methods: str) -> Path:
    text = (
        "# Written by stampede: providers built from source, because the registry didn't answer.\n"
        f"provider_installation {{\n{methods}}}\n"
    )
    if not config.is_file() or config.read_text() != text:
        with tempfile.NamedTemporaryFile("w", dir=config.parent, delete=False) as draft:
            draft.write(text)
        Path(draft.name).replace(config)
    return config


def _hcl_string(text: str) -> str:
    return json.dumps(text).replace("${", "$${").replace("%{", "%%{")


def _terraform_identity(binary: str) -> tuple[str, str]:
    """Return ("Terraform" or "OpenTofu", platform such as linux_amd64)."""
    environment = terraform_environment(None, os.environ)
    try:
        reply = subprocess.run(
            [binary, "version"], capture_output=True, text=True, env=environment, timeout=60, check=True
        )
        lines = reply.stdout.splitlines()
        flavour = lines[0].split()[0]
        platform = next(line.split()[1] for line in lines if line.startswith("on "))
        return ("OpenTofu" if flavour == "OpenTofu" else "Terraform"), platform
    except (OSError, subprocess.SubprocessError, IndexError, StopIteration):
        raise ProviderError(
            f"`{binary} version` doesn't answer like Terraform; set STAMPEDE_TERRAFORM to one that does"
        ) from None


def _own_mirror_config() -> Path | None:
    """Return the user's CLI config if it says itself where providers come from."""
    named = os.environ.get("TF_CLI_CONFIG_FILE")
    for config in (Path(named) if named else None, Path.home() / ".terraformrc", Path.home() / ".tofurc"):
        if config and config.is_file() and "provider_installation" in config.read_text(errors="replace"):
            return config
    return None


@contextlib.contextmanager
def _only_one_build(cache: Path, progress: Progress) -> Iterator[None]:
    """Hold the build lock of this cache folder; the system releases it when a process dies, however it dies."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / "providers.lock").open("w")
    except OSError as error:
        raise ProviderError(
            f"cache folder {cache} can't be written ({error.strerror}); set STAMPEDE_CACHE_DIR"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another process is building the providers; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(finished: Path, platform: str, progress: Progress) -> None:
    """Build beside the final folder and rename: a cut-off build leaves nothing that looks finished."""
    for leftover in finished.parent.glob("building-*"):  # of a build that was killed; we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix="building-", dir=finished.parent))
    began = time.monotonic()
    try:
        manifest = provider_build.build(draft, platform, REGISTRIES.values(), progress)
        manifest["seconds"] = round(time.monotonic() - began)
        (draft / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        draft.chmod(0o755)
        if finished.exists():  # incomplete, or we wouldn't be here
            shutil.rmtree(finished)
        draft.rename(finished)
    except OSError as error:
        raise ProviderError(f"building the providers in {finished.parent} failed: {error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    progress(f"providers ready in {time.monotonic() - began:.0f} s: {finished}")


def main() -> int:
    """Prepare the providers and print the CLI config's path, or nothing when Terraform finds them itself."""
    try:
        config = prepare()
    except ProviderError as error:
        print_to_stderr(f"error: {error}")
        return 1
    if config:
        print(config)
    else:
        print_to_stderr("the providers come from the registry, or as your CLI config says; no mirror is needed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
