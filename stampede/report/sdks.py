"""The SDKs whose requests a run's records time, and how they retry: "standard" means something else from version to
version."""

from __future__ import annotations

from collections.abc import Sequence

from stampede.model.request_rate import STANDARD
from stampede.model.retries import Rules, rules_of
from stampede.phrases import listed, quantity
from stampede.report.run import Run

OWN_HTTP = "none"
# The axis of the experiments that choose how calls are retried; the others leave it at standard mode.
RETRY_MODE = "retry_mode"


def rows(run: Run) -> list[tuple[str, str]]:
    """(label, text) of the SDKs and, where a cell used it, of their standard mode; [] for a run of before records named
    them."""
    if not run.sdks:
        return []
    modes = {key.figures().get(RETRY_MODE, STANDARD) for key in run.cell_keys()}
    return [("SDK", listed([_words(sdk) for sdk in run.sdks])), *(_retries(run.sdks) if STANDARD in modes else [])]


def several_versions(run: Run) -> list[str]:
    """Whether a run used several versions of an SDK, in a sentence: Lambda's runtimes bring boto3, and update it."""
    several = [f"{name} {listed(versions)}" for name, versions in _versions(run).items() if len(versions) > 1]
    return [f"The functions used more than one version of an SDK: {listed(several)}."] if several else []


def between(base: Run, other: Run) -> list[str]:
    """In which versions of an SDK two runs differ, in sentences; an SDK of one of them alone belongs to its methods."""
    ours, theirs = _versions(base), _versions(other)
    return [
        f"Different versions of an SDK: {name} {listed(ours[name])} against {listed(theirs[name])}. "
        f"{_compared(name, ours, theirs)}"
        for name in ours
        if name in theirs and ours[name] != theirs[name]
    ]


def _compared(name: str, *runs: dict[str, list[str]]) -> str:
    rules = {rules_of(f"{name} {version}") for versions in runs for version in versions[name]}
    if None in rules:
        return "How each retries isn’t known."
    return "They retry by different rules." if len(rules) > 1 else "Both retry by the same rules."


def _versions(run: Run) -> dict[str, list[str]]:
    """{SDK: its versions}."""
    versions: dict[str, list[str]] = {}
    for sdk in run.sdks:
        name, _, version = sdk.partition(" ")
        if version:
            versions.setdefault(name, []).append(version)
    return versions


def _retries(sdks: Sequence[str]) -> list[tuple[str, str]]:
    by_rules: dict[Rules, list[str]] = {}
    for sdk in sdks:
        if (rules := rules_of(sdk)) is not None:
            by_rules.setdefault(rules, []).append(_words(sdk))
    if len(by_rules) == 1:
        return [("standard mode", _rules_words(rules)) for rules in by_rules]
    return [(f"standard mode of {listed(names)}", _rules_words(rules)) for rules, names in by_rules.items()]


def _rules_words(rules: Rules) -> str:
    costs = f"a retry takes {rules.retry_cost} of {rules.tokens} tokens"
    if rules.timeout_cost != rules.retry_cost:
        costs += f", {rules.timeout_cost} after a timeout"
    if rules.throttle_cost != rules.retry_cost:
        costs += f", {rules.throttle_cost} after SlowDown"
    pauses = f"first pause up to {quantity(rules.first_pause_s)} s"
    if rules.throttle_first_pause_s != rules.first_pause_s:
        pauses += f", {quantity(rules.throttle_first_pause_s)} s after SlowDown"
    return f"{costs}; {pauses}" + (f"; {rules.retry_after_header} honoured" if rules.retry_after_header else "")


def _words(sdk: str) -> str:
    return "own HTTP" if sdk == OWN_HTTP else sdk
