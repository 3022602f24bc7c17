"""Whether N will run at once for most of a cell's time: what the model says, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from experiments import EXPERIMENTS, Experiment
from stampede.errors import UsageError
from stampede.finding import OK, WARNING, Finding
from stampede.model.prediction import Prediction
from stampede.phrases import counted
from stampede.planning.plan import Plan
from stampede.planning.predicting import predictions

CHECK = "time in full overlap"
# With less of the operations' time in full overlap, a table of N tells more of how N was reached.
LEAST_SHARE = 0.5
WAY_OUT = "docs/simulate.md says what helps against this bottleneck"


def predicted(plan: Plan, ranged: bool = False) -> tuple[dict[str, Prediction], str]:
    """What the model says of each cell by its name; or nothing, and in words why. Of this machine it says nothing.
    `ranged`: with how sure it is."""
    if plan.target == "local":
        return {}, ""
    if EXPERIMENTS[plan.experiment].work is None:
        return {}, f"there is no model of {plan.experiment}"
    try:
        return predictions(plan, ranged=ranged), ""
    except UsageError as error:
        return {}, str(error)


def check(plan: Plan, each: bool = True) -> list[Finding]:
    """A finding for each cell, repeats of one counted once, or one for all cells of which the same is to be said
    (`each` False); a single one where there is no prediction, and none for this machine."""
    by_cell, why_not = predicted(plan)
    if why_not:
        return [Finding(CHECK, OK, f"not predicted: {why_not}")]
    findings = _findings(plan, by_cell)
    return [finding for _, _, finding in findings] if each else _together(plan, findings)


def warning(plan: Plan, by_cell: Mapping[str, Prediction], why_not: str) -> str:
    """One sentence on the cells of which `check` warns, the one with the smallest share by name, or on why there is no
    prediction; empty without any."""
    if why_not:
        return f"{CHECK}: not predicted: {why_not}"
    findings = _findings(plan, by_cell)
    warnings = [(prediction.share_at_n, finding) for _, prediction, finding in findings if finding.status == WARNING]
    if not warnings:
        return ""
    _, lowest = min(warnings, key=itemgetter(0))
    more = f" ({len(warnings) - 1} more: `stampede doctor` with the same options)" if len(warnings) > 1 else ""
    return f"{CHECK}: {lowest.sentence}{more}"


def _findings(plan: Plan, by_cell: Mapping[str, Prediction]) -> list[tuple[str, Prediction, Finding]]:
    """Those of the cells with a prediction, in the order of the table."""
    experiment = EXPERIMENTS[plan.experiment]
    findings = []
    for cell in sorted(plan.cells):
        if cell.repeat in (None, 1) and (prediction := by_cell.get(cell.name)):
            findings.append((cell.alike, prediction, finding(cell.alike, cell.n, prediction, experiment)))
    return findings


def _together(plan: Plan, findings: Sequence[tuple[str, Prediction, Finding]]) -> list[Finding]:
    """One finding for all cells with the same bottleneck, with the ranges of their figures."""
    alike: dict[tuple[object, ...], list[tuple[str, Prediction, Finding]]] = {}
    for name, prediction, finding in findings:
        # Cells that lose messages, or never reach N, are told one by one: that is what their line is about.
        is_own = prediction.dead_lettered or prediction.time_to_n_s is None or prediction.avg_s is None
        alike.setdefault((finding.status, prediction.bottleneck, name if is_own else ""), []).append(
            (name, prediction, finding)
        )
    operation, operations = EXPERIMENTS[plan.experiment].operation
    together = []
    for group in alike.values():
        _, first, finding = group[0]
        if len(group) > 1:
            percents = sorted(100 * prediction.share_at_n for _, prediction, _ in group)
            averages_s = sorted(prediction.avg_s for _, prediction, _ in group)
            cells = f" ({'; '.join(name for name, _, _ in group)})" if finding.status == WARNING else ""
            words = (
                f"{len(group)} cells{cells}: {_range(percents, '.0f')} % of the {operations}' time in full overlap; "
                f"one {operation} takes {_range(averages_s, '.3g')} s; bottleneck: {first.bottleneck}"
            )
            finding = replace(finding, found=words)
        together.append(finding)
    return together


def _range(ascending: Sequence[float], form: str) -> str:
    """From the least to the most, one number where they look the same."""
    least, most = f"{ascending[0]:{form}}", f"{ascending[-1]:{form}}"
    return least if least == most else f"{least} to {most}"


def finding(cell: str, n: int, prediction: Prediction, experiment: Experiment) -> Finding:
    """What is to be expected of one cell of concurrency `n`, a warning where less than half of it is in full
    overlap, or messages are lost."""
    operation, operations = experiment.operation
    words = f"{cell}: {100 * prediction.share_at_n:.0f} % of the {operations}' time in full overlap of N = {n:,}"
    if prediction.time_to_n_s is None:
        words += f", which is never reached ({prediction.most_at_once:,} at most)"
    else:
        words += f", reached after {prediction.time_to_n_s:,.0f} s"
    if prediction.avg_s is None:
        words += f"; no {operation} succeeds"
    else:
        words += f"; one {operation} takes {prediction.avg_s:.3g} s"
    if prediction.dead_lettered:
        end = "ends" if prediction.dead_lettered == 1 else "end"
        words += f"; {prediction.dead_lettered:,} of {counted(prediction.count, 'message')} {end} as dead letters"
    words += f"; bottleneck: {prediction.bottleneck}"
    if prediction.share_at_n >= LEAST_SHARE and not prediction.dead_lettered:
        return Finding(CHECK, OK, words)
    return Finding(CHECK, WARNING, words, WAY_OUT)
