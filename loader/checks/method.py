"""Checks of how a plan downloads: methods and sinks that there are, what has to be built for them, and memory."""

from __future__ import annotations

from emulator.stack import ROOT
from loader.checks.finding import OK, PROBLEM, WARNING, Finding
from loader.cost.demand import Demand

# infra's rule: every method writes a file but those that can also throw the bytes away or keep them.
SINKS = {
    "download_file": ("tmp",),
    "crt": ("tmp",),
    "stream": ("discard", "memory", "tmp"),
    "ranges": ("discard", "memory", "tmp"),
    "go_stream": ("discard", "memory", "tmp"),
    "go_ranges": ("discard", "memory", "tmp"),
}
GO = "functions/transfer/build/{architecture}/bootstrap"
# What `make functions` builds, by method.
BUILT = {
    "crt": "functions/download/build/{architecture}/python/awscrt/__init__.py",
    "go_stream": GO,
    "go_ranges": GO,
}
# infra's rule: what a function needs besides the object when it holds that in memory.
OTHER_MEMORY_MB = 128
# The AWS Common Runtime holds ranges until they are written [tried: 330 MiB at most, for 1 GiB in ranges of 16 MiB].
LEAST_CRT_MEMORY_MB = 512
MOST_MEMORY_MB = 10_240


def method(cells: list[Demand]) -> Finding:
    """Every method and sink is one that there is, and what the methods need is built."""
    for cell in cells:
        if cell.method not in SINKS:
            return Finding("method", PROBLEM, f"unknown method {cell.method!r}", f"choose one of {', '.join(SINKS)}")
        if cell.sink not in SINKS[cell.method]:
            possible = " or ".join(SINKS[cell.method])
            found = f"method {cell.method} can't put the bytes into sink {cell.sink!r}"
            return Finding("method", PROBLEM, found, f"use --set sink={possible}, or leave it out")
        needed = BUILT.get(cell.method, "").format(architecture=cell.architecture)
        if needed and not (ROOT / needed).is_file():
            found = f"method {cell.method} on {cell.architecture} needs {needed}, which isn't built"
            return Finding("method", PROBLEM, found, "run `make functions`")
    small = min((cell.memory_mb for cell in cells if cell.method == "crt"), default=LEAST_CRT_MEMORY_MB)
    if small < LEAST_CRT_MEMORY_MB:
        found = (
            f"crt was seen with 330 MiB in use, and a function of {small} MB may be ended by Lambda without a record"
        )
        return Finding("method", WARNING, found, f"use --set memory_size={LEAST_CRT_MEMORY_MB} or more")
    return Finding("method", OK, ", ".join(sorted({f"{cell.method} to {cell.sink}" for cell in cells})))


def object_memory(cells: list[Demand]) -> Finding:
    """The object fits into the function's memory where it is put there."""
    holding = [cell for cell in cells if cell.sink == "memory"]
    wrong = next((cell for cell in holding if cell.memory_mb < cell.object_mb + OTHER_MEMORY_MB), None)
    if wrong is None:
        return Finding("object and memory", OK, "it fits" if holding else "no method keeps the object in memory")
    needed = wrong.object_mb + OTHER_MEMORY_MB
    found = (
        f"{wrong.method} keeps an object of {wrong.object_mb} MiB in a function of {wrong.memory_mb} MB: "
        f"that takes at least the object + {OTHER_MEMORY_MB}"
    )
    more = f"use --set memory_size={needed} or more, or " if needed <= MOST_MEMORY_MB else "use "
    return Finding("object and memory", PROBLEM, found, f"{more}--set sink=discard or tmp")
