"""Checks Stampede's assumptions about AWS on a run, and writes what came of it to evidence.json.

The file is meant to be sent in, so it holds numbers, the checks' own ids, and error codes: nothing that a user named.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version

import numpy as np

from loader.executions import EXECUTIONS
from loader.log_events import MOST_EVENTS_IN_A_PAGE, MOST_REPEATS, together
from loader.patience import LATE_S
from stampede.checkout import FUNCTIONS
from stampede.runs.evidence import FILE
from stampede.runs.folder import RunFolder
from stampede.runs.store import Store, open_store, quoted
from stampede.stacks.target import Target

FORMAT = 1
AFTER_A_MINUTE, MINUTE_MS = 5 + 300, 60_000  # functions of a standard trigger
# Status and code at the beginning of an error_message; letters only, so that no key or name passes for a code.
_CODE = re.compile(r"[A-Z][A-Za-z0-9]+ (\d{3})(?: ([A-Z][A-Za-z]{2,50}))?:")
# All words of `error_type`.
KINDS = frozenset(json.loads((FUNCTIONS / "agreed" / "failures.json").read_text()))
UNNAMED = ("S3Error", "UnexpectedError")
# A function's deliveries; what an older function didn't write isn't checked.
_DELIVERIES = """
CREATE TABLE deliveries AS
SELECT cell, seq, attempt, started_at_ms AS began_ms, finished_at_ms AS ended_ms, whole_of(concurrency_limit) AS n
FROM records
WHERE started_at_ms IS NOT NULL AND finished_at_ms IS NOT NULL AND attempt IS NOT NULL AND cell NOT IN ({executed})
"""
_GAPS_S = """
SELECT (began_ms - lag(ended_ms) OVER tries) / 1000 AS gap_s FROM deliveries
WINDOW tries AS (PARTITION BY cell, seq ORDER BY attempt, began_ms)
QUALIFY attempt = lag(attempt) OVER tries + 1
"""


@dataclass
class Check:
    """How often an assumption held and was contradicted, and figures that say more."""

    held: int = 0
    contradicted: int = 0
    values: dict[str, float] = field(default_factory=dict)


def note_lines(folder: RunFolder, seen: Mapping[str, int]) -> None:
    """Add the lines `seen` in a drain to those of earlier ones. It reads no records, so every round may do it."""
    stored = folder.read_json(FILE, {})
    folder.write_json(FILE, {**stored, "lines": together(stored.get("lines", {}), seen)})


def check_run(target: Target, folder: RunFolder) -> None:
    """Check all records of the run, and the lines seen in all its drains, and store the outcome."""
    lines = folder.read_json(FILE, {}).get("lines", {})
    checks = _of_lines(Counter(lines)) | _of_records(target, folder)
    described = {
        "format": FORMAT,
        "stampede_version": version("stampede"),
        "experiment": target.experiment.name if "experiment" in target.outputs else None,
        "target": target.kind,
    }
    listed = [{"id": name, **asdict(check)} for name, check in checks.items()]
    folder.write_json(FILE, {**described, "checks": listed, "lines": lines})


def _of_lines(seen: Counter[str]) -> dict[str, Check]:
    late_s = round(seen["most_late_ms"] / 1000, 1)
    told, late = min(1, seen["ingested"]), int(late_s > LATE_S["aws"])
    pages_fit = seen["most_events"] <= MOST_EVENTS_IN_A_PAGE and seen["most_repeats"] < MOST_REPEATS
    pages = {"empty": seen["empty_pages"], "most_events": seen["most_events"], "repeats": seen["most_repeats"]}
    return {
        "record-keys": Check(seen["records"], seen["broken_records"]),
        "lambda-lines": Check(seen["lambda_lines"], seen["odd_lambda_lines"]),
        "logs-late": Check(told * (1 - late), told * late, {"latest_s": late_s}),
        "logs-pages": Check(seen["pages"] * pages_fit, int(not pages_fit), pages),
        "logs-order": Check(seen["pages"] - seen["disordered_pages"], seen["disordered_pages"]),
    }


def _of_records(target: Target, folder: RunFolder) -> dict[str, Check]:
    store, outputs = open_store(folder), target.outputs
    executed = ", ".join(quoted(cell) for cell in {row["cell"] for row in folder.rows(EXECUTIONS)})
    store.rows(_DELIVERIES.format(executed=executed or "''"))
    # Where some cells have provisioned pollers, no cell's ramp is judged.
    has_pollers = any(cell.values.get("provisioned_pollers") for cell in store.planned.values())
    is_standard = outputs.get("function_name") and outputs.get("provisioned_pollers") is None and not has_pollers
    concurrency, ramp = _at_once(store)
    return {
        "receive-counts": _receives(store, outputs.get("max_receive_count")),
        "redelivery": _redeliveries(store, outputs.get("visibility_timeout_s")),
        "duplicates": Check(sum(row["duplicates"] for row in folder.read_json("accounting.json", []))),
        "concurrency": concurrency,
        "trigger-ramp": ramp if is_standard else Check(),
        "clocks": _clocks(store, folder),
        "codes": _codes(store),
    }


def _receives(store: Store, most: int | None) -> Check:
    within = "count(*) FILTER (attempt <= $1), count(*) FILTER (attempt > $1)"
    [(held, contradicted, highest)] = store.rows(f"SELECT {within}, max(attempt) FROM deliveries", most)
    return Check(held, contradicted, {} if highest is None else {"most": highest})


def _redeliveries(store: Store, timeout_s: float | None) -> Check:
    """One that waits in a long queue comes back later than it could, so a run in which some came back early holds."""
    gaps_s = [gap_s for (gap_s,) in store.rows(_GAPS_S)]
    if not gaps_s or not timeout_s:
        return Check()
    early = sum(gap_s < timeout_s for gap_s in gaps_s)
    values = {"shortest_s": round(min(gaps_s), 1), "longest_s": round(max(gaps_s), 1)}
    return Check(early, 0 if early else len(gaps_s), values)


def _at_once(store: Store) -> tuple[Check, Check]:
    """Whether no more than N ran at once (clocks of functions differ a little, so that one more, or 2 %, contradicts
    nothing), and whether the first minute is as documented, in cells that ask for more and last longer."""
    concurrency, ramp = Check(), Check()
    for cell, n in store.rows("SELECT cell, max(n) AS n FROM deliveries GROUP BY cell HAVING max(n) > 0"):
        times = store.arrays("SELECT began_ms, ended_ms FROM deliveries WHERE cell = ?", cell)
        at_ms, running = _timeline(times["began_ms"], times["ended_ms"])
        peak = int(running.max(initial=0))
        _note(concurrency, peak <= n + max(1, n // 50), "most_at_once", peak)
        if n > AFTER_A_MINUTE and len(at_ms) and at_ms[-1] - at_ms[0] > MINUTE_MS:
            peak = int(running[at_ms <= at_ms[0] + MINUTE_MS].max())
            _note(ramp, AFTER_A_MINUTE / 2 <= peak <= AFTER_A_MINUTE * 1.1, "at_once_after_a_minute", peak)
    return concurrency, ramp


def _timeline(starts_ms: np.ndarray, ends_ms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps, ascending: the times in ms, and the number running from each of them on; the last is a 0.

    Intervals are half-open: one that ends in the millisecond in which another starts doesn't overlap it, and one that
    covers no time is left out.
    """
    lasting = ends_ms > starts_ms
    changes = np.concatenate([starts_ms[lasting], ends_ms[lasting]])
    order = np.argsort(changes, kind="stable")
    at, first = np.unique(changes[order], return_index=True)
    if not len(at):
        return at, at
    began = np.where(order < lasting.sum(), 1, -1)
    by = np.add.reduceat(began, first)
    return at[by != 0], np.cumsum(by)[by != 0]


def _clocks(store: Store, folder: RunFolder) -> Check:
    """No function began more than a minute before the first message was sent."""
    check, first_ms = Check(), {}
    for row in folder.rows("sent.jsonl"):
        first_ms[row["cell"]] = min(row["sent_at_ms"], first_ms.get(row["cell"], row["sent_at_ms"]))
    for cell, began_ms in store.rows("SELECT cell, min(began_ms) FROM deliveries GROUP BY cell"):
        behind_ms = first_ms.get(cell, began_ms) - began_ms
        _note(check, behind_ms < MINUTE_MS, "behind_s", round(behind_ms / 1000, 1))
    return check


def _codes(store: Store) -> Check:
    """Our word for each failure, and status and code of the answer: whatever isn't of their form stays out."""
    counts: Counter[str] = Counter()
    failures = "SELECT error_type, error_message, count(*) FROM records WHERE status = 'error' GROUP BY ALL"
    for kind, message, count in store.rows(failures):
        code = _CODE.match(str(message))
        parts = [kind if kind in KINDS else "other", *(filter(None, code.groups()) if code else ())]
        counts[" ".join(parts)] += count
    unnamed = sum(count for words, count in counts.items() if words.partition(" ")[0] in UNNAMED)
    return Check(counts.total() - unnamed, unnamed, dict(sorted(counts.items())))


def _note(check: Check, holds: bool, name: str, value: float) -> None:
    """One more occasion, with a figure of which the largest is kept."""
    check.held += holds
    check.contradicted += not holds
    check.values[name] = max(value, check.values.get(name, 0))
