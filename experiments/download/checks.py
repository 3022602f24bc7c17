"""Checks of how a plan downloads: sinks that the methods have, what has to be built for them, memory and /tmp.

Terraform refuses most of this too, but only when it comes to the cell; that may be the last of many.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments import go_program
from experiments.download.values import DownloadValues
from stampede.checkout import ROOT
from stampede.experiment import TMP_MARGIN_MB
from stampede.finding import BUILD, OK, PROBLEM, WARNING, Finding
from stampede.variable_rules import RULES

# Every method writes a file but those that can also throw the bytes away or keep them.
SINKS = {
    method: ("tmp",) if method in RULES["sink"].shared["methods_to_tmp"] else RULES["sink"].choices
    for method in RULES["method"].choices
}
# What `make functions` builds, by method.
BUILT = {
    "crt": "functions/download/build/{architecture}/python/awscrt/__init__.py",
    "go_stream": go_program.BUILT,
    "go_ranges": go_program.BUILT,
}
# What a function needs besides the object when it holds that in memory.
OTHER_MEMORY_MB = RULES["memory_size"].shared["beside_object_mb"]
# The AWS Common Runtime holds ranges until they are written [tried: 330 MiB at most, for 1 GiB in ranges of 16 MiB].
LEAST_CRT_MEMORY_MB = 512
TMP_MB = RULES["ephemeral_storage_mb"]

Cells = Sequence[DownloadValues]


def checks(cells: Cells) -> list[Finding]:
    """All of them, for the variables of a plan's cells."""
    return [method(cells), object_memory(cells), temporary_storage(cells)]


def method(cells: Cells) -> Finding:
    """Every method has the sink that it is used with, and what the methods need is built."""
    for cell in cells:
        name, sink = cell["method"], cell["sink"]
        if sink not in SINKS[name]:
            found = f"method {name} doesn't support sink {sink!r}"
            return Finding("method", PROBLEM, found, f"use --set sink={' or '.join(SINKS[name])}, or leave it out")
        needed = BUILT.get(name, "").format(architecture=cell["architecture"])
        if needed and not (ROOT / needed).is_file():
            found = f"method {name} on {cell['architecture']} needs {needed}, which isn't built"
            return Finding("method", PROBLEM, found, BUILD)
    small = min((cell["memory_size"] for cell in cells if cell["method"] == "crt"), default=LEAST_CRT_MEMORY_MB)
    if small < LEAST_CRT_MEMORY_MB:
        found = (
            f"crt used up to 330 MiB when measured; Lambda may kill a function of {small} MB before it logs a record"
        )
        return Finding("method", WARNING, found, f"use --set memory_size={LEAST_CRT_MEMORY_MB} or more")
    return Finding("method", OK, ", ".join(sorted({f"{cell['method']} to {cell['sink']}" for cell in cells})))


def object_memory(cells: Cells) -> Finding:
    """The object fits into the function's memory where it is put there."""
    holding = [cell for cell in cells if cell["sink"] == "memory"]
    wrong = next((cell for cell in holding if cell["memory_size"] < cell["object_size_mb"] + OTHER_MEMORY_MB), None)
    if wrong is None:
        found = "the object fits" if holding else "no method keeps the object in memory"
        return Finding("object and memory", OK, found)
    needed = wrong["object_size_mb"] + OTHER_MEMORY_MB
    found = (
        f"{wrong['method']} keeps an object of {wrong['object_size_mb']} MiB in memory, but the function has "
        f"{wrong['memory_size']} MB and needs at least the object's size + {OTHER_MEMORY_MB}"
    )
    more = f"use --set memory_size={needed} or more, or " if RULES["memory_size"].allows(needed) else "use "
    return Finding("object and memory", PROBLEM, found, f"{more}--set sink=discard or tmp")


def temporary_storage(cells: Cells) -> Finding:
    """The object fits into /tmp where it is put there."""
    wrong = next((cell for cell in cells if not _fits_into_tmp(cell)), None)
    if wrong is None:
        use = "the object fits" if any(cell["sink"] == "tmp" for cell in cells) else "no method writes there"
        least, most = (pick(cell["ephemeral_storage_mb"] for cell in cells) for pick in (min, max))
        return Finding("object and /tmp", OK, f"{least if least == most else f'{least} to {most}'} MB; {use}")
    object_mb, tmp_mb = wrong["object_size_mb"], wrong["ephemeral_storage_mb"]
    needed = object_mb + TMP_MARGIN_MB
    way_out = (
        f"use --set ephemeral_storage_mb={needed}"
        if TMP_MB.allows(needed)
        else f"use --set object_size_mb=... from 1 to {TMP_MB.most - TMP_MARGIN_MB}"
    )
    found = (
        f"an object of {object_mb} MiB with ephemeral_storage_mb {tmp_mb}: "
        f"/tmp must have {TMP_MB.least} to {TMP_MB.most} MB, and at least the object's size + {TMP_MARGIN_MB}"
    )
    return Finding("object and /tmp", PROBLEM, found, way_out)


def _fits_into_tmp(cell: DownloadValues) -> bool:
    return cell["sink"] != "tmp" or cell["object_size_mb"] + TMP_MARGIN_MB <= cell["ephemeral_storage_mb"]
