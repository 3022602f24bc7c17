"""Checks of how a plan downloads: sinks that the methods have, what has to be built for them,
memory and /tmp.

Terraform refuses most of this too, but only when it comes to the cell; that may be the last of
many.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments import go_program
from experiments.download.own_object import is_read
from experiments.download.usage import DownloadValues
from experiments.temporary_storage import unfitting
from stampede.checkout import ROOT
from stampede.experiment import look
from stampede.finding import BUILD, PROBLEM, WARNING, Finding, Wrong
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
# The AWS Common Runtime holds ranges until they are written [tried: 330 MiB at most, for 1 GiB in
# ranges of 16 MiB].
LEAST_CRT_MEMORY_MB = 512
SAME_OBJECT = ("existing_bucket", "s3_bucket_name", "s3_file_name", "region")

Cells = Sequence[DownloadValues]


def checks(cells: Cells) -> list[Finding]:
    """All of them, for the variables of a plan's cells."""
    of_object = {"object and memory": object_memory, "object and /tmp": temporary_storage}
    return look({"object and bucket": own_object, "method": method, **of_object}, cells)


def own_object(cells: Cells) -> Wrong:
    """An object of the user's own is one, in a bucket that is named, and nothing else is asked of
    that bucket."""
    own = [cell for cell in cells if is_read(cell)]
    for name in ("requester_pays", "object_kms_key_arn"):
        if any(cell[name] and not is_read(cell) for cell in cells):
            way_out = "add --set object=s3://BUCKET/KEY, or leave it out"
            return PROBLEM, f"{name} is about an object of your own", way_out
    if any(not cell["s3_bucket_name"] for cell in own):
        return (
            PROBLEM,
            "existing_bucket needs s3_bucket_name",
            "use --set object=s3://BUCKET/KEY, which says both",
        )
    if any(cell["server_side_proof"] for cell in own):
        found = "server_side_proof would change where your bucket's access logs go"
        return PROBLEM, found, "leave it out with an object of your own"
    if own and len({(*map(cell.get, SAME_OBJECT),) for cell in cells}) > 1:
        return (
            PROBLEM,
            "a sweep reads one object of your own",
            f"give one value of each of {', '.join(SAME_OBJECT)}",
        )
    return None


def method(cells: Cells) -> Wrong:
    """Every method has the sink that it is used with, and what the methods need is built."""
    for cell in cells:
        name, sink = cell["method"], cell["sink"]
        if sink not in SINKS[name]:
            way_out = f"use --set sink={' or '.join(SINKS[name])}, or leave it out"
            return PROBLEM, f"method {name} doesn't support sink {sink!r}", way_out
        needed = BUILT.get(name, "").format(architecture=cell["architecture"])
        if needed and not (ROOT / needed).is_file():
            return (
                PROBLEM,
                f"method {name} on {cell['architecture']} needs {needed}, which isn't built",
                BUILD,
            )
    small = min(
        (cell["memory_size"] for cell in cells if cell["method"] == "crt"),
        default=LEAST_CRT_MEMORY_MB,
    )
    if small < LEAST_CRT_MEMORY_MB:
        found = f"crt used up to 330 MiB when measured; Lambda may kill a function of {small} MB"
        return WARNING, found, f"use --set memory_size={LEAST_CRT_MEMORY_MB} or more"
    return None


def object_memory(cells: Cells) -> Wrong:
    """The object fits into the function's memory where it is put there."""
    for cell in cells:
        object_mb, memory_mb = cell["object_size_mb"], cell["memory_size"]
        needed = object_mb + OTHER_MEMORY_MB
        if cell["sink"] == "memory" and memory_mb < needed:
            found = (
                f"an object of {object_mb} MiB needs {needed} MB of memory to be kept there, got "
                f"{memory_mb}"
            )
            more = (
                f"use --set memory_size={needed} or more, or "
                if RULES["memory_size"].allows(needed)
                else "use "
            )
            return PROBLEM, found, f"{more}--set sink=discard or tmp"
    return None


def temporary_storage(cells: Cells) -> Wrong:
    """The object fits into /tmp where it is put there."""
    return unfitting(
        cells,
        lambda cell: cell["object_size_mb"] if cell["sink"] == "tmp" else 0,
        "a smaller object_size_mb, or method=stream, which keeps nothing",
    )
