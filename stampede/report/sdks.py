"""The SDKs whose requests a run's records time, and how they retry: "standard" means something else from version to
version."""

from __future__ import annotations

from stampede.model.retries import rules_of
from stampede.phrases import listed
from stampede.report.run import Run


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
