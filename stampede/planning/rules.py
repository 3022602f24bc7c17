"""Checks of the matrix against the rules of Lambda, of SQS and of infra/: arithmetic only.

Terraform refuses most of this too, but only when it comes to the cell; that may be the last of many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments import Experiment
from stampede.errors import refuse_problems
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import counted
from stampede.planning.demand import Demand, Pollers
from stampede.planning.plan import correction
from stampede.stacks.infra_variables import declared
from stampede.variable_rules import RULES, Rule

TRUE_OR_FALSE = Rule("must be true or false", choices=(True, False, "true", "false"))
# A message stays hidden for so many timeouts of the function (Lambda guide, services-sqs-configure).
HOLDS = RULES["visibility_timeout_s"].shared["timeouts"]
# The most of a trigger's maximum concurrency, which the stack always sets in standard mode (Lambda guide,
# services-sqs-scaling; without it 1,250).
MOST_WITHOUT_POLLERS = RULES["concurrency_value"].shared["without_pollers"]
# Each poller invokes so many functions at once (Lambda guide, SQS event source mappings).
INVOCATIONS_PER_POLLER = RULES["concurrency_value"].shared["per_poller"]
# Lambda's provisioned mode for SQS: 2 to 200 pollers at least, at most 10,000 since August 2026 (2,000 before).
LEAST_POLLERS = RULES["provisioned_pollers"].attributes["minimum"]
MOST_POLLERS = RULES["provisioned_pollers"].attributes["maximum"]
# What Python has for Terraform's types of collections.
COLLECTIONS = {"map": dict, "list": list}
# What the function keeps back from its timeout to write its record (MARGIN_S of functions/common).
RECORD_MARGIN_S = 3.0
# SQS keeps a message that was received back for so long in all (SQS developer guide, visibility timeout).
LONGEST_HOLD_S = RULES["visibility_timeout_s"].most
# Lambda's guide: the last 100 of an account's concurrency can't be reserved; in an account below that, none at all.
UNRESERVED = 100


def check(cells: list[Demand], experiment: Experiment, target: str) -> list[Finding]:
    """All checks of the matrix: those that every experiment has and, where all values keep infra's rules, its own."""
    operation, operations = experiment.operation
    plan = matrix(cells, operations)
    if problems := out_of_bounds(cells):
        return [plan, *problems]
    values = [demand.cell.values for demand in cells]
    findings = [plan, *experiment.checks(values)]
    if target == "local" and not any(finding.status == PROBLEM for finding in findings):
        findings += experiment.local_checks(values)
    if cells[0].usage.on_hosts:
        return [*findings, hold(cells, operation)]
    working = [demand for demand in cells if demand.usage.in_lambda]
    timed = [time_limit(working, operation, target)] if working else []
    return [*findings, memory(cells), *timed, trigger(cells)]


def out_of_bounds(cells: Sequence[Demand]) -> list[Finding]:
    """A problem for each variable with a value that infra/ takes from nobody. Terraform refuses it too, but only once
    the sweep has begun."""
    problems = broken_rules([demand.cell.values for demand in cells])
    for demand in cells:
        hidden_s, least_s = demand.cell.values.get("visibility_timeout_s"), HOLDS * demand.timeout_s
        if hidden_s is not None and hidden_s < least_s:
            rule = f"must be at least {HOLDS} x timeout_s = {least_s}, got {hidden_s}"
            fix = "leave it out, or use a shorter timeout_s"
            return [*problems, Finding("visibility_timeout_s", PROBLEM, rule, fix)]
    return problems


def broken_rules(stacks: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """A problem for each variable of which a value, in one of the `stacks`, breaks its rule."""
    problems = []
    for name, variable in declared().items():
        rule = TRUE_OR_FALSE if variable.type == "bool" else RULES.get(name, Rule())
        values = [value for stack in stacks if (value := stack.get(name)) is not None]
        collection = COLLECTIONS.get(variable.type.partition("(")[0], object)
        wrong = [value for value in values if not isinstance(value, collection)]
        wrong = wrong or [part for value in values for part in rule.breaks(value)]
        if wrong:
            fix = correction(name) + (f"; {rule.fix}" if rule.fix else "")
            problems.append(Finding(name, PROBLEM, f"{rule.rule}, got {wrong[0] if wrong[0] != '' else repr('')}", fix))
    return problems


def refuse_out_of_bounds(cells: Sequence[Demand]) -> None:
    """Raise UsageError for the first problem that is `out_of_bounds`."""
    refuse_problems(out_of_bounds(cells))


def matrix(cells: list[Demand], operations: str) -> Finding:
    """What the plan is; always ok."""
    most = max(demand.concurrency for demand in cells)
    messages = sum(demand.operations for demand in cells)
    sizes = " or ".join(f"{size:,}" for size in sorted({demand.usage.moved_mb for demand in cells}))
    each = f" of {sizes} MiB each" if sizes != "0" else ""
    load = f"N up to {most:,}, {messages:,} {operations}{each}"
    return Finding("matrix", OK, f"{counted(len(cells), 'cell')}, {load}")


def memory(cells: list[Demand]) -> Finding:
    """The memory of the functions; always ok."""
    sizes = {demand.memory_mb for demand in cells}
    return Finding("memory", OK, f"{min(sizes)} MB" if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)} MB")


def time_limit(cells: list[Demand], operation: str, target: str) -> Finding:
    """One operation, with its wait at the start barrier, and what prepares a cell end before the function's timeout."""

    def longest_s(demand: Demand) -> float:
        return max(demand.longest_s, demand.preparation_s("aws"))

    def expected_s(demand: Demand) -> float:
        return longest_s(demand) + demand.barrier_s + RECORD_MARGIN_S

    if (too_late := late_start(cells)) is not None:
        return too_late
    if target == "local" or not any(map(longest_s, cells)):  # how fast this machine is nobody knows before the run
        return Finding("time limit", OK, f"not predicted; timeout_s is {max(demand.timeout_s for demand in cells)}")
    slowest = max(cells, key=lambda demand: expected_s(demand) / demand.timeout_s)
    what = operation if longest_s(slowest) == slowest.longest_s else "preparation"
    barrier = f" after {slowest.barrier_s:g} s at the start barrier" if slowest.barrier_s else ""
    times = f"one {what} may take {longest_s(slowest):,.1f} s{barrier}, timeout_s is {slowest.timeout_s}"
    if expected_s(slowest) <= 0.7 * slowest.timeout_s:
        return Finding("time limit", OK, times)
    too_long = expected_s(slowest) > slowest.timeout_s
    enough_s = 2 * math.ceil(expected_s(slowest))
    longer = f"use --set timeout_s={enough_s}, or " if RULES["timeout_s"].allows(enough_s) else "use "
    way_out = f"{longer}a smaller {slowest.usage.sized_by}, or {slowest.usage.faster_by}"
    return Finding("time limit", PROBLEM if too_long else WARNING, f"{times} ({slowest.name})", way_out)


def late_start(cells: list[Demand]) -> Finding | None:
    """A start barrier that leaves nothing of the function's timeout."""
    late = _first(cells, lambda demand: demand.barrier_s > 0 and demand.barrier_s + RECORD_MARGIN_S >= demand.timeout_s)
    if late is None:
        return None
    # A message that is delivered at once can't be held back so long: it would fail, come back, and start alone.
    enough_s = 2 * math.ceil(late.longest_s + late.barrier_s + RECORD_MARGIN_S)
    return Finding(
        "time limit",
        PROBLEM,
        f"a start barrier of {late.barrier_s:g} s and {RECORD_MARGIN_S:g} s for the record don't fit into "
        f"timeout_s {late.timeout_s} ({late.name})",
        f"use --set timeout_s={min(RULES['timeout_s'].most, enough_s)}, or a shorter barrier",
    )


def hold(cells: list[Demand], operation: str) -> Finding:
    """One operation of a host, which holds its message back while it works, ends while SQS lets it."""
    slowest = max(cells, key=lambda demand: demand.longest_s)
    if not slowest.longest_s:
        return Finding("time limit", OK, f"not predicted; the message of a {operation} stays hidden meanwhile")
    longest = f"one {operation} of a host may take {slowest.longest_s:,.0f} s"
    if slowest.longest_s <= LONGEST_HOLD_S:
        return Finding("time limit", OK, f"{longest}; its message stays hidden meanwhile")
    return Finding(
        "time limit",
        PROBLEM,
        f"{longest}, and after 12 h SQS delivers its message to another host ({slowest.name})",
        f"use a smaller {slowest.usage.sized_by}, more hosts, or {slowest.usage.faster_by}",
    )


def trigger(cells: list[Demand]) -> Finding:
    """N is within reach of the trigger, and provisioned pollers fetch about as much as N functions take."""
    beyond = _first(cells, lambda demand: demand.concurrency > MOST_WITHOUT_POLLERS and demand.pollers is None)
    if beyond is not None:
        reach = f"an SQS trigger in standard mode reaches {MOST_WITHOUT_POLLERS} at most"
        return Finding(
            "trigger",
            PROBLEM,
            f"concurrency_value {beyond.concurrency}: {reach}",
            "set provisioned_pollers, or sweep a smaller N",
        )
    findings = [_pollers(demand.pollers, demand.concurrency) for demand in cells if demand.pollers]
    for status in (PROBLEM, WARNING):
        for finding in findings:
            if finding.status == status:
                return finding
    mode = "provisioned pollers" if findings else "standard mode: 5 functions at first, 300 more a minute"
    return Finding("trigger", OK, mode)


def _pollers(pollers: Pollers, concurrency: int) -> Finding:
    """Whether the pollers are within Lambda's limits, reach N, and don't go far beyond it."""
    reach = pollers.maximum * INVOCATIONS_PER_POLLER
    functions = f"{reach:,} functions at once"
    fitting = max(MOST_POLLERS.least, -(-concurrency // INVOCATIONS_PER_POLLER))
    ready = min(max(LEAST_POLLERS.least, pollers.minimum), LEAST_POLLERS.most, fitting)
    way_out = f"use --set provisioned_pollers={{minimum={ready},maximum={fitting}}}"
    setting = f"provisioned_pollers {{minimum={pollers.minimum},maximum={pollers.maximum}}}"
    allowed = LEAST_POLLERS.allows(pollers.minimum) and MOST_POLLERS.allows(pollers.maximum)
    if not allowed or pollers.minimum > pollers.maximum:
        minimum, maximum = (f"{rule.least} to {rule.most}" for rule in (LEAST_POLLERS, MOST_POLLERS))
        rule = f"Lambda takes a minimum of {minimum}, and a maximum of {maximum} that isn't below the minimum"
        return Finding("trigger", PROBLEM, f"{setting}: {rule}", way_out)
    if reach < concurrency:
        shortfall = f"{setting} reach {functions}, but concurrency_value is {concurrency}"
        return Finding("trigger", PROBLEM, shortfall, way_out)
    if pollers.maximum > fitting and reach > 2 * concurrency + INVOCATIONS_PER_POLLER:
        # What the functions can't take is throttled and tried again until its visibility timeout is over; five times
        # that, and it is a dead letter.
        excess = f"{setting} fetch for {functions}, but only {concurrency} may run; the rest is throttled"
        return Finding("trigger", WARNING, excess, way_out)
    return Finding("trigger", OK, setting)


def _first(cells: list[Demand], wrong: Callable[[Demand], bool]) -> Demand | None:
    return next((demand for demand in cells if wrong(demand)), None)
