"""Runs the cases of tests/data/insights: a query, its events, and the rows or the error to expect.

A case is {"name", "rests_on", "query", "events", "columns"?, "rows" or "error"}. An event that is a string stands for
its message; events without a timestamp come a second apart from 2025-01-12 16:40:00. An object as message is
written as one JSON line.
"""

import json
from pathlib import Path

import pytest

from stampede.insights import QueryError, evaluate
from tests.unit.insights.download_log import FIRST_MS

FOLDER = Path(__file__).parents[2] / "data" / "insights"
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(FOLDER.glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]


def as_event(written, place):
    fields = written if isinstance(written, dict) and "message" in written else {"message": written}
    event = {"timestamp": FIRST_MS + 1000 * place} | fields
    if not isinstance(event["message"], str):
        event["message"] = json.dumps(event["message"])
    return event


@pytest.mark.parametrize("case", CASES)
def test_a_conformance_case_holds(case):
    assert case["rests_on"]
    events = [as_event(written, place) for place, written in enumerate(case["events"])]
    if "error" in case:
        with pytest.raises(QueryError) as caught:
            evaluate(case["query"], events)
        assert case["error"] in str(caught.value)
        return
    result = evaluate(case["query"], events)
    assert result.rows == case["rows"]
    if "columns" in case:
        assert result.columns == case["columns"]
    if "strings" in case:
        assert result.as_strings() == case["strings"]
