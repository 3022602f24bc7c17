"""What a user's function prints in the form of a record: it ends no drain and damages no file of the run."""

import json

import pytest

from loader.log_events import records
from stampede.runs.stored_json import fault_of

OWN = {"concurrency_limit": 1, "run_id": "r", "cell": "c", "seq": 0, "status": "ok"}


@pytest.mark.parametrize("changed", [{"cell": {}}, {"cell": None}, {"seq": "1"}, {"seq": 0.5}, {"status": []}])
def test_a_line_that_could_not_be_stored_as_a_record_is_none(changed):
    assert list(records([{"message": json.dumps(OWN | changed)}])) == []


def test_what_is_taken_for_a_record_can_be_read_again():
    printed = [json.dumps(OWN), json.dumps(OWN | {"run_id": None, "cell": None, "seq": None}), "[" * 9]
    of_a_run, of_none = records({"message": line} for line in printed)
    assert fault_of("records.jsonl")(of_a_run) == ""
    assert of_none["run_id"] is None
