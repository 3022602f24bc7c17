"""The Python environment of local functions, made once and kept in the cache folder."""

import platform
import subprocess
import sys
import venv
from pathlib import Path

from stampede.emulator import build_cache
from stampede.emulator.go_build import ProviderError

REQUIREMENTS = Path(__file__).with_suffix(".txt")
START = Path(__file__).with_name("start_python.py")
TITLE = "Lambda's runtime for Python"
INSTALL_TIMEOUT_S = 600


def interpreter() -> Path:
    """The environment's Python, whether or not it exists yet."""
    return _finished_folder() / "bin" / "python"


def make_once() -> None:
    """Make the environment, unless it exists. Raises ProviderError, one line."""
    why = f"installing {TITLE} from the package index, half a minute, once"
    build_cache.build_once(_finished_folder(), TITLE, why, _install)


def _finished_folder() -> Path:
    """The folder, whose name depends on the pins, the machine and its Python."""
    machine = (platform.system(), platform.machine())
    return build_cache.folder_for(
        "python-runtime", REQUIREMENTS.read_text(), sys.version, sys.base_prefix, *machine
    )


def _install(target: Path) -> None:
    venv.create(target, symlinks=True)
    [packages] = target.glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--only-binary=:all:", "--no-deps", "--target", str(packages)]
    command += ["-r", str(REQUIREMENTS)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        fix = "check the network and pip's settings; there are wheels for Linux on x86_64 and arm64"
        raise ProviderError(f"{TITLE} can't be installed: {reason}", fix)
