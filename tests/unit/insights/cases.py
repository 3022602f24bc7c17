"""The cases of tests/data/insights: a query, its events, and the expected rows or error.

A case is {"name", "rests_on", "query", "events", "rows" or "error"} and may have "columns",
"strings" (the rows as the service prints them) and "notes" (words of each note). Instead of a query
it may name a "saved" one, with "filters" in front. A string in place of an event is its message;
events without a timestamp are a second apart from 2025-01-12 16:40:00. A message that is an object
is written as one JSON line. `events` may also name a file of lines.
"""

import json
from pathlib import Path

from stampede.checkout import QUERIES
from stampede.insights import with_filters
from tests.unit.insights.download_log import FIRST_MS

FOLDER = Path(__file__).parents[2] / "data" / "insights"


def as_event(written, place):
    fields = written if isinstance(written, dict) and "message" in written else {"message": written}
    event = {"timestamp": FIRST_MS + 1000 * place} | fields
    if not isinstance(event["message"], str):
        event["message"] = json.dumps(event["message"])
    return event


def read_case(case):
    """The case with its query and its events as they are evaluated."""
    events = case["events"]
    if isinstance(events, str):
        events = [
            json.loads(line) for line in (FOLDER / events).read_text(encoding="utf-8").splitlines()
        ]
    if "saved" in case:
        text = (QUERIES / f"{case['saved']}.cwli").read_text(encoding="utf-8")
        case |= {"query": with_filters(text, case.get("filters", {}))}
    return case | {"events": [as_event(written, place) for place, written in enumerate(events)]}


CASES = {
    f"{path.stem}: {case['name']}": read_case(case)
    for path in sorted(FOLDER.glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
}
