"""The manifest is put slice by slice, its completion last; an interrupted put is completed, a complete one is left."""

import json
from urllib.parse import quote

import pytest

from experiments import EXPERIMENTS
from loader.in_flight import in_flight
from loader.manifest import check_manifest, put_manifest
from stampede.errors import RunError, UsageError
from stampede.stacks.target import Target
from tests.fakes.s3 import FakeS3, Faults
from tests.unit.loader.shares_experiment import PLAN, SHARES

COMPLETE = f"{PLAN.manifest}complete.json"


@pytest.fixture
def s3():
    """An S3 that lists two keys a page."""
    with FakeS3(faults=Faults(keys_a_page=2)) as s3:
        yield s3


@pytest.fixture
def stack(s3, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    return Target("local", {"region": "us-east-1", "bucket_name": "b", "experiment": "shares"}, s3.url)


def put_keys(s3):
    return [key for operation, key in s3.calls if operation == "PutObject"]


def test_the_slices_are_the_plan_and_the_completion_is_put_last(s3, stack):
    assert put_manifest(stack) == 6
    text = "".join(s3.objects[PLAN.slice_key(index)].decode() for index in range(6))
    assert text.splitlines() == [f"{quote(row.source)},{quote(row.destination)},1000" for row in PLAN.rows()]
    assert s3.calls[-1] == ("PutObject", COMPLETE)
    completion = json.loads(s3.objects[COMPLETE])
    expected = {"objects": 12, "slices": 6, "slice_rows": 2, "seed": 1}
    assert {name: completion[name] for name in expected} == expected


def test_an_interrupted_put_has_no_completion_and_is_completed_by_the_next_one(s3, stack, capsys):
    s3.faults.puts_until_denied = 4
    with pytest.raises(RunError, match=r"putting s3://b/manifest/\w+/ .*AccessDenied"):
        put_manifest(stack)
    uploaded = set(s3.objects)
    assert len(uploaded) == 4 and COMPLETE not in uploaded
    with pytest.raises(UsageError, match=r"there is no complete manifest .*`stampede dataset` uploads it"):
        check_manifest(stack)
    s3.faults.puts_until_denied = None
    s3.calls.clear()
    assert put_manifest(stack) == 2
    assert not uploaded & set(put_keys(s3))
    assert "4 slices of an earlier upload kept" in " ".join(capsys.readouterr().err.split())
    check_manifest(stack)
    assert len(s3.objects) == 7


def test_a_slice_of_another_size_is_put_again(s3, stack):
    s3.objects[PLAN.slice_key(3)] = b"torn"
    assert put_manifest(stack) == 6


def test_a_slice_that_was_deleted_since_is_missed_and_put_again(s3, stack):
    put_manifest(stack)
    before = dict(s3.objects)
    del s3.objects[PLAN.slice_key(3)]
    with pytest.raises(UsageError, match=r"there is no complete manifest"):
        check_manifest(stack)
    assert put_manifest(stack) == 1
    assert s3.objects == before


def test_slices_whose_put_did_not_come_to_its_end_are_no_manifest(s3, stack):
    put_manifest(stack)
    del s3.objects[COMPLETE]
    with pytest.raises(UsageError, match=r"there is no complete manifest"):
        check_manifest(stack)


def test_a_stream_of_items_is_taken_a_few_at_a_time():
    taken = []
    results = in_flight(lambda number: number, (taken.append(number) or number for number in range(1000)), 2)
    assert next(results) == 0 and len(taken) < 10
    assert list(results) == list(range(1, 1000))
