"""The local stack: a copy of infra/, functions/ and queries/ with override files and its own state.

So infra/ needs no conditionals for emulators, and no local command can touch a real account's
state.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from stampede.checkout import ROOT
from stampede.emulator.ministack import Access
from stampede.emulator.process import without_aws
from stampede.emulator.providers import prepare, terraform_environment

STATE_DIR = Path(os.environ.get("STAMPEDE_STATE_DIR", ROOT / ".stampede"))
FOLDER = STATE_DIR / "local"
OVERRIDES = Path(__file__).resolve().parent / "local_override"
_LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", ".terraform", "*.tfstate*", ".build", ".terraform.lock.hcl"
)


def lay_out(copy: Path = FOLDER) -> Path:
    """Make `copy` a mirror of the files that Terraform reads, add the overrides, and return its
    infra folder.

    The folder `mount` next to it stands in for a mounted file system, as the overrides say.
    Providers, state and built zips stay. The lock file goes: its hashes don't match a rebuilt
    provider.
    """
    for name in ("infra", "functions", "queries"):
        _clear(copy / name)  # or Terraform would go on reading removed files
        shutil.copytree(ROOT / name, copy / name, ignore=_LEFT_OUT, dirs_exist_ok=True)
    shutil.copytree(OVERRIDES, copy / "infra", dirs_exist_ok=True)
    (copy / "mount").mkdir(exist_ok=True)
    return copy / "infra"


def _clear(folder: Path) -> None:
    """Empty a folder, except providers, state and built zips."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name in (".terraform", ".build") or ".tfstate" in path.name:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def environment(access: Access) -> dict[str, str]:
    """Terraform's environment for the copy: the emulator's endpoint and key, and no setting of a
    real account."""
    return {
        **terraform_environment(prepare(), without_aws(os.environ)),
        **access.environment,
        # For S3 Control at <account>.<endpoint>, which doesn't resolve; 127.0.0.1 needs no proxy.
        "HTTP_PROXY": access.endpoint_url,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def applied_resources() -> int:
    """The number of resources in the local state, without data sources."""
    return sum(len(resource["instances"]) for resource in _resources())


def applied_queues() -> list[dict[str, Any]]:
    """The attributes of the queues in the local state, even after an interrupted apply, whose
    outputs may lack them."""
    return [queue["attributes"] for queue in _queues()]


def replaced_queues(experiment: str | None) -> list[dict[str, Any]]:
    """The attributes of the queues that the next apply, of this experiment (None for the applied
    one), replaces: those of another experiment, and tainted ones."""
    applied = _state().get("outputs", {}).get("experiment", {}).get("value")
    is_other = None not in (applied, experiment) and applied != experiment
    return [
        queue["attributes"] for queue in _queues() if is_other or queue.get("status") == "tainted"
    ]


def _queues() -> list[dict[str, Any]]:
    queues = (resource for resource in _resources() if resource["type"] == "aws_sqs_queue")
    return [instance for queue in queues for instance in queue["instances"]]


def _resources() -> list[dict[str, Any]]:
    """The managed resources of the local state."""
    resources = _state().get("resources", [])
    return [resource for resource in resources if resource["mode"] == "managed"]


def _state() -> dict[str, Any]:
    """The local state, read from its file without Terraform."""
    try:
        return json.loads((FOLDER / "infra" / "terraform.tfstate").read_text())
    except (FileNotFoundError, ValueError):
        return {}


def forget_state(copy: Path = FOLDER) -> None:
    """Drop the local state and the mount's contents, which are void without their emulator.

    The next state has a new folder, with the old providers: a Terraform that outlived its sweep
    still writes by relative paths, into the old folder.
    """
    shutil.rmtree(copy / "mount", ignore_errors=True)
    infra = copy / "infra"
    if infra.is_dir():
        old = infra.rename(Path(tempfile.mkdtemp(prefix="forgotten-", dir=copy)) / "infra")
        infra.mkdir()
        if (old / ".terraform").is_dir():
            (old / ".terraform").rename(infra / ".terraform")
    for folder in copy.glob("forgotten-*"):
        shutil.rmtree(folder, ignore_errors=True)
