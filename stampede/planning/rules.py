"""What can't work in a plan, or not well, according to the rules of Lambda, SQS and S3. Arithmetic
only.

Terraform refuses some of this too, but only when it comes to the cell, perhaps the last of many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments import Experiment
from stampede.finding import OK, PROBLEM, WARNING, Finding, Wrong, worst
from stampede.phrases import minutes
from stampede.planning import access_log
from stampede.planning.demand import Demand
from stampede.stacks import target as targets
from stampede.variable_rules import RULES

# The upper limit of a trigger's maximum concurrency, which the stack always sets in standard mode
# (Lambda guide, services-sqs-scaling; without it 1,250).
MOST_WITHOUT_POLLERS = RULES["concurrency_value"].shared["without_pollers"]
# Each poller invokes this many functions at once (Lambda guide, SQS event source mappings).
INVOCATIONS_PER_POLLER = RULES["concurrency_value"].shared["per_poller"]
# Lambda's provisioned mode for SQS: a minimum of 2 to 200 pollers, and a maximum of up to 10,000
# since August 2026 (2,000 before).
LEAST_POLLERS = RULES["provisioned_pollers"].attributes["minimum"].least
# The function reserves this part of its timeout for its record (MARGIN_S of functions/common).
RECORD_MARGIN_S = 3.0
# An operation is near its time limit from this share on.
NEAR = 0.7
# The longest time for which SQS hides a received message (SQS developer guide, visibility
# timeout).
LONGEST_HOLD_S = RULES["visibility_timeout_s"].most
# The last 100 of an account's concurrency can't be reserved (Lambda's guide).
UNRESERVED = 100
# S3 User Guide, "Delivering server access logs to CloudWatch Logs": the configuration takes this
# long to become effective, and earlier requests aren't logged. Lines come "within a few hours",
# elsewhere in the guide "a few minutes".
LOGS_BEGIN_S = 20 * 60


def check(
    cells: Sequence[Demand], experiment: Experiment, target: str, run_s: float = math.inf
) -> list[Finding]:
    """All checks, the experiment's own and the general ones, for a run of `run_s` seconds."""
    values = [demand.cell.values for demand in cells]
    findings = list(experiment.checks(values))
    if target == "local" and not any(finding.status == PROBLEM for finding in findings):
        findings += experiment.local_checks(values)
    if any(map(access_log.is_on, values)):
        findings.append(Finding("access logs", *(access_logs(target, run_s) or (OK,))))
    if limited := [demand for demand in cells if not demand.usage.in_athena]:
        findings.append(time_limit(limited, experiment.operation[0], target))
    return findings if cells[0].usage.on_hosts else [*findings, trigger(cells)]


def time_limit(cells: Sequence[Demand], operation: str, target: str = "aws") -> Finding:
    """An operation with its wait at the start barrier, or the preparation of a cell, ends before
    the function's timeout; on a host, before SQS stops hiding its message. The speed of this
    machine isn't known, so with `target` "local" only the barrier counts, as in a cell without a
    prediction."""

    def longest_s(demand: Demand) -> float:
        return max(demand.longest_s, demand.preparation_s("aws")) if target == "aws" else 0.0

    def share(demand: Demand) -> float:
        taken_s = longest_s(demand) + demand.barrier_s
        limit_s = LONGEST_HOLD_S if demand.usage.on_hosts else demand.timeout_s
        return (taken_s + RECORD_MARGIN_S) / limit_s if taken_s else 0.0

    slowest = max(cells, key=share)
    if share(slowest) < NEAR:
        return Finding("time limit", OK)
    usage, slowest_s = slowest.usage, longest_s(slowest)
    what = f"one {operation}" if slowest_s <= slowest.longest_s else "the preparation"
    limit = f"timeout_s is {slowest.timeout_s}"
    if usage.on_hosts:
        limit = "SQS holds a message for 12 h"
    enough_s = 2 * math.ceil(slowest_s + slowest.barrier_s + RECORD_MARGIN_S)
    is_possible = usage.in_lambda and RULES["timeout_s"].allows(enough_s)
    larger = f"--set timeout_s={enough_s}, or " if is_possible else ""
    status = PROBLEM if share(slowest) >= 1 else WARNING
    return Finding(
        "time limit",
        status,
        f"{slowest_s:,.1f} s for {what}, {slowest.barrier_s:g} s at the start barrier and "
        f"{RECORD_MARGIN_S:g} s for the record, but {limit} ({slowest.name})",
        f"use {larger}a smaller {usage.sized_by}, {usage.faster_by}, or a shorter barrier",
    )


def trigger(cells: Sequence[Demand]) -> Finding:
    """The trigger reaches N, and provisioned pollers fetch about as much as N functions take."""
    return worst("trigger", _out_of_reach, cells)


def fitting_pollers(n: int) -> int:
    """The provisioned pollers that fetch for `n` functions at once."""
    return max(LEAST_POLLERS, -(-n // INVOCATIONS_PER_POLLER))


def _out_of_reach(demand: Demand) -> Wrong:
    n, pollers = demand.concurrency, demand.pollers
    if pollers is None:
        if n <= MOST_WITHOUT_POLLERS:
            return None
        return (
            PROBLEM,
            f"concurrency_value {n}: an SQS trigger in standard mode reaches "
            f"{MOST_WITHOUT_POLLERS} at most",
            "set provisioned_pollers, or sweep a smaller N",
        )
    least, most = pollers
    reach, fitting = most * INVOCATIONS_PER_POLLER, fitting_pollers(n)
    way_out = f"use --set provisioned_pollers={{minimum={min(least, fitting)},maximum={fitting}}}"
    setting = f"provisioned_pollers {{minimum={least},maximum={most}}}"
    if least > most:
        return PROBLEM, f"{setting}: the maximum must not be below the minimum", way_out
    found = f"{setting} fetch for {reach:,} functions at once, and concurrency_value is {n}"
    if reach < n:
        return PROBLEM, found, way_out
    # A message that finds no free function is throttled and retried until its visibility timeout
    # ends; after five times it is a dead letter.
    is_excess = most > fitting and reach > 2 * n + INVOCATIONS_PER_POLLER
    return (WARNING, f"{found}; the rest is throttled", way_out) if is_excess else None


def access_logs(option: str, run_s: float) -> Wrong:
    """S3's own count of the requests (server_side_proof) is available at --target `option`, and
    within the sweep's `run_s` seconds."""
    variable, elsewhere = access_log.VARIABLE, "the embedded AWS"
    if option == "aws":
        configured = targets.configured({})
        elsewhere = configured.url_of("s3") or configured.url_of("logs")
    if elsewhere:
        return (
            PROBLEM,
            f"{variable}: only S3 on AWS delivers server access logs, and {elsewhere} isn't AWS",
            f"leave {variable} out (--set, TF_VAR_{variable}, *.tfvars)",
        )
    sweep_s = run_s - access_log.WAIT_S
    if sweep_s >= 2 * LOGS_BEGIN_S:
        return None
    return (
        WARNING,
        f"S3 logs requests from {minutes(LOGS_BEGIN_S)} after the apply, and this sweep takes "
        f"about {minutes(sweep_s)}: few or none of its requests will be logged",
        "apply the stack earlier, and use --take-over --keep (docs/server_side_proof.md)",
    )
