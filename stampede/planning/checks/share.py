"""Whether N will run at once for most of a cell's time: what the model says, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments import EXPERIMENTS, Experiment
from stampede.errors import UsageError
from stampede.finding import OK, WARNING, Finding
from stampede.model.prediction import Prediction
from stampede.planning.plan import Plan, cell_name
from stampede.planning.predicting import predictions

CHECK = "time at full N"
# With less of the operations' time at full N, a table of N tells more of how N was reached.
LEAST_SHARE = 0.5


def predicted(plan: Plan, defaults: Mapping[str, object], ranged: bool = False) -> tuple[dict[str, Prediction], str]:
    """What the model says of each cell by its name; or nothing, and in words why. `ranged`: with how sure it is."""
    if EXPERIMENTS[plan.experiment].work is None:
        return {}, f"there is no model of {plan.experiment}"
    try:
        return predictions(plan, defaults, ranged=ranged), ""
    except UsageError as error:
        return {}, str(error)


def check(plan: Plan, defaults: Mapping[str, object], each: bool = True) -> list[Finding]:
    """A finding for each cell, repeats of one counted once, or one for all cells of which the same is to be said
    (`each` False); a single one where there is no prediction."""
    found, why_not = predicted(plan, defaults)
    if why_not:
        status = OK if EXPERIMENTS[plan.experiment].work is None else WARNING
        return [Finding(CHECK, status, f"not predicted: {why_not}")]
    findings = _findings(plan, found)
    return [finding for _, _, finding in findings] if each else _together(plan, findings)


def warning(plan: Plan, found: Mapping[str, Prediction], why_not: str) -> str:
    """One sentence on the cells of which `check` warns, the one with the smallest share by name, or on why there is no
    prediction; empty without any."""
    if why_not:
        return f"{CHECK}: not predicted: {why_not}"
    low = [(one.share_at_n, finding) for _, one, finding in _findings(plan, found) if finding.status == WARNING]
    if not low:
        return ""
    _, lowest = min(low, key=lambda one: one[0])
    more = f" ({len(low) - 1} more: `stampede doctor` with the same options)" if len(low) > 1 else ""
    return f"{CHECK}: {lowest.sentence}{more}"


def _findings(plan: Plan, found: Mapping[str, Prediction]) -> list[tuple[str, Prediction, Finding]]:
    experiment = EXPERIMENTS[plan.experiment]
    once = {cell_name(cell.coordinates): cell for cell in plan.cells() if cell.name in found}
    return [
        (name, found[cell.name], finding(name, plan.concurrency(cell), found[cell.name], experiment))
        for name, cell in once.items()
    ]


def _together(plan: Plan, findings: Sequence[tuple[str, Prediction, Finding]]) -> list[Finding]:
    """One finding for all cells with the same bottleneck and the same advice, with the ranges of their figures."""
    alike: dict[tuple[object, ...], list[tuple[str, Prediction, Finding]]] = {}
    for name, one, finding in findings:
        # Cells that lose messages, or never reach N, are told one by one: that is what their line is about.
        is_own = one.dead_lettered or one.time_to_n_s is None or one.avg_s is None
        alike.setdefault((finding.status, one.bottleneck, finding.way_out, name if is_own else ""), []).append(
            (name, one, finding)
        )
    operation, operations = EXPERIMENTS[plan.experiment].operation
    together = []
    for group in alike.values():
        _, first, finding = group[0]
        if len(group) > 1:
            share = _range(
                [f"{100 * one.share_at_n:.0f}" for _, one, _ in sorted(group, key=lambda one: one[1].share_at_n)]
            )
            own_s = _range([f"{one.avg_s:.3g}" for _, one, _ in sorted(group, key=lambda one: one[1].avg_s)])
            named = f" ({'; '.join(name for name, _, _ in group)})" if finding.status == WARNING else ""
            words = (
                f"{len(group)} cells{named}: {share} % of the {operations}' time at full N; "
                f"one {operation} takes {own_s} s; bottleneck: {first.bottleneck}"
            )
            finding = replace(finding, found=words)
        together.append(finding)
    return together


def _range(ascending: Sequence[str]) -> str:
    """From the least to the most."""
    least, most = ascending[0], ascending[-1]
    return least if least == most else f"{least} to {most}"


def finding(cell: str, n: int, one: Prediction, experiment: Experiment) -> Finding:
    """What is to be expected of one cell of concurrency `n`, with the advice where less than half of it is at full N,
    or messages are lost."""
    operation, operations = experiment.operation
    found = f"{cell}: {100 * one.share_at_n:.0f} % of the {operations}' time at full N = {n:,}"
    if one.time_to_n_s is None:
        found += f", which is never reached ({one.most_at_once:,} at most)"
    else:
        found += f", reached after {one.time_to_n_s:,.0f} s"
    found += f"; one {operation} takes {one.avg_s:.3g} s" if one.avg_s is not None else f"; no {operation} succeeds"
    if one.dead_lettered:
        found += f"; {one.dead_lettered:,} of {one.count:,} messages end as dead letters"
    found += f"; bottleneck: {one.bottleneck}"
    if one.share_at_n >= LEAST_SHARE and not one.dead_lettered:
        return Finding(CHECK, OK, found)
    return Finding(CHECK, WARNING, found, one.advice)
