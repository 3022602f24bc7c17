"""Damaged records: whatever stands in them, the rest is still counted, and nothing but finite numbers comes out."""

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stampede.report import load, statistics
from tests.unit.report.handmade_run import error, lasting, record

ODD = st.sampled_from(
    [None, True, 0, -1, 1, 7, 2**53, 10**30, 10**400, 1e-320, 1e-9, 0.5, 1e300, "", "x", "1", [], [1], {}, {"a": 1}]
)
KEYS = st.sampled_from([*sorted(error(0, 1)), "download_time_seconds"])
RECORDS = [
    *lasting([0.5 + at / 100 for at in range(12)]),
    *lasting([0.5] * 12, n=2),
    error(0, 9),
    record(0, 9, warm_up=1),
]
DAMAGE = st.lists(st.tuples(st.integers(0, len(RECORDS) - 1), KEYS, ODD), min_size=1, max_size=30)


@given(DAMAGE, DAMAGE, st.dictionaries(st.sampled_from(["swept", "fixed", "order"]), ODD))
def test_damaged_records_and_plans_never_break_the_statistics(damage, damage_sent, plan):
    files = {}
    for name, changes in (("records.jsonl", damage), ("sent.jsonl", damage_sent)):
        rows = [dict(record) for record in RECORDS]
        for at, key, value in changes:
            rows[at][key] = value
        files[name] = "".join(json.dumps(row) + "\n" for row in rows)
    manifest = {"format": 1, "plan": plan, "cells": [plan, None, "memory_size=1"]}
    files["run.json"] = json.dumps(manifest)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        numbers = statistics.statistics(load(Path(folder)))
    assert json.loads(statistics.to_text(numbers)) == numbers
    assert numbers["totals"]["downloads"] == sum(cell["count"] for cell in numbers["cells"])
