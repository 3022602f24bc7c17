"""Whether the Go program in functions/transfer, which several experiments run, is built."""

from __future__ import annotations

import platform
from collections.abc import Collection

from stampede.checkout import ROOT
from stampede.finding import BUILD, PROBLEM, Finding, Wrong, worst

BUILT = "functions/transfer/build/{architecture}/bootstrap"


def of_this_machine() -> str:
    """This machine's processor, x86_64 or arm64, for which programs of the embedded AWS's functions
    must be built."""
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def missing(architecture: str) -> Wrong:
    """The problem if `make functions` hasn't built it for `architecture` (x86_64 or arm64)."""
    path = BUILT.format(architecture=architecture)
    return None if (ROOT / path).is_file() else (PROBLEM, f"{path} isn't built", BUILD)


def check(architectures: Collection[str]) -> Finding:
    """Whether it is built for all of them."""
    return worst("program", missing, sorted(architectures))
