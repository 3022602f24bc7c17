"""Checks of how a plan copies server-side.

`checks` are of cells whose workers are functions, `host_checks` of those of hosts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from experiments import go_program
from experiments.copy.key_plan import KeyPlan, KeyPlanError
from experiments.copy.values import CopyValues
from experiments.copy.work import throttled, wanted_per_s
from experiments.parameters import known_parameters
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.model.request_rate import KMS_CALLS_PER_COPY
from stampede.phrases import counted

KEY_PLAN = ("object_bytes", "date_from", "date_to", "objects_per_folder", "key_order", "masters", "slice_rows")
# Lambda's quotas page: 1,024 file descriptors a function. A call at once is a connection, and others need some too.
LAMBDA_CALLS_AT_ONCE = 1000

# infra/copy_host.tf: instance types with AWS's own processors have a g behind their number.
ARM64 = re.compile(r"(a1|[a-z]+[0-9]+[a-z]*g[a-z]*)(-[a-z]+)?\.")

# A smaller share of the objects than this is no reason to warn.
HARDLY_ANY = 0.0001

Cells = Sequence[CopyValues]


def checks(cells: Cells) -> list[Finding]:
    """All of them, for the values of a plan's cells of functions."""
    architectures = {cell["architecture"] for cell in cells}
    return [
        calls(cells),
        key_plan(cells),
        rate(cells),
        one_lister(cells),
        descriptors(cells),
        go_program.check(architectures),
    ]


def host_checks(cells: Cells) -> list[Finding]:
    """All of them, for the values of a plan's cells of hosts."""
    architectures = {"arm64" if ARM64.match(cell["instance_type"]) else "x86_64" for cell in cells}
    return [calls(cells), key_plan(cells, always=True), rate(cells), kms(cells), go_program.check(architectures)]


def calls(cells: Cells) -> Finding:
    """How S3 is asked; what an axis doesn't allow was refused before."""
    limits = sorted({cell["parallel_limit"] for cell in cells})
    retries = ", ".join(
        sorted({f"{cell['retry_mode']} with {counted(cell['retry_attempts'], 'attempt')}" for cell in cells})
    )
    return Finding("calls", OK, f"parallel_limit {_range(limits)}; retries: {retries}")


def key_plan(cells: Cells, *, always: bool = False) -> Finding:
    """The objects fit into the dates, the slices, the length of a key, and one CopyObject (5 GB)."""
    for cell in cells:
        planned = cell["object_count"] if always or cell["from_manifest"] else 1  # a listing has no dates
        try:
            KeyPlan(objects=planned, seed=cell["data_seed"], **{name: cell[name] for name in KEY_PLAN})
        except KeyPlanError as error:
            found = error.found.removeprefix("key plan: ")
            return Finding("key plan", PROBLEM, found, error.way_out or "change it with --set")
    counts = sorted({cell["object_count"] for cell in cells})
    sizes = sorted({cell["object_bytes"] for cell in cells})
    return Finding("key plan", OK, f"{_range(counts, 'object')} of {_range(sizes, 'byte')}")


def rate(cells: Cells) -> Finding:
    """What all calls at once come to, against what S3 takes; a warning where objects may fail for it."""
    parameters = known_parameters("copy")
    limit_per_s, calls_per_s = parameters["s3_put_per_s"], partial(wanted_per_s, parameters=parameters)
    most = max(cells, key=calls_per_s)
    text = (
        f"{most['concurrency_value']:,} x {most['parallel_limit']:,} parallel calls reach at most about "
        f"{calls_per_s(most):,.0f} calls/s on AWS; S3 takes {limit_per_s:,.0f} calls/s per prefix"
    )
    if calls_per_s(most) <= limit_per_s:
        return Finding("rate", OK, text)
    if all(cell["pace"] == "adaptive" for cell in cells):
        return Finding("rate", OK, f"{text}, and the adaptive pace finds that limit")
    fixed = max((cell for cell in cells if cell["pace"] == "fixed"), key=calls_per_s)
    failed = throttled(fixed, parameters).failed
    share = "hardly any objects" if failed < HARDLY_ANY else f"about {100 * failed:.2g} % of the objects"
    retries = f"{counted(fixed['retry_attempts'], 'attempt')} and {fixed['retry_mode']} retries"
    text += f" and answers SlowDown beyond that: with {retries}, {share} may fail"
    if failed < HARDLY_ANY:
        return Finding("rate", OK, text)
    return Finding("rate", WARNING, text, "use a smaller --set parallel_limit or more retry_attempts")


def kms(cells: Cells) -> Finding:
    """Without bucket keys every copy asks KMS twice, whose quota of requests is the account's."""
    without = [cell for cell in cells if not cell["bucket_key"]]
    if not without:
        return Finding("KMS", OK, "with bucket keys: about one KMS request for every 20 copies")
    parameters = known_parameters("copy")
    copies_per_s = min(parameters["s3_put_per_s"], max(wanted_per_s(cell, parameters) for cell in without))
    text = (
        f"bucket_key = false: up to {KMS_CALLS_PER_COPY * copies_per_s:,.0f} KMS requests/s, out of the quota that all "
        "symmetric keys of this account share in the region"
    )
    return Finding("KMS", WARNING, text, "leave bucket_key at true, or check the account's KMS quota in the console")


def one_lister(cells: Cells) -> Finding:
    """Each message of the listing mode empties the destination, so two at once would fight."""
    if any(cell["concurrency_value"] > 1 and not cell["from_manifest"] for cell in cells):
        text = "concurrency_value above 1 without a manifest: every function would empty the others' destination"
        return Finding("mode", PROBLEM, text, "use --set from_manifest=true, or --set concurrency_value=1")
    modes = {"from a manifest" if cell["from_manifest"] else "by listing the source" for cell in cells}
    return Finding("mode", OK, " and ".join(sorted(modes)))


def descriptors(cells: Cells) -> Finding:
    """A function's calls at once within its file descriptors on AWS."""
    most = max(cell["parallel_limit"] for cell in cells)
    if most <= LAMBDA_CALLS_AT_ONCE:
        return Finding("connections", OK, f"{most:,} parallel calls fit within a function's 1,024 file descriptors")
    text = f"parallel_limit {most:,}: a function on AWS has 1,024 file descriptors, and each parallel call takes one"
    way_out = f"use --set parallel_limit={LAMBDA_CALLS_AT_ONCE} or less, and more functions with from_manifest=true"
    return Finding("connections", WARNING, text, way_out)


def _range(numbers: Sequence[int], unit: str = "") -> str:
    most = counted(numbers[-1], unit) if unit else f"{numbers[-1]:,}"
    return most if len(numbers) == 1 else f"{numbers[0]:,} to {most}"
