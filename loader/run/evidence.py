"""Checks Stampede's assumptions about AWS on a run, and writes what came of it to evidence.json.

The file is meant to be sent in, so it holds numbers, the checks' own ids, and error codes: nothing that a user named.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from loader.run.folder import RunFolder
from loader.run.log_events import MOST_EVENTS_IN_A_PAGE, MOST_REPEATS, LinesSeen
from loader.run.patience import LATE_S
from loader.target import Target
from report.evidence import FILE

FORMAT = 1
RAMP_START, RAMP_PER_MINUTE, MINUTE_MS = 5, 300, 60_000
# Status and code at the beginning of an error_message; letters only, so that no key or name passes for a code.
_CODE = re.compile(r"[A-Z][A-Za-z0-9]+ (\d{3})(?: ([A-Z][A-Za-z]{2,50}))?:")
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


def write(target: Target, folder: RunFolder, seen: LinesSeen) -> None:
    """Check all records of the run, and the lines that were `seen` in this drain and earlier ones, and store it."""
    before = folder.read_json(FILE, {}).get("lines", {})
    lines = {name: _together(name, value, before.get(name, 0)) for name, value in asdict(seen).items()}
    checks = _of_lines(LinesSeen(**lines)) | _of_records(target, folder)
    folder.write_json(
        FILE,
        {
            "format": FORMAT,
            "stampede_version": version("stampede"),
            "experiment": target.experiment.name if "experiment" in target.outputs else None,
            "target": target.kind,
            "checks": [{"id": name, **asdict(one)} for name, one in checks.items()],
            "lines": lines,
        },
    )


def _together(name: str, now: int, before: int) -> int:
    return max(now, before) if name.startswith("most_") else now + before


def _of_lines(seen: LinesSeen) -> dict[str, Check]:
    late_s = round(seen.most_late_ms / 1000, 1)
    pages_fit = seen.most_events <= MOST_EVENTS_IN_A_PAGE and seen.most_repeats < MOST_REPEATS
    pages = {"empty_with_a_token": seen.empty_pages, "most_events": seen.most_events, "repeats": seen.most_repeats}
    late = Check(values={"latest_s": late_s})
    late.note(late_s <= LATE_S["aws"], min(1, seen.ingested))
    found = Check(values=pages)
    found.note(pages_fit, seen.pages if pages_fit else 1)
    return {
        "record-keys": Check(seen.records, seen.broken_records),
        "lambda-lines": Check(seen.lambda_lines, seen.odd_lambda_lines),
        "logs-late": late,
        "logs-pages": found,
        "logs-order": Check(seen.pages - seen.disordered_pages, seen.disordered_pages),
    }


def _of_records(target: Target, folder: RunFolder) -> dict[str, Check]:
    cells: dict[str, _CellSeen] = defaultdict(_CellSeen)
    for row in folder.rows("sent.jsonl"):
        cell = cells[row["cell"]]
        cell.first_sent_ms = min(cell.first_sent_ms, row["sent_at_ms"])
    for record in folder.rows("records.jsonl"):
        cells[record["cell"]].add(record)
    accounts = folder.read_json("accounting.json", [])
    twice = sum(row["duplicates"] for row in accounts)
    told = target.outputs
    return {
        "receive-counts": _deliveries(cells.values(), told.get("max_receive_count")),
        "redelivery": _redeliveries(cells.values(), told.get("visibility_timeout_s")),
        "duplicates": Check(held=twice),
        "concurrency": _concurrency(cells.values()),
        "trigger-ramp": _ramp(cells.values(), is_standard=told.get("provisioned_pollers") is None),
        "clocks": _clocks(cells.values()),
        "codes": _codes(cells.values()),
    }


class _CellSeen:
    """What the checks need of one cell's records."""

    def __init__(self) -> None:
        self.first_sent_ms = 2**62
        self.n = 0
        self.spans: list[tuple[int, int]] = []
        self.attempts: Counter[int] = Counter()
        self.tried: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # of messages that failed once
        self.errors: Counter[tuple[str, str]] = Counter()

    def add(self, record: Mapping[str, Any]) -> None:
        """A record; what an older function didn't write isn't checked."""
        span = record.get("started_at_ms"), record.get("finished_at_ms")
        attempt, failed = record.get("attempt"), record["status"] == "error"
        if None not in span and attempt and "execution_id" not in record:
            self.spans.append(span)
            self.attempts[attempt] += 1
            self.n = max(self.n, record.get("concurrency_limit") or 0)
            if failed or attempt > 1:
                self.tried[record["seq"]].append((attempt, *span))
        if failed:
            found = _CODE.match(str(record.get("error_message")))
            code = " ".join(filter(None, found.groups())) if found else ""
            self.errors[_word(record.get("error_type")), code] += 1


def _word(text: Any) -> str:
    """A word of our vocabulary of failures, which has letters and digits of `S3` only."""
    return text if isinstance(text, str) and re.fullmatch(r"[A-Z][A-Za-z3]{2,40}", text) else "other"


def _deliveries(cells: Iterable[_CellSeen], most: int | None) -> Check:
    check = Check()
    counts = sum((cell.attempts for cell in cells), Counter())
    for attempt, count in counts.items() if most else ():
        check.note(attempt <= most, count)
    if counts:
        check.values["most"] = max(counts)
    return check


def _redeliveries(cells: Iterable[_CellSeen], timeout_s: float | None) -> Check:
    check, gaps = Check(), []
    for cell in cells:
        for tries in cell.tried.values():
            ordered = sorted(tries)
            gaps += [
                (later[1] - earlier[2]) / 1000
                for earlier, later in itertools.pairwise(ordered)
                if later[0] == earlier[0] + 1
            ]
    for gap_s in gaps if timeout_s else ():
        check.note(gap_s < timeout_s)
    if gaps:
        check.values = {"shortest_s": round(min(gaps), 1), "longest_s": round(max(gaps), 1)}
    return check


def _running(cell: _CellSeen) -> tuple[np.ndarray, np.ndarray]:
    """When the number of operations at once changed, and to what; an end counts before a start of the same time."""
    starts, ends = np.array(cell.spans, dtype=np.int64).T
    at = np.concatenate([ends, starts])
    order = np.argsort(at, kind="stable")
    change = np.concatenate([np.full(len(ends), -1), np.ones(len(starts), dtype=np.int64)])
    return at[order], np.cumsum(change[order])


def _concurrency(cells: Iterable[_CellSeen]) -> Check:
    """Clocks of functions differ a little, so that one more than N, or 2 %, contradicts nothing."""
    check = Check()
    for cell in cells:
        if cell.spans and cell.n:
            peak = int(_running(cell)[1].max())
            check.note(peak <= cell.n + max(1, cell.n // 50))
            check.values["most_at_once"] = max(peak, check.values.get("most_at_once", 0))
    return check


def _ramp(cells: Iterable[_CellSeen], *, is_standard: bool) -> Check:
    """Whether the first minute is as documented, in cells that ask for more and last longer."""
    check = Check()
    expected = RAMP_START + RAMP_PER_MINUTE
    for cell in cells if is_standard else ():
        if cell.n <= expected or not cell.spans:
            continue
        at, running = _running(cell)
        if at[-1] - at[0] > MINUTE_MS:
            peak = int(running[at <= at[0] + MINUTE_MS].max())
            check.note(expected / 2 <= peak <= expected * 1.1)
            check.values["at_once_after_a_minute"] = max(peak, check.values.get("at_once_after_a_minute", 0))
    return check


def _clocks(cells: Iterable[_CellSeen]) -> Check:
    """No function began more than a minute before the first message was sent."""
    check = Check()
    for cell in cells:
        if cell.spans and cell.first_sent_ms < 2**62:
            ahead_s = (cell.first_sent_ms - min(start for start, _ in cell.spans)) / 1000
            check.note(ahead_s < MINUTE_MS / 1000)
            check.values["behind_s"] = round(max(ahead_s, check.values.get("behind_s", 0.0)), 1)
    return check


def _codes(cells: Iterable[_CellSeen]) -> Check:
    check = Check()
    for (kind, code), count in sorted(sum((cell.errors for cell in cells), Counter()).items()):
        check.note(kind not in UNNAMED, count)
        check.values[f"{kind} {code}".strip()] = count
    return check
