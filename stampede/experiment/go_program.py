"""The Go program in functions/transfer, as several experiments run it: whether it is built."""

from __future__ import annotations

import platform

from stampede.checkout import ROOT

BUILT = "functions/transfer/build/{architecture}/bootstrap"


def of_this_machine() -> str:
    """The processor that the embedded AWS runs functions on, x86_64 or arm64: their program has to be built for it."""
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def missing(architecture: str) -> str:
    """The file that `make functions` would make for x86_64 or arm64, from the repository's root; "" if it is there."""
    path = BUILT.format(architecture=architecture)
    return "" if (ROOT / path).is_file() else path
