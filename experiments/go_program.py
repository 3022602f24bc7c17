"""The Go program in functions/transfer, as several experiments run it: whether it is built."""

from __future__ import annotations

import platform
from collections.abc import Collection

from experiments.package import Package
from stampede.checkout import ROOT
from stampede.finding import BUILD, OK, PROBLEM, Finding

BUILT = "functions/transfer/build/{architecture}/bootstrap"


def of_this_machine() -> str:
    """The processor that the embedded AWS runs functions on, x86_64 or arm64: their program has to
    be built for it."""
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def missing(architecture: str) -> str:
    """The file that `make functions` would make for x86_64 or arm64, from the repository's root; ""
    if it is there, and not built for the other one."""
    path = BUILT.format(architecture=architecture)
    program = ROOT / path
    return (
        ""
        if program.is_file() and Package.at(program.parent).other_machine(architecture) is None
        else path
    )


def check(architectures: Collection[str]) -> Finding:
    """Whether it is built for all of them."""
    if paths := [path for architecture in sorted(architectures) if (path := missing(architecture))]:
        return Finding("program", PROBLEM, f"{paths[0]} isn't built", BUILD)
    return Finding("program", OK, "")
