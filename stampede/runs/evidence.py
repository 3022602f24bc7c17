"""How a run bears out Stampede's assumptions about AWS: evidence.json, which every drain with
--target aws writes.

docs/evidence.md has all assumptions with their proofs; a run can check these.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stampede.phrases import listed
from stampede.runs import stored_json

FILE = "evidence.json"
CONTRADICTED, HELD, NOT_MET = "contradicted", "held", "not met"
# By the id of the check; docs/evidence.toml names these ids too.
ASSUMPTIONS = {
    "logs-late": "a log line is shown within 10 minutes",
    "redelivery": "a failed message comes back before the queue’s visibility timeout",
    "trigger-ramp": "the trigger starts with 5 functions at once and adds 300 a minute",
    "codes": "each refusal of S3 is one that Stampede names",
}


def rows(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The checks of an evidence.json: id, assumption, outcome, how often it held and was
    contradicted, and figures."""
    checks = evidence.get("checks")
    checks = checks if isinstance(checks, list) else []
    by_id = {str(check.get("id")): check for check in checks if isinstance(check, dict)}
    return [_row(name, assumption, by_id.get(name, {})) for name, assumption in ASSUMPTIONS.items()]


def _row(name: str, assumption: str, check: Mapping[str, Any]) -> dict[str, Any]:
    held, wrong = (
        check.get(word, 0) if type(check.get(word)) is int else 0 for word in (HELD, CONTRADICTED)
    )
    values = check.get("values")
    return {
        "check": name,
        "assumption": assumption,
        "outcome": CONTRADICTED if wrong else HELD if held else NOT_MET,
        "held": held,
        "contradicted": wrong,
        "figures": _words(values) if isinstance(values, dict) else "",
    }


def stored(run_dir: Path, warnings: list[str]) -> dict[str, Any]:
    """A run's evidence.json; empty if there is none."""
    return stored_json.value_or_warning(run_dir / FILE, dict, warnings, is_optional=True) or {}


def contradictions(run_dir: Path) -> list[str]:
    """The warning at the top of a report about the assumptions that the run contradicts."""
    evidence = stored(run_dir, [])
    wrong = [row["assumption"] for row in rows(evidence) if row["outcome"] == CONTRADICTED]
    if not wrong:
        return []
    is_endpoint = evidence.get("target") == "endpoint"
    who = "The endpoint doesn’t do" if is_endpoint else "This run contradicts"
    return [f"{who} what Stampede assumes of AWS: {listed(wrong)}. See “Evidence” below."]


def _words(values: Mapping[str, Any]) -> str:
    """Figures with their names; names that end in _s are of seconds."""
    parts = []
    for name, value in values.items():
        text = f"{value:,}" if type(value) in (int, float) else "unknown"
        unit = " s" if name.endswith("_s") else ""
        parts.append(f"{name.removesuffix('_s').replace('_', ' ')} {text}{unit}")
    return ", ".join(parts)
