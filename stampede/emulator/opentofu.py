"""OpenTofu for a machine with neither `terraform` nor `tofu`, built once from the Go module proxy.

`opentofu/go.mod` and `opentofu/go.sum` pin its module and checksum.
"""

import platform
from pathlib import Path

from stampede.emulator import build_cache, go_build
from stampede.emulator.go_build import Program

PINS = Path(__file__).parent / "opentofu"
PROGRAM = Program(
    name="tofu",
    title="OpenTofu",
    module="github.com/opentofu/opentofu",
    version="1.10.7",
    # The flag of OpenTofu's own release builds.
    linker_flags="-s -w -X github.com/opentofu/opentofu/version.dev=no",
    package="./cmd/tofu",
)
TITLE = f"{PROGRAM.title} {PROGRAM.version}"
NEITHER = "neither `terraform` nor `tofu` is on the PATH"
BUILD_TAKES = "4 to 7 minutes"


def built() -> str | None:
    """Return the path of the OpenTofu built earlier, or None; builds nothing."""
    program = _finished_folder() / PROGRAM.name
    return str(program) if program.is_file() else None


def build_once() -> str:
    """Build OpenTofu, unless it exists, and return its path. Raises ProviderError as `go_build`."""
    finished = _finished_folder()
    why = f"{NEITHER}; building {TITLE} from the Go module proxy, {BUILD_TAKES}, once"
    build_cache.build_once(
        finished, TITLE, why, lambda draft: go_build.build(PROGRAM, PINS, draft / PROGRAM.name)
    )
    return str(finished / PROGRAM.name)


def _finished_folder() -> Path:
    """The folder, whose name depends on the pins and the machine: several may share a cache."""
    pins = [(PINS / name).read_text() for name in ("go.mod", "go.sum")]
    return build_cache.folder_for(
        "opentofu", *pins, PROGRAM.version, platform.system(), platform.machine()
    )
