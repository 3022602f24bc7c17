"""The manifest is put slice by slice, its completion last; an interrupted put is completed, a complete one is left."""

import json
import threading
from urllib.parse import quote

import pytest

from experiments import EXPERIMENTS
from loader.in_flight import in_flight
from loader.manifest import check_manifest, put_manifest
from stampede.errors import RunError, UsageError
from tests.unit.loader.kept_objects import KeptObjects
from tests.unit.loader.shares_experiment import PLAN, SHARES

COMPLETE = f"{PLAN.manifest}complete.json"


@pytest.fixture
def bucket(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    outputs = {"region": "us-east-1", "bucket_name": "b", "experiment": "shares"}
    return KeptObjects("aws", outputs).begin()


def test_the_slices_are_the_plan_and_the_completion_is_put_last(bucket):
    assert put_manifest(bucket) == 6
    text = "".join(bucket.kept[PLAN.slice_key(index)][0].decode() for index in range(6))
    assert text.splitlines() == [f"{quote(row.source)},{quote(row.destination)},1000" for row in PLAN.rows()]
    assert bucket.calls[-1] == ("put", COMPLETE)
    told = json.loads(bucket.kept[COMPLETE][0])
    assert (told["objects"], told["slices"], told["slice_rows"], told["seed"]) == (12, 6, 2, 1)


def test_a_complete_manifest_is_said_and_left(bucket, capsys):
    put_manifest(bucket)
    before = bucket.count("put")
    assert put_manifest(bucket) == 0
    assert bucket.count("put") == before
    assert "12 rows in 6 slices: already there" in " ".join(capsys.readouterr().err.split())


def test_an_interrupted_put_has_no_completion_and_is_completed_by_the_next_one(bucket, capsys):
    bucket.let(4)
    with pytest.raises(RunError, match=r"putting s3://b/manifest/\w+/ .*AccessDenied"):
        put_manifest(bucket)
    there = set(bucket.kept)
    assert len(there) == 4 and COMPLETE not in there
    with pytest.raises(UsageError, match=r"there is no complete manifest .*`stampede dataset` uploads it"):
        check_manifest(bucket)
    bucket.let(None)
    bucket.calls.clear()
    assert put_manifest(bucket) == 2
    assert not there & {key for name, key in bucket.calls if name == "put"}
    assert "4 slices of an earlier upload were kept" in " ".join(capsys.readouterr().err.split())
    check_manifest(bucket)
    assert len(bucket.kept) == 7


def test_a_slice_of_another_size_is_put_again(bucket):
    bucket.kept[PLAN.slice_key(3)] = (b"torn", {})
    assert put_manifest(bucket) == 6


def test_a_slice_that_was_deleted_since_is_missed_and_put_again(bucket):
    put_manifest(bucket)
    before = dict(bucket.kept)
    del bucket.kept[PLAN.slice_key(3)]
    with pytest.raises(UsageError, match=r"there is no complete manifest"):
        check_manifest(bucket)
    assert put_manifest(bucket) == 1
    assert bucket.kept == before


def test_a_dry_run_puts_nothing_and_says_what_it_would(bucket, capsys):
    assert put_manifest(bucket, dry_run=True) == 0
    assert not bucket.kept
    assert "would upload s3://b/manifest/" in capsys.readouterr().err


def test_without_a_key_plan_nothing_is_asked(bucket):
    bucket.outputs["from_manifest"] = False
    assert put_manifest(bucket) == 0
    check_manifest(bucket)
    assert not bucket.calls


def test_no_more_items_are_taken_than_may_be_in_flight():
    taken, gate = [], threading.Event()

    def items():
        for number in range(20):
            taken.append(number)
            if number == 5:
                assert not gate.is_set()
                gate.set()
            yield number

    def work(number):
        gate.wait(10)
        return number

    results = in_flight(work, items(), 5)
    first = next(results)
    assert len(taken) == 6, "five in flight, and one in hand"
    assert sorted([first, *results]) == list(range(20))
