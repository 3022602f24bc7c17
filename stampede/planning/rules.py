"""What of a plan can't work, or not well: its cells against the rules of Lambda, of SQS and of S3. Arithmetic only.

Terraform refuses some of this too, but only when it comes to the cell; that may be the last of many.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from experiments import Experiment
from stampede.experiment import MINIMUM_FOR_COMPARISON
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import minutes
from stampede.planning import access_log
from stampede.planning.demand import Demand
from stampede.stacks import target as targets
from stampede.variable_rules import RULES

# The most of a trigger's maximum concurrency, which the stack always sets in standard mode (Lambda guide,
# services-sqs-scaling; without it 1,250).
MOST_WITHOUT_POLLERS = RULES["concurrency_value"].shared["without_pollers"]
# Each poller invokes so many functions at once (Lambda guide, SQS event source mappings).
INVOCATIONS_PER_POLLER = RULES["concurrency_value"].shared["per_poller"]
# Lambda's provisioned mode for SQS: 2 to 200 pollers at least, at most 10,000 since August 2026 (2,000 before).
LEAST_POLLERS = RULES["provisioned_pollers"].attributes["minimum"]
# What the function keeps back from its timeout to write its record (MARGIN_S of functions/common).
RECORD_MARGIN_S = 3.0
# SQS keeps a message that was received back for so long in all (SQS developer guide, visibility timeout).
LONGEST_HOLD_S = RULES["visibility_timeout_s"].most
# Lambda's guide: the last 100 of an account's concurrency can't be reserved; in an account below that, none at all.
UNRESERVED = 100
# S3 User Guide, "Delivering server access logs to CloudWatch Logs": what it takes until the configuration is in effect;
# only requests after that are logged. Their lines come "within a few hours", elsewhere in the guide "a few minutes".
LOGS_BEGIN_S = 20 * 60
# What's New of June 2026: not offered there.
WITHOUT_ACCESS_LOGS = re.compile(RULES["region"].shared["without_access_logs"])


def check(cells: Sequence[Demand], experiment: Experiment, target: str, run_s: float = math.inf) -> list[Finding]:
    """All checks of the matrix, for a run of `run_s` seconds: the experiment's own, and those that every one has."""
    values = [demand.cell.values for demand in cells]
    findings = [*experiment.checks(values), *measurements(cells, experiment)]
    if target == "local" and not any(finding.status == PROBLEM for finding in findings):
        findings += experiment.local_checks(values)
    if any(access_log.is_on(demand.cell.values) for demand in cells):
        findings.append(access_logs(target, str(values[0]["region"]), run_s))
    limited = [demand for demand in cells if not demand.usage.in_athena]
    if limited:
        findings += late_start(limited) or [time_limit(limited, experiment.operation[0], target)]
    return findings if cells[0].usage.on_hosts else [*findings, trigger(cells)]


def time_limit(cells: Sequence[Demand], operation: str, target: str) -> Finding:
    """One operation, with its wait at the start barrier, and what prepares a cell end before the function's timeout;
    that of a host, which holds its message back while it works, while SQS lets it. How fast this machine is, nobody
    knows before the run."""

    def longest_s(demand: Demand) -> float:
        return max(demand.longest_s, demand.preparation_s("aws"))

    def expected_s(demand: Demand) -> float:
        return longest_s(demand) + demand.barrier_s + RECORD_MARGIN_S

    def limit_s(demand: Demand) -> float:
        return LONGEST_HOLD_S if demand.usage.on_hosts else demand.timeout_s

    slowest = max(cells, key=lambda demand: expected_s(demand) / limit_s(demand))
    if target == "local" or not longest_s(slowest) or expected_s(slowest) <= 0.7 * limit_s(slowest):
        return Finding("time limit", OK)
    what = operation if longest_s(slowest) == slowest.longest_s else "preparation"
    barrier = f" after {slowest.barrier_s:g} s at the start barrier" if slowest.barrier_s else ""
    limit = "SQS holds its message for 12 h" if slowest.usage.on_hosts else f"timeout_s is {slowest.timeout_s}"
    times = f"one {what} may take {longest_s(slowest):,.1f} s{barrier}, {limit} ({slowest.name})"
    enough_s = 2 * math.ceil(expected_s(slowest))
    larger = slowest.usage.in_lambda and RULES["timeout_s"].allows(enough_s)
    way_out = f"use {f'--set timeout_s={enough_s}, or ' if larger else ''}a smaller {slowest.usage.sized_by}, or "
    status = PROBLEM if expected_s(slowest) > limit_s(slowest) else WARNING
    return Finding("time limit", status, times, f"{way_out}{slowest.usage.faster_by}")


def late_start(cells: Sequence[Demand]) -> list[Finding]:
    """A start barrier that leaves nothing of the function's timeout: a message that is delivered at once can't be held
    back so long; it would fail, come back, and start alone."""
    for late in cells:
        if late.usage.in_lambda and late.barrier_s > 0 and late.barrier_s + RECORD_MARGIN_S >= late.timeout_s:
            enough_s = 2 * math.ceil(late.longest_s + late.barrier_s + RECORD_MARGIN_S)
            found = (
                f"a start barrier of {late.barrier_s:g} s and {RECORD_MARGIN_S:g} s for the record don't fit into "
                f"timeout_s {late.timeout_s} ({late.name})"
            )
            way_out = f"use --set timeout_s={min(RULES['timeout_s'].most, enough_s)}, or a shorter barrier"
            return [Finding("time limit", PROBLEM, found, way_out)]
    return []


def trigger(cells: Sequence[Demand]) -> Finding:
    """N is within reach of the trigger, and provisioned pollers fetch about as much as N functions take."""
    findings = [_reach(demand.concurrency, demand.pollers) for demand in cells]
    return min(findings, key=lambda finding: (PROBLEM, WARNING, OK).index(finding.status))


def _reach(n: int, pollers: tuple[int, int] | None) -> Finding:
    if pollers is None:
        if n <= MOST_WITHOUT_POLLERS:
            return Finding("trigger", OK)
        beyond = f"concurrency_value {n}: an SQS trigger in standard mode reaches {MOST_WITHOUT_POLLERS} at most"
        return Finding("trigger", PROBLEM, beyond, "set provisioned_pollers, or sweep a smaller N")
    least, most = pollers
    reach = most * INVOCATIONS_PER_POLLER
    fitting = max(LEAST_POLLERS.least, -(-n // INVOCATIONS_PER_POLLER))
    way_out = f"use --set provisioned_pollers={{minimum={min(least, fitting)},maximum={fitting}}}"
    setting = f"provisioned_pollers {{minimum={least},maximum={most}}}"
    if least > most:
        return Finding("trigger", PROBLEM, f"{setting}: the maximum must not be below the minimum", way_out)
    if reach < n:
        shortfall = f"{setting} reach {reach:,} functions at once, but concurrency_value is {n}"
        return Finding("trigger", PROBLEM, shortfall, way_out)
    if most > fitting and reach > 2 * n + INVOCATIONS_PER_POLLER:
        # What the functions can't take is throttled and tried again until its visibility timeout is over; five times
        # that, and it is a dead letter.
        excess = f"{setting} fetch for {reach:,} functions at once, but only {n} may run; the rest is throttled"
        return Finding("trigger", WARNING, excess, way_out)
    return Finding("trigger", OK)


def measurements(cells: Sequence[Demand], experiment: Experiment) -> list[Finding]:
    """A warning where a cell has too few messages for the conclusion by size that the experiment is about."""
    if experiment.by_size is None:
        return []
    name, moves = experiment.by_size.moves
    variable = next(axis.variable for axis in experiment.axes if axis.name == name)
    counts: Counter[str] = Counter()
    for demand in cells:
        if demand.cell.values.get(variable) in moves:
            counts[demand.cell.alike] += demand.cell.messages
    least = min(counts.values(), default=MINIMUM_FOR_COMPARISON)
    if least >= MINIMUM_FOR_COMPARISON:
        return []
    few = f"{least} in the smallest cell; the report draws a conclusion about a size from {MINIMUM_FOR_COMPARISON} on"
    return [Finding("measurements", WARNING, few, "raise --messages-per-concurrency or --repeats")]


def access_logs(option: str, region: str, run_s: float) -> Finding:
    """S3's own count of the requests (server_side_proof) can be had where a sweep with --target `option` goes, and
    within its `run_s` seconds."""
    name, variable = "access logs", access_log.VARIABLE
    leave_out = f"leave {variable} out (--set, TF_VAR_{variable}, *.tfvars)"
    configured = targets.configured({}) if option == "aws" else None
    elsewhere = configured.url_of("s3") or configured.url_of("logs") if configured else "the embedded AWS"
    if elsewhere:
        problem = f"{variable}: only S3 on AWS delivers server access logs, and {elsewhere} isn't AWS"
        return Finding(name, PROBLEM, problem, leave_out)
    if WITHOUT_ACCESS_LOGS.match(region):
        problem = f"{variable}: S3 in {region} doesn't deliver server access logs to CloudWatch Logs"
        return Finding(name, PROBLEM, problem, f"{leave_out}, or use --set region=...")
    sweep_s = run_s - access_log.WAIT_S
    if sweep_s >= 2 * LOGS_BEGIN_S:
        return Finding(name, OK)
    problem = (
        f"S3 logs requests from {minutes(LOGS_BEGIN_S)} after the apply, and this sweep takes about "
        f"{minutes(sweep_s)}: few or none of its requests will be logged"
    )
    way_out = "apply the stack half an hour earlier, and use --take-over --keep (docs/server_side_proof.md)"
    return Finding(name, WARNING, problem, way_out)
