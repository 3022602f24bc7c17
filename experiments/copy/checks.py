"""Checks of how a plan copies server-side: `checks` if functions do it, `host_checks` if hosts do.

Each one looks at the values of one cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from experiments import go_program
from experiments.copy.key_plan import CopyValues, HostValues, KeyPlan, KeyPlanError
from experiments.copy.work import throttled, wanted_per_s
from experiments.parameters import known_parameters
from stampede.experiment import look
from stampede.finding import PROBLEM, WARNING, Finding, Wrong

KEY_PLAN = (
    "object_bytes",
    "date_from",
    "date_to",
    "objects_per_folder",
    "key_order",
    "masters",
    "slice_rows",
)
# Lambda allows a function 1,024 file descriptors (its quotas page). Each parallel call takes one,
# and a few serve other purposes.
LAMBDA_CALLS_AT_ONCE = 1000
# AWS's own processors have a g behind the number of the instance type (infra/copy_host.tf).
ARM64 = re.compile(r"(a1|[a-z]+[0-9]+[a-z]*g[a-z]*)(-[a-z]+)?\.")
# A smaller share of failed objects is no reason to warn.
HARDLY_ANY = 0.0001


def checks(cells: Sequence[CopyValues]) -> list[Finding]:
    """All checks of cells that run in functions."""
    built = go_program.check({cell["architecture"] for cell in cells})
    each = {"key plan": _manifest, "rate": _rate, "mode": _one_lister, "connections": _descriptors}
    return [*look(each, cells), built]


def host_checks(cells: Sequence[HostValues]) -> list[Finding]:
    """All checks of cells that run on hosts."""
    processors = {"arm64" if ARM64.match(cell["instance_type"]) else "x86_64" for cell in cells}
    each = {"key plan": _key_plan, "rate": _rate}
    return [*look(each, cells), go_program.check(processors)]


def _manifest(cell: CopyValues) -> Wrong:
    """As `_key_plan`; a listing has no dates, so its objects always fit into them."""
    return _key_plan(cell if cell["from_manifest"] else cell | {"object_count": 1})


def _key_plan(cell: CopyValues) -> Wrong:
    """The objects fit into the dates and the slices."""
    parameters = {name: cell[name] for name in KEY_PLAN}
    try:
        KeyPlan(objects=cell["object_count"], seed=cell["data_seed"], **parameters)
    except KeyPlanError as error:
        found = error.found.removeprefix("key plan: ")
        return PROBLEM, found, error.way_out or "change it with --set"
    return None


def _rate(cell: CopyValues) -> Wrong:
    """All parallel calls together stay within the rate that S3 takes, or nearly; the adaptive pace
    finds that by itself."""
    parameters = known_parameters("copy")
    failed = throttled(cell, parameters).failed
    if cell["pace"] != "fixed" or failed < HARDLY_ANY:
        return None
    found = (
        f"{cell['concurrency_value']:,} x {cell['parallel_limit']:,} parallel calls reach up to "
        f"{wanted_per_s(cell, parameters):,.0f} calls/s on AWS; S3 takes "
        f"{parameters['s3_put_per_s']:,.0f} per prefix, so about {100 * failed:.2g} % of the "
        "objects may fail"
    )
    return WARNING, found, "use a smaller --set parallel_limit or more retry_attempts"


def _one_lister(cell: CopyValues) -> Wrong:
    """Without a manifest each message empties the destination, so only one may run at a time."""
    if cell["concurrency_value"] == 1 or cell["from_manifest"]:
        return None
    found = (
        "concurrency_value above 1 without a manifest: every function would empty the others' "
        "destination"
    )
    return PROBLEM, found, "use --set from_manifest=true, or --set concurrency_value=1"


def _descriptors(cell: CopyValues) -> Wrong:
    """A function's parallel calls stay within its file descriptors on AWS."""
    if cell["parallel_limit"] <= LAMBDA_CALLS_AT_ONCE:
        return None
    found = (
        f"parallel_limit {cell['parallel_limit']:,}: a function on AWS has 1,024 file descriptors, "
        "and each parallel call takes one"
    )
    way_out = (
        f"use --set parallel_limit={LAMBDA_CALLS_AT_ONCE} or less, and more functions with "
        "from_manifest=true"
    )
    return WARNING, found, way_out
