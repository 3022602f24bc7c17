"""Invocations that left no record, by kind: only Lambda's own log lines tell of a
killed function."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from stampede.checkout import QUERIES
from stampede.insights import InsightsError, log_columns
from stampede.runs import stored_json
from stampede.runs.account import CellAccount

# Replaces the last stage of the saved query `failures`, which counts them.
EACH = "| display invocation, kind, memory_size_mb, last_ms, line | limit 100000"


def unrecorded(folder: Path) -> list[dict[str, Any]]:
    """One row for each such invocation of a run: its `cell`, its `kind`, the `memory_size_mb` and
    `line` of its log, and `last_ms`, in epoch ms. Empty if the run's lines, records or messages
    can't be read.

    Lambda's lines name no message, so an invocation belongs to the cell that was last being sent
    to, or to "" if no sending time is known.
    """
    query, floods = (QUERIES / "common" / "failures.cwli").read_text(encoding="utf-8"), []
    try:
        text = query[: query.rindex("| stats")] + EACH
        failed = log_columns.answer(text, folder / log_columns.LINES).rows
        if not failed:
            return []
        records = folder / "records.jsonl"  # exists only if an invocation left a record
        rows_of_records = stored_json.rows(records, []) if records.exists() else ()
        recorded = {str(row.get("request_id")) for _, row in rows_of_records}
        for _, row in stored_json.rows(folder / "sent.jsonl", []):
            sent_at_ms, cell = row.get("sent_at_ms"), str(row.get("cell"))
            if type(sent_at_ms) is int and (not floods or floods[-1][1] != cell):
                floods.append((sent_at_ms, cell))
    except (InsightsError, OSError, stored_json.NotAFile):
        return []
    rows = []
    for row in failed:
        if row["invocation"] not in recorded:
            before = bisect_right(floods, row["last_ms"], key=itemgetter(0)) - 1
            rows.append({"cell": floods[max(0, before)][1] if floods else "", **row})
    return rows


def with_unrecorded(accounts: Sequence[CellAccount], folder: Path) -> list[CellAccount]:
    """The accounts of the run in `folder`, completed by the kinds of invocations without a record;
    reads the lines only if a message lacks one."""
    if not any(row.dead_lettered or row.unanswered or row.unaccounted for row in accounts):
        return list(accounts)
    kinds: dict[str, Counter[str]] = {}
    for row in unrecorded(folder):
        kinds.setdefault(row["cell"], Counter())[row["kind"]] += 1
    return [
        replace(account, without_record=dict(kinds.get(account.cell, ()))) for account in accounts
    ]
