"""Checks of the matrix against the rules of Lambda, of SQS and of infra/: arithmetic only.

Terraform refuses most of this too, but only when it comes to the cell; that may be the last of many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from experiments import Experiment
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.planning.demand import Demand, Pollers
from stampede.planning.plan import cells_words
from stampede.stacks.infra_variables import declared

# Lambda's quotas page.
MEMORY_MB = range(128, 10_240 + 1)
# What the function keeps back from its timeout to write its record (MARGIN_S of functions/common).
RECORD_MARGIN_S = 3.0
TIMEOUT_S = range(1, 900 + 1)
# SQS keeps a message that was received back for so long in all (SQS developer guide, visibility timeout).
LONGEST_HOLD_S = 12 * 3600
# The most of a trigger's maximum concurrency, which the stack always sets in standard mode (Lambda guide,
# services-sqs-scaling; without it 1,250).
MOST_WITHOUT_POLLERS = 1000
# Lambda's provisioned mode for SQS: 2 to 200 pollers at least, at most 10,000 since August 2026 (2,000 before).
LEAST_POLLERS = range(2, 200 + 1)
MOST_POLLERS = range(2, 10_000 + 1)
# A message stays hidden for so many timeouts of the function (Lambda guide, services-sqs-configure).
HOLDS = 6
# Lambda's guide: the last 100 of an account's concurrency can't be reserved; in an account below that, none at all.
UNRESERVED = 100
# Each invokes so many functions at once (Lambda guide, SQS event source mappings).
INVOCATIONS_PER_POLLER = 10


def check(cells: list[Demand], experiment: Experiment, target: str) -> list[Finding]:
    """All checks of the matrix: those that every experiment has, and its own."""
    one, many = experiment.operation
    findings = [matrix(cells, many), *experiment.checks([cell.values for cell in cells])]
    if cells[0].usage.on_hosts:
        return [*findings, hold(cells, one)]
    working = [cell for cell in cells if cell.usage.in_lambda]
    timed = [time_limit(working, one, target)] if working else []
    return [*findings, memory(cells), *timed, trigger(cells)]


def bounds(cells: list[Demand]) -> list[Finding]:
    """Numbers that infra/ takes from nobody: Terraform would refuse them, but only once the sweep has begun."""
    try:
        refuse_out_of_bounds(cells)
    except UsageError as error:
        sentence, _, way_out = str(error).rpartition("; ")
        return [Finding("variables", PROBLEM, sentence, way_out)]
    return []


def matrix(cells: list[Demand], operations: str) -> Finding:
    """What the plan is; always ok."""
    most = max(cell.concurrency for cell in cells)
    messages = sum(cell.operations for cell in cells)
    sizes = " or ".join(f"{size:,}" for size in sorted({cell.usage.moved_mb for cell in cells}))
    found = f"{cells_words(len(cells))}, N up to {most:,}, {messages:,} {operations} of {sizes} MiB each"
    return Finding("matrix", OK, found)


def memory(cells: list[Demand]) -> Finding:
    """Memory within Lambda's limits."""
    sizes = {cell.memory_mb for cell in cells}
    wrong = sorted(size for size in sizes if size not in MEMORY_MB)
    if wrong:
        return Finding(
            "memory", PROBLEM, f"memory_size {wrong[0]} MB: must be 128 to 10240", "change --set memory_size=..."
        )
    return Finding("memory", OK, f"{_range(sizes)} MB")


def time_limit(cells: list[Demand], operation: str, target: str) -> Finding:
    """One operation, with its wait at the start barrier, and what prepares a cell end before the function's timeout."""

    def longest_s(cell: Demand) -> float:
        return max(cell.longest_s, cell.preparation_s(target))

    def expected_s(cell: Demand) -> float:
        return longest_s(cell) + cell.barrier_s + RECORD_MARGIN_S

    if (wrong := no_time(cells)) is not None:
        return wrong
    if not any(map(longest_s, cells)):
        return Finding("time limit", OK, f"not predicted; timeout_s is {max(cell.timeout_s for cell in cells)}")
    slowest = max(cells, key=lambda cell: expected_s(cell) / cell.timeout_s)
    found = (
        (
            f"one {operation if longest_s(slowest) == slowest.longest_s else 'preparation'} may take "
            f"{longest_s(slowest):,.1f} s"
        )
        + (f" after {slowest.barrier_s:g} s at the start barrier" if slowest.barrier_s else "")
        + f", timeout_s is {slowest.timeout_s}"
    )
    if expected_s(slowest) <= 0.7 * slowest.timeout_s:
        return Finding("time limit", OK, found)
    # How fast this machine is nobody knows before the run, so locally it is never more than a warning.
    too_long = expected_s(slowest) > slowest.timeout_s and target == "aws"
    enough = 2 * math.ceil(expected_s(slowest))
    longer = f"use --set timeout_s={enough}, or " if enough in TIMEOUT_S else "use "
    smaller = f"{longer}a smaller {slowest.usage.sized_by}"
    way_out = f"{smaller}, or {slowest.usage.faster_by}" if target == "aws" else f"{smaller} or N"
    return Finding("time limit", PROBLEM if too_long else WARNING, f"{found} ({slowest.name})", way_out)


def no_time(cells: list[Demand]) -> Finding | None:
    """A timeout that Lambda doesn't take, or that a start barrier leaves nothing of."""
    wrong = _first(cells, lambda cell: cell.timeout_s not in TIMEOUT_S)
    if wrong is not None:
        found = f"timeout_s {wrong.timeout_s}: must be {TIMEOUT_S[0]} to {TIMEOUT_S[-1]}"
        return Finding("time limit", PROBLEM, found, "change --set timeout_s=...")
    early = _first(cells, lambda cell: cell.barrier_s > 0 and cell.barrier_s + RECORD_MARGIN_S >= cell.timeout_s)
    if early is None:
        return None
    # A message that is delivered at once can't be held back so long: it would fail, come back, and start alone.
    enough = 2 * math.ceil(early.longest_s + early.barrier_s + RECORD_MARGIN_S)
    return Finding(
        "time limit",
        PROBLEM,
        f"a start barrier of {early.barrier_s:g} s and {RECORD_MARGIN_S:g} s for the record don't fit into "
        f"timeout_s {early.timeout_s} ({early.name})",
        f"use --set timeout_s={min(TIMEOUT_S[-1], enough)}, or a shorter barrier",
    )


def hold(cells: list[Demand], operation: str) -> Finding:
    """One operation of a host, which holds its message back while it works, ends while SQS lets it."""
    slowest = max(cells, key=lambda cell: cell.longest_s)
    found = f"one {operation} of a host may take {slowest.longest_s:,.0f} s"
    if slowest.longest_s <= LONGEST_HOLD_S:
        return Finding("time limit", OK, f"{found}; its message stays hidden meanwhile")
    way_out = f"use a smaller {slowest.usage.sized_by}, more hosts, or {slowest.usage.faster_by}"
    return Finding(
        "time limit",
        PROBLEM,
        f"{found}, and after 12 h SQS delivers its message to another host ({slowest.name})",
        way_out,
    )


def trigger(cells: list[Demand]) -> Finding:
    """N is within reach of the trigger, and provisioned pollers fetch about as much as N functions take."""
    wrong = _first(cells, lambda cell: cell.concurrency > MOST_WITHOUT_POLLERS and cell.pollers is None)
    if wrong is not None:
        return Finding(
            "trigger",
            PROBLEM,
            (
                f"concurrency_value {wrong.concurrency}: an SQS trigger in standard mode reaches "
                f"{MOST_WITHOUT_POLLERS} at most"
            ),
            "set provisioned_pollers, or sweep a smaller N",
        )
    found = [_pollers(cell.pollers, cell.concurrency) for cell in cells if cell.pollers]
    for status in (PROBLEM, WARNING):
        if (worst := next((one for one in found if one.status == status), None)) is not None:
            return worst
    return Finding(
        "trigger", OK, "provisioned pollers" if found else "standard mode: 5 functions at first, 300 more a minute"
    )


def _pollers(pollers: Pollers, concurrency: int) -> Finding:
    """Whether the pollers are within Lambda's limits, reach N, and don't go far beyond it."""
    reach = pollers.maximum * INVOCATIONS_PER_POLLER
    fitting = max(MOST_POLLERS.start, -(-concurrency // INVOCATIONS_PER_POLLER))
    least = min(max(LEAST_POLLERS.start, pollers.minimum), LEAST_POLLERS[-1], fitting)
    way_out = f"use --set provisioned_pollers={{minimum={least},maximum={fitting}}}"
    has = f"provisioned_pollers {{minimum={pollers.minimum},maximum={pollers.maximum}}}"
    if pollers.minimum not in LEAST_POLLERS or pollers.maximum not in MOST_POLLERS or pollers.minimum > pollers.maximum:
        rule = "Lambda takes a minimum of 2 to 200, and a maximum of 2 to 10000 that isn't below the minimum"
        return Finding("trigger", PROBLEM, f"{has}: {rule}", way_out)
    if reach < concurrency:
        found = f"{has} reach {reach} functions at once, but concurrency_value is {concurrency}"
        return Finding("trigger", PROBLEM, found, way_out)
    if pollers.maximum > fitting and reach > 2 * concurrency + INVOCATIONS_PER_POLLER:
        # What the functions can't take is throttled and tried again until its visibility timeout is over; five times
        # that, and it is a dead letter.
        found = f"{has} fetch for {reach} functions at once, but only {concurrency} may run; the rest is throttled"
        return Finding("trigger", WARNING, found, way_out)
    return Finding("trigger", OK, has)


def _first(cells: list[Demand], wrong: Callable[[Demand], bool]) -> Demand | None:
    return next((cell for cell in cells if wrong(cell)), None)


def _range(sizes: set[int]) -> str:
    return f"{min(sizes)}" if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}"


def refuse_out_of_bounds(cells: Sequence[Demand]) -> None:
    """Raise UsageError for a number or a text that the validation in infra/ never accepts."""
    for name, variable in declared().items():
        for cell in cells:
            value = cell.values.get(name)
            if (rule := variable.broken_rule(value)) is not None:
                raise UsageError(f"{name}: {rule}, got {value}; correct --set {name}=...")
    _refuse_short_holds(cells)


def _refuse_short_holds(cells: Sequence[Demand]) -> None:
    for cell in cells:
        hold_s = cell.values.get("visibility_timeout_s")
        if hold_s is not None and hold_s < HOLDS * cell.timeout_s:
            raise UsageError(
                f"visibility_timeout_s: must be at least {HOLDS} x timeout_s = {HOLDS * cell.timeout_s}, got {hold_s}; "
                "leave it out, or use a shorter timeout_s"
            )
