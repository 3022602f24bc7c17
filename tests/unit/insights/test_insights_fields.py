"""Of a line with more than 200 fields only the first 200 are found, as on the service."""

import json

import pytest

from stampede.insights import evaluate, export
from stampede.insights.events.discovery import first_fields
from tests.unit.insights.download_log import event

OBJECTS = [
    {"slice": 0, "line": n, "source": "a, b", "destination": f"copies/{n}", "error_type": None, "error_message": "n{o"}
    for n in range(40)
]
WHICH = {"run_id": "r", "attempt": 1}
COUNTS = (
    "filter run_id = 'r' | stats count(*) as n, count(failed_objects.32.line) as at_32, count(failed_objects.33.line)"
)


@pytest.mark.parametrize("before", ["", "INFO "])
def test_what_stands_behind_the_first_200_fields_of_a_line_is_not_found_and_that_is_noted(tmp_path, before):
    in_front, behind = WHICH | {"failed_objects": OBJECTS}, {"failed_objects": OBJECTS} | WHICH
    small = {"failed_objects": OBJECTS[:33]} | WHICH
    for record, rows, notes in (
        (in_front, [{"n": 1, "at_32": 1, "count(failed_objects.33.line)": 0}], 1),
        (behind, [{"n": 0, "at_32": 0, "count(failed_objects.33.line)": 0}], 1),
        (small, [{"n": 1, "at_32": 1, "count(failed_objects.33.line)": 0}], 0),
    ):
        events = [event({"run_id": "other"}), event(before + json.dumps(record))]
        result = evaluate(COUNTS, events)
        assert (result.rows, len(result.notes)) == (rows, notes), list(record)
        assert all("more than 200 fields" in note for note in result.notes)
        export(events, tmp_path / "log.parquet")
        assert evaluate(COUNTS, tmp_path / "log.parquet").rows == rows


def test_a_text_is_cut_after_its_200th_field_and_stays_json():
    for extra, kept in ((0, True), (1, False)):
        record = {"a": [[1, {"k,": '"x'}], {}, []] * 100, "b": {"c": {"last": None}} if extra else {}}
        text = json.dumps(record)
        assert (first_fields(text) == text) is kept
        fields = json.loads(first_fields(text))
        assert fields["a"][:298] == record["a"][:298] and ("b" in fields) is kept
    assert first_fields(text[:-1]) == text[:-1]
