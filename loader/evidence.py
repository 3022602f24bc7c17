"""Checks Stampede's assumptions about AWS on a run, and writes what came of it to evidence.json.

The file is meant to be sent in, so it holds numbers, the checks' own ids, and error codes: nothing that a user named.
"""

from __future__ import annotations

import itertools
import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from experiments import of_run
from loader.log_events import MOST_EVENTS_IN_A_PAGE, MOST_REPEATS, LinesSeen
from loader.patience import LATE_S
from stampede.cell import cells_of
from stampede.checkout import FUNCTIONS
from stampede.progress import say
from stampede.runs import overlap
from stampede.runs.evidence import FILE
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target

FORMAT = 1
AFTER_A_MINUTE, MINUTE_MS = 5 + 300, 60_000  # functions of a standard trigger
# Status and code at the beginning of an error_message; letters only, so that no key or name passes for a code.
_CODE = re.compile(r"[A-Z][A-Za-z0-9]+ (\d{3})(?: ([A-Z][A-Za-z]{2,50}))?:")
# All words of `error_type`.
KINDS = frozenset(json.loads((FUNCTIONS / "agreed" / "failures.json").read_text()))
UNNAMED = ("S3Error", "UnexpectedError")


@dataclass
class Check:
    """How often an assumption held and was contradicted, and figures that say more."""

    held: int = 0
    contradicted: int = 0
    values: dict[str, float] = field(default_factory=dict)

    def note(self, holds: bool, count: int = 1) -> None:
        """One more occasion."""
        self.held += count * holds
        self.contradicted += count * (not holds)


def note_lines(folder: RunFolder, seen: LinesSeen) -> None:
    """Add the lines `seen` in a drain to those of earlier ones. It reads no records, so every round may do it."""
    stored = folder.read_json(FILE, {})
    before = stored.get("lines", {})
    lines = {
        name: max(value, before.get(name, 0)) if name.startswith("most_") else value + before.get(name, 0)
        for name, value in asdict(seen).items()
    }
    folder.write_json(FILE, {**stored, "lines": lines})


def check_run(target: Target, folder: RunFolder) -> None:
    """Check all records of the run, and the lines seen in all its drains, and store the outcome. No run fails for it:
    where records make no sense, that is said."""
    lines = folder.read_json(FILE, {}).get("lines", {})
    try:
        checks = _of_lines(LinesSeen(**lines)) | _of_records(target, folder)
    except (LookupError, TypeError, ValueError) as error:
        say(f"the assumptions about AWS couldn't be checked ({type(error).__name__}: {error})", style="yellow")
        return
    described = {
        "format": FORMAT,
        "stampede_version": version("stampede"),
        "experiment": target.experiment.name if "experiment" in target.outputs else None,
        "target": target.kind,
    }
    listed = [{"id": name, **asdict(check)} for name, check in checks.items()]
    folder.write_json(FILE, {**described, "checks": listed, "lines": lines})


def _of_lines(seen: LinesSeen) -> dict[str, Check]:
    late_s = round(seen.most_late_ms / 1000, 1)
    late = Check(values={"latest_s": late_s})
    late.note(late_s <= LATE_S["aws"], min(1, seen.ingested))
    pages_fit = seen.most_events <= MOST_EVENTS_IN_A_PAGE and seen.most_repeats < MOST_REPEATS
    pages = Check(values={"empty": seen.empty_pages, "most_events": seen.most_events, "repeats": seen.most_repeats})
    pages.note(pages_fit, seen.pages if pages_fit else 1)
    return {
        "record-keys": Check(seen.records, seen.broken_records),
        "lambda-lines": Check(seen.lambda_lines, seen.odd_lambda_lines),
        "logs-late": late,
        "logs-pages": pages,
        "logs-order": Check(seen.pages - seen.disordered_pages, seen.disordered_pages),
    }


def _of_records(target: Target, folder: RunFolder) -> dict[str, Check]:
    seen_of: dict[str, _CellSeen] = defaultdict(_CellSeen)
    for row in folder.rows("sent.jsonl"):
        cell = seen_of[row["cell"]]
        cell.first_sent_ms = min(cell.first_sent_ms, row["sent_at_ms"])
    for record in folder.rows("records.jsonl"):
        seen_of[record["cell"]].add(record)
    outputs, seen = target.outputs, list(seen_of.values())
    timed = [cell for cell in seen if cell.starts and cell.n]
    # Where some cells have provisioned pollers, no cell's ramp is judged.
    description = folder.read_json("run.json", {})
    cells = cells_of(description, of_run(description)).values()
    has_pollers = any(cell.values.get("provisioned_pollers") for cell in cells)
    is_standard = outputs.get("function_name") and outputs.get("provisioned_pollers") is None and not has_pollers
    return {
        "receive-counts": _deliveries(seen, outputs.get("max_receive_count")),
        "redelivery": _redeliveries(seen, outputs.get("visibility_timeout_s")),
        "duplicates": Check(held=sum(row["duplicates"] for row in folder.read_json("accounting.json", []))),
        "concurrency": _concurrency(timed),
        "trigger-ramp": _ramp(timed if is_standard else []),
        "clocks": _clocks(timed),
        "codes": _codes(seen),
    }


class _CellSeen:
    """What the checks need of one cell's records, in 16 bytes each."""

    def __init__(self) -> None:
        self.first_sent_ms = 2**62
        self.n = 0
        self.starts, self.ends = array("q"), array("q")
        self.attempts: Counter[int] = Counter()
        self.tried: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # of messages that failed once
        self.errors: Counter[str] = Counter()

    def add(self, record: Mapping[str, Any]) -> None:
        """A record; what an older function didn't write isn't checked."""
        start, end, attempt = (record.get(name) for name in ("started_at_ms", "finished_at_ms", "attempt"))
        failed = record["status"] == "error"
        if None not in (start, end, attempt) and "execution_id" not in record:
            self.starts.append(start)
            self.ends.append(end)
            self.attempts[attempt] += 1
            self.n = max(self.n, record.get("concurrency_limit") or 0)
            if failed or attempt > 1:
                self.tried[record["seq"]].append((attempt, start, end))
        if failed:
            self.errors[_words(record)] += 1

    def timeline(self) -> tuple[np.ndarray, np.ndarray]:
        """When the number of operations at once changed (epoch ms), and to what."""
        return overlap.timeline(np.array(self.starts), np.array(self.ends))


def _words(record: Mapping[str, Any]) -> str:
    """Our word for a failure, and status and code of the answer: whatever isn't of their form stays out."""
    kind = str(record.get("error_type"))
    code = _CODE.match(str(record.get("error_message")))
    parts = [kind if kind in KINDS else "other", *(filter(None, code.groups()) if code else ())]
    return " ".join(parts)


def _deliveries(cells: Iterable[_CellSeen], most: int | None) -> Check:
    counts = sum((cell.attempts for cell in cells), Counter())
    check = Check(values={"most": max(counts)} if counts else {})
    for attempt, count in counts.items() if most else ():
        check.note(attempt <= most, count)
    return check


def _redeliveries(cells: Iterable[_CellSeen], timeout_s: float | None) -> Check:
    """One that waits in a long queue comes back later than it could, so a run in which some came back early holds."""
    gaps = [
        (later[1] - earlier[2]) / 1000
        for cell in cells
        for tries in cell.tried.values()
        for earlier, later in itertools.pairwise(sorted(tries))
        if later[0] == earlier[0] + 1
    ]
    if not gaps or not timeout_s:
        return Check()
    early = sum(gap_s < timeout_s for gap_s in gaps)
    values = {"shortest_s": round(min(gaps), 1), "longest_s": round(max(gaps), 1)}
    return Check(early, 0 if early else len(gaps), values)


def _concurrency(cells: Iterable[_CellSeen]) -> Check:
    """Clocks of functions differ a little, so that one more than N, or 2 %, contradicts nothing."""
    check = Check()
    for cell in cells:
        peak = int(cell.timeline()[1].max(initial=0))
        check.note(peak <= cell.n + max(1, cell.n // 50))
        check.values["most_at_once"] = max(peak, check.values.get("most_at_once", 0))
    return check


def _ramp(cells: Iterable[_CellSeen]) -> Check:
    """Whether the first minute is as documented, in cells that ask for more and last longer."""
    check = Check()
    for cell in cells:
        at_ms, running = cell.timeline()
        if cell.n > AFTER_A_MINUTE and len(at_ms) and at_ms[-1] - at_ms[0] > MINUTE_MS:
            peak = int(running[at_ms <= at_ms[0] + MINUTE_MS].max())
            check.note(AFTER_A_MINUTE / 2 <= peak <= AFTER_A_MINUTE * 1.1)
            check.values["at_once_after_a_minute"] = max(peak, check.values.get("at_once_after_a_minute", 0))
    return check


def _clocks(cells: Iterable[_CellSeen]) -> Check:
    """No function began more than a minute before the first message was sent."""
    check = Check()
    for cell in cells:
        behind_ms = cell.first_sent_ms - min(cell.starts)
        check.note(behind_ms < MINUTE_MS)
        check.values["behind_s"] = max(round(behind_ms / 1000, 1), check.values.get("behind_s", 0.0))
    return check


def _codes(cells: Iterable[_CellSeen]) -> Check:
    counts = sum((cell.errors for cell in cells), Counter())
    check = Check(values=dict(sorted(counts.items())))
    for words, count in counts.items():
        check.note(words.partition(" ")[0] not in UNNAMED, count)
    return check
