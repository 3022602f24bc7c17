"""Checks of how a plan downloads: sinks of the methods, what must be built for them, memory, /tmp.

Terraform refuses most of this too, but only when it comes to the cell, perhaps the last of many.
Each check looks at the values of one cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments import go_program
from experiments.checking import fits, same
from experiments.download.own_object import is_read
from experiments.download.usage import DownloadValues
from stampede.checkout import ROOT
from stampede.experiment import look
from stampede.finding import BUILD, PROBLEM, WARNING, Finding, Wrong
from stampede.variable_rules import RULES

# Some methods only write a file; the others can also discard the bytes or keep them in memory.
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
# The AWS Common Runtime holds ranges until they are written [tried: 330 MiB at most, for 1 GiB in
# ranges of 16 MiB].
LEAST_CRT_MEMORY_MB = 512
SAME_OBJECT = ("existing_bucket", "s3_bucket_name", "s3_file_name", "region")


def checks(cells: Sequence[DownloadValues]) -> list[Finding]:
    """All checks of the variables of a plan's cells."""
    each = {
        "object and bucket": _own_object,
        "method": _method,
        "object and memory": _object_memory,
        "object and /tmp": _temporary_storage,
    }
    findings = look(each, cells)
    if any(map(is_read, cells)):
        findings.append(same("object", cells, SAME_OBJECT, "a sweep reads one object of your own"))
    return findings


def _own_object(cell: DownloadValues) -> Wrong:
    """An object of the user's own is in a named bucket, whose access logs stay as they are.
    Variables about such an object aren't set without one."""
    if not is_read(cell):
        for name in ("requester_pays", "object_kms_key_arn"):
            if cell[name]:
                way_out = "add --set object=s3://BUCKET/KEY, or leave it out"
                return PROBLEM, f"{name} is about an object of your own", way_out
    elif not cell["s3_bucket_name"]:
        way_out = "use --set object=s3://BUCKET/KEY, which says both"
        return PROBLEM, "existing_bucket needs s3_bucket_name", way_out
    elif cell["server_side_proof"]:
        found = "server_side_proof would change where your bucket's access logs go"
        return PROBLEM, found, "leave it out with an object of your own"
    return None


def _method(cell: DownloadValues) -> Wrong:
    """The method supports the sink, what it needs is built, and crt has enough memory."""
    name, sink, has_mb = cell["method"], cell["sink"], cell["memory_size"]
    if sink not in SINKS[name]:
        way_out = f"use --set sink={' or '.join(SINKS[name])}, or leave it out"
        return PROBLEM, f"method {name} doesn't support sink {sink!r}", way_out
    needed = BUILT.get(name, "").format(architecture=cell["architecture"])
    if needed and not (ROOT / needed).is_file():
        found = f"method {name} on {cell['architecture']} needs {needed}, which isn't built"
        return PROBLEM, found, BUILD
    if name == "crt" and has_mb < LEAST_CRT_MEMORY_MB:
        found = f"crt used up to 330 MiB when measured; Lambda may kill a function of {has_mb} MB"
        return WARNING, found, f"use --set memory_size={LEAST_CRT_MEMORY_MB} or more"
    return None


def _object_memory(cell: DownloadValues) -> Wrong:
    """The object fits into the function's memory if it is kept there."""
    held_mb = cell["object_size_mb"] if cell["sink"] == "memory" else 0
    return fits(cell, "memory_size", held_mb, "--set sink=discard or tmp")


def _temporary_storage(cell: DownloadValues) -> Wrong:
    """The object fits into /tmp if it is kept there."""
    held_mb = cell["object_size_mb"] if cell["sink"] == "tmp" else 0
    smaller = "a smaller object_size_mb, or method=stream, which keeps nothing"
    return fits(cell, "ephemeral_storage_mb", held_mb, smaller)
