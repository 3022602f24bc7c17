"""Checks of how a plan copies server-side.

`checks` are of cells whose workers are functions, `host_checks` of those of hosts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from experiments import go_program
from experiments.copy.key_plan import CopyValues, KeyPlan, KeyPlanError
from experiments.copy.work import throttled, wanted_per_s
from experiments.parameters import known_parameters
from stampede.experiment import look
from stampede.finding import PROBLEM, WARNING, Finding, Wrong
from stampede.model.request_rate import KMS_CALLS_PER_COPY

KEY_PLAN = (
    "object_bytes",
    "date_from",
    "date_to",
    "objects_per_folder",
    "key_order",
    "masters",
    "slice_rows",
)
# Lambda's quotas page: 1,024 file descriptors a function. A call at once is a connection, and
# others need some too.
LAMBDA_CALLS_AT_ONCE = 1000

# infra/copy_host.tf: instance types with AWS's own processors have a g behind their number.
ARM64 = re.compile(r"(a1|[a-z]+[0-9]+[a-z]*g[a-z]*)(-[a-z]+)?\.")

# A smaller share of the objects than this is no reason to warn.
HARDLY_ANY = 0.0001

Cells = Sequence[CopyValues]


def checks(cells: Cells) -> list[Finding]:
    """All of them, for the values of a plan's cells of functions."""
    built = go_program.check({cell["architecture"] for cell in cells})
    each = {"key plan": key_plan, "rate": rate, "mode": one_lister, "connections": descriptors}
    return [*look(each, cells), built]


def host_checks(cells: Cells) -> list[Finding]:
    """All of them, for the values of a plan's cells of hosts."""
    built = go_program.check(
        {"arm64" if ARM64.match(cell["instance_type"]) else "x86_64" for cell in cells}
    )
    return [
        *look({"key plan": partial(key_plan, always=True), "rate": rate, "KMS": kms}, cells),
        built,
    ]


def key_plan(cells: Cells, *, always: bool = False) -> Wrong:
    """The objects fit into the dates, the slices, the length of a key, and one CopyObject (5
    GB)."""
    for cell in cells:
        # a listing has no dates
        planned = cell["object_count"] if always or cell["from_manifest"] else 1
        try:
            KeyPlan(
                objects=planned, seed=cell["data_seed"], **{name: cell[name] for name in KEY_PLAN}
            )
        except KeyPlanError as error:
            return (
                PROBLEM,
                error.found.removeprefix("key plan: "),
                error.way_out or "change it with --set",
            )
    return None


def rate(cells: Cells) -> Wrong:
    """What all calls at once come to, against what S3 takes; a warning where objects may fail for
    it."""
    fixed = [cell for cell in cells if cell["pace"] == "fixed"]  # the adaptive pace finds the limit
    if not fixed:
        return None
    parameters = known_parameters("copy")
    most = max(fixed, key=partial(wanted_per_s, parameters=parameters))
    failed = throttled(most, parameters).failed
    if failed < HARDLY_ANY:
        return None
    found = (
        f"{most['concurrency_value']:,} x {most['parallel_limit']:,} parallel calls reach up to "
        f"{wanted_per_s(most, parameters):,.0f} calls/s on AWS; S3 takes "
        f"{parameters['s3_put_per_s']:,.0f} per prefix, so about {100 * failed:.2g} % of the "
        "objects may fail"
    )
    return WARNING, found, "use a smaller --set parallel_limit or more retry_attempts"


def kms(cells: Cells) -> Wrong:
    """Without bucket keys every copy asks KMS twice, whose quota of requests is the account's."""
    parameters = known_parameters("copy")
    wanted = [wanted_per_s(cell, parameters) for cell in cells if not cell["bucket_key"]]
    if not wanted:
        return None
    calls_per_s = KMS_CALLS_PER_COPY * min(parameters["s3_put_per_s"], max(wanted))
    found = (
        f"bucket_key = false: up to {calls_per_s:,.0f} KMS requests/s, out of the account's quota "
        "in the region"
    )
    return (
        WARNING,
        found,
        "leave bucket_key at true, or check the account's KMS quota in the console",
    )


def one_lister(cells: Cells) -> Wrong:
    """Each message of the listing mode empties the destination, so two at once would fight."""
    if any(cell["concurrency_value"] > 1 and not cell["from_manifest"] for cell in cells):
        found = (
            "concurrency_value above 1 without a manifest: every function would empty the others' "
            "destination"
        )
        return PROBLEM, found, "use --set from_manifest=true, or --set concurrency_value=1"
    return None


def descriptors(cells: Cells) -> Wrong:
    """A function's calls at once within its file descriptors on AWS."""
    most = max(cell["parallel_limit"] for cell in cells)
    if most <= LAMBDA_CALLS_AT_ONCE:
        return None
    found = (
        f"parallel_limit {most:,}: a function on AWS has 1,024 file descriptors, and each parallel "
        "call takes one"
    )
    way_out = (
        f"use --set parallel_limit={LAMBDA_CALLS_AT_ONCE} or less, and more functions with "
        "from_manifest=true"
    )
    return WARNING, found, way_out
