"""Invocations that left no record, by kind: of a function that is killed, only Lambda's own log
lines tell."""

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

# In the place of the last stage of the saved query `failures`, which counts them.
EACH = "| display invocation, kind, memory_size_mb, last_ms, line | limit 100000"


def unrecorded(folder: Path) -> list[dict[str, Any]]:
    """A row for each in the folder of a run: its `cell`, its `kind`, the `memory_size_mb` that its
    `line` may name, and `last_ms`, in epoch ms. [] where the run's lines, records or messages can't
    be read.

    Lambda's lines name no message: an invocation is of the cell whose messages had been sent last,
    of "" where no time of sending is known.
    """
    query, floods = (QUERIES / "common" / "failures.cwli").read_text(encoding="utf-8"), []
    try:
        failed = log_columns.answer(
            query[: query.rindex("| stats")] + EACH, folder / log_columns.LINES
        ).rows
        if not failed:
            return []
        records = folder / "records.jsonl"  # is only there where an invocation left one
        rows_of_records = stored_json.rows(records, []) if records.exists() else ()
        recorded = {str(row.get("request_id")) for _, row in rows_of_records}
        for _, row in stored_json.rows(folder / "sent.jsonl", []):
            if type(row.get("sent_at_ms")) is int and (
                not floods or floods[-1][1] != str(row.get("cell"))
            ):
                floods.append((row["sent_at_ms"], str(row.get("cell"))))
    except (InsightsError, OSError, stored_json.NotAFile):
        return []
    rows = []
    for row in failed:
        if row["invocation"] not in recorded:
            before = bisect_right(floods, row["last_ms"], key=itemgetter(0)) - 1
            rows.append({"cell": floods[max(0, before)][1] if floods else "", **row})
    return rows


def with_unrecorded(accounts: Sequence[CellAccount], folder: Path) -> list[CellAccount]:
    """The accounts of the run in `folder`, with the kinds of invocations that left no record; they
    are looked for where a message without a success lacks one."""
    if not any(
        account.dead_lettered or account.unanswered or account.unaccounted for account in accounts
    ):
        return list(accounts)
    kinds = Counter((row["cell"], row["kind"]) for row in unrecorded(folder))
    return [
        replace(
            account,
            without_record={
                kind: count for (cell, kind), count in kinds.items() if cell == account.cell
            },
        )
        for account in accounts
    ]
