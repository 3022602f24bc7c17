"""Checks Stampede's assumptions about AWS against a run, and writes the results to evidence.json.

Users may send the file in, so it contains only numbers, the ids of checks, and error codes: no
name that a user chose.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.metadata import version
from typing import Any

from loader.executions import EXECUTIONS
from loader.log_events import LATE_S
from stampede.checkout import FUNCTIONS
from stampede.runs.evidence import FILE
from stampede.runs.folder import RunFolder
from stampede.runs.store import IS_ONE, Store, open_store
from stampede.stacks.target import Target

FORMAT = 1
AFTER_A_MINUTE = 5 + 300  # functions of a standard trigger
# Status and code at the beginning of an error_message; letters only, so that no key or name looks
# like a code.
_CODE = re.compile(r"[A-Z][A-Za-z0-9]+ (\d{3})(?: ([A-Z][A-Za-z]{2,50}))?:")
# All words of `error_type`.
KINDS = frozenset(json.loads((FUNCTIONS / "agreed" / "failures.json").read_text()))
UNNAMED = ("S3Error", "UnexpectedError")
# The deliveries to functions, except records of older functions that lack these fields.
_DELIVERIES = """
CREATE TABLE deliveries AS
SELECT cell, seq, attempt, started_at_ms AS began_ms, finished_at_ms AS ended_ms,
       whole_of(concurrency_limit) AS n, batch_index
FROM records
WHERE started_at_ms IS NOT NULL AND finished_at_ms IS NOT NULL AND attempt IS NOT NULL
    AND NOT list_contains($1, cell)
"""
_RETURNS = """
SELECT count(*) FILTER (gap_s < $1), count(*), round(min(gap_s), 1), round(max(gap_s), 1)
FROM (
    SELECT (began_ms - lag(ended_ms) OVER tries) / 1000 AS gap_s FROM deliveries
    WINDOW tries AS (PARTITION BY cell, seq ORDER BY attempt, began_ms)
    QUALIFY attempt = lag(attempt) OVER tries + 1
)
"""
# The peak of concurrent invocations in the first minute of each cell with a larger N that lasts
# longer.
_FIRST_MINUTE = f"""
SELECT max(running) FILTER (at_ms <= first_ms + 60000)
FROM (
    SELECT cell, n, at_ms, min(at_ms) OVER (PARTITION BY cell) AS first_ms,
           sum(change) OVER (PARTITION BY cell ORDER BY at_ms, change) AS running
    FROM (
        SELECT cell, n, unnest([began_ms, ended_ms]) AS at_ms, unnest([1, -1]) AS change
            FROM deliveries WHERE {IS_ONE}
    )
) GROUP BY cell HAVING max(n) > $1 AND max(at_ms - first_ms) > 60000
"""
_FAILURES = """
SELECT error_type, error_message, count(*) FROM records WHERE status = 'error' GROUP BY ALL
"""


def check_run(target: Target, folder: RunFolder, latest_ms: int) -> None:
    """Check all records of a run on AWS, and store the results; `latest_ms` is the longest delay of
    a log line in this drain."""
    if target.option == "local":
        return
    latest_ms = max(latest_ms, folder.read_json(FILE, {}).get("latest_ms", -1))
    store = open_store(folder)
    store.rows(_DELIVERIES, [row["cell"] for row in folder.rows(EXECUTIONS)])
    # One that waits in a long queue comes back later than it could, so a run in which some came
    # back early holds.
    [(early, returns, shortest_s, longest_s)] = store.rows(_RETURNS, target["visibility_timeout_s"])
    is_told, is_late = latest_ms >= 0, latest_ms > 1000 * LATE_S["aws"]
    checks = {
        "redelivery": _check(
            early, 0 if early else returns, shortest_s=shortest_s, longest_s=longest_s
        ),
        "trigger-ramp": _ramp(store, target),
        "logs-late": _check(
            is_told and not is_late,
            is_late,
            latest_s=round(latest_ms / 1000, 1) if is_told else None,
        ),
        "codes": _codes(store),
    }
    evidence = {
        "format": FORMAT,
        "stampede_version": version("stampede"),
        "experiment": target.outputs.get("experiment"),
        "target": target.kind,
        "checks": [{"id": name, **check} for name, check in checks.items()],
        "latest_ms": latest_ms,
    }
    folder.write_json(FILE, evidence)


def _check(held: int = 0, contradicted: int = 0, **values: float | None) -> dict[str, Any]:
    """How often an assumption held and was contradicted, with figures."""
    named = {name: value for name, value in values.items() if value is not None}
    return {"held": int(held), "contradicted": int(contradicted), "values": named}


def _ramp(store: Store, target: Target) -> dict[str, Any]:
    """Whether concurrency grows as documented in the first minute of cells that want more and last
    longer. If any cell has provisioned pollers, none is checked."""
    has_pollers = any(cell.values.get("provisioned_pollers") for cell in store.planned.values())
    if has_pollers or not target.outputs.get("function_name"):
        return _check()
    peaks = [peak for (peak,) in store.rows(_FIRST_MINUTE, AFTER_A_MINUTE)]
    held = sum(AFTER_A_MINUTE / 2 <= peak <= AFTER_A_MINUTE * 1.1 for peak in peaks)
    return _check(held, len(peaks) - held, at_once_after_a_minute=max(peaks, default=None))


def _codes(store: Store) -> dict[str, Any]:
    """Failures by their error_type and the status and code of the answer; anything of another form
    is left out."""
    counts: Counter[str] = Counter()
    for kind, message, count in store.rows(_FAILURES):
        code = _CODE.match(str(message))
        parts = [kind if kind in KINDS else "other", *(filter(None, code.groups()) if code else ())]
        counts[" ".join(parts)] += count
    unnamed = sum(count for words, count in counts.items() if words.startswith(UNNAMED))
    return _check(counts.total() - unnamed, unnamed, **dict(sorted(counts.items())))
