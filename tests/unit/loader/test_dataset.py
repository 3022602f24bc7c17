"""The upload of the test object, and what S3 may do to each of its steps."""

import time
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from loader.dataset import METADATA_KEY, content_name, put_objects
from stampede.errors import RunError, UsageError
from stampede.experiment import objects
from stampede.experiment.objects import MEBIBYTE, DataObject
from stampede.stacks.target import Target
from tests.unit.loader.kept_objects import KeptObjects
from tests.unit.loader.s3_stub import S3Stub, completed_checksums, crc32, serving
from tests.unit.loader.shares_experiment import SHARES


@pytest.fixture(autouse=True)
def small_parts_and_no_naps(monkeypatch):
    """Parts of 1 MiB, and no seconds between botocore's attempts."""
    monkeypatch.setattr(objects, "PART_BYTES", MEBIBYTE)
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None, time=time.time))


def put(stub):
    with serving(stub) as url:
        target = Target("local", {"region": "us-east-1", "bucket_name": "b"}, url)
        return put_objects(target, [DataObject("k", 3 * MEBIBYTE)])


def test_every_part_goes_with_its_checksum_and_the_completion_names_them_all():
    stub = S3Stub()
    assert put(stub)
    assert stub.created["x-amz-checksum-algorithm"] == "CRC32"
    assert stub.created["x-amz-checksum-type"] == "COMPOSITE"
    parts = [objects.part(1, index, 3 * MEBIBYTE) for index in range(3)]
    assert stub.object == b"".join(parts)
    assert completed_checksums(stub.completed) == [crc32(part) for part in parts]
    assert "abort" not in stub.calls


class ManyObjects(S3Stub):
    """Takes whole objects; the first `there` of those that are looked for are there."""

    def __init__(self, there=0):
        super().__init__()
        self.bodies, self._there = [], there

    def _head(self, query, headers, body):
        there, self._there = self._there > 0, self._there - 1
        metadata = {"x-amz-meta-stampede-content": content_name(1000, 1)}
        return (200, bytes(1000), metadata) if there else (404, b"", {})

    def _part(self, query, headers, body):
        assert headers["x-amz-checksum-crc32"] == crc32(body)
        self.bodies.append(body)
        return 200, b"", {}


def test_small_objects_go_with_one_request_each_and_those_that_are_there_are_left_alone(capsys):
    stub = ManyObjects(there=5)
    with serving(stub) as url:
        target = Target("local", {"region": "us-east-1", "bucket_name": "b"}, url)
        assert put_objects(target, [DataObject(f"k/{number}", 1000) for number in range(20)]) == 15
    assert sorted(stub.calls) == ["head"] * 20 + ["part"] * 15
    assert stub.bodies == [objects.part(1, 0, 1000)] * 15
    told = " ".join(capsys.readouterr().err.split())
    assert "5 objects in s3://b, 4.883 KiB, seed 1: already there" in told
    assert "uploading 15 objects in s3://b" in told


def test_of_small_objects_the_one_that_is_refused_is_named():
    stub = ManyObjects()
    stub._refuse["part"] = [(403, "AccessDenied")] * 9
    with serving(stub) as url, pytest.raises(RunError, match=r"putting s3://b/k/\d .*AccessDenied"):
        target = Target("local", {"region": "us-east-1", "bucket_name": "b"}, url)
        put_objects(target, [DataObject(f"k/{number}", 1000) for number in range(9)])


def test_a_part_that_was_damaged_on_the_way_is_refused_and_the_upload_is_aborted():
    stub = S3Stub(damaged_part=2)
    with pytest.raises(RunError, match=r"putting s3://b/k .*BadDigest"):
        put(stub)
    assert "complete" not in stub.calls and stub.calls[-1] == "abort"


def test_a_completion_that_answers_200_with_an_error_is_tried_again_and_then_an_error():
    passing = S3Stub(refuse={"complete": [(200, "InternalError")]})
    assert put(passing) and passing.calls.count("complete") == 2
    lasting = S3Stub(refuse={"complete": [(200, "InternalError")] * 99})
    with pytest.raises(RunError, match="InternalError"):
        put(lasting)
    assert lasting.object is None and lasting.calls[-1] == "abort"


def test_a_completion_whose_answer_was_lost_is_none_that_failed():
    stub = S3Stub(lose_completion=True)
    assert put(stub)
    assert stub.calls[-3:] == ["complete", "complete", "head"]


def test_an_upload_that_someone_else_aborted_is_an_error():
    with pytest.raises(RunError, match="NoSuchUpload"):
        put(S3Stub(refuse={"complete": [(404, "NoSuchUpload")]}))


def test_an_abort_that_fails_does_not_hide_the_first_error_and_what_stays_is_told(capsys):
    stub = S3Stub(refuse={"part": [(403, "AccessDenied")] * 3, "abort": [(403, "SlowDownAbort")]})
    with pytest.raises(RunError, match="AccessDenied"):
        put(stub)
    told = " ".join(capsys.readouterr().err.split())
    assert "the unfinished upload of k couldn't be aborted" in told and "SlowDownAbort" in told


def test_leftovers_on_every_page_are_aborted_and_one_that_is_already_gone_is_no_error():
    stub = S3Stub(leftovers=["u-a", "u-b", "u-c"])
    assert put(stub)
    assert stub.leftovers == [] and stub.calls.count("list") == 3
    gone = S3Stub(leftovers=["u-a"], refuse={"abort": [(404, "NoSuchUpload")]})
    assert put(gone)


def copied():
    return [DataObject("master", 1000), *(DataObject(f"source/{number}.mp4", 1000, "master") for number in range(40))]


def test_copies_are_made_in_s3_after_what_they_are_copies_of(capsys):
    bucket = KeptObjects("aws", {"region": "us-east-1", "bucket_name": "b"}).begin()
    assert put_objects(bucket, copied()) == 41
    assert bucket.count("put") == 1 and bucket.count("copy") == 40
    assert bucket.kept["source/39.mp4"] == bucket.kept["master"]
    assert "copying 40 objects in s3://b" in " ".join(capsys.readouterr().err.split())


def test_copies_that_are_there_are_known_by_size_and_metadata_and_others_are_made_again():
    bucket = KeptObjects("aws", {"region": "us-east-1", "bucket_name": "b"}).begin()
    put_objects(bucket, copied())
    bucket.calls.clear()
    assert put_objects(bucket, copied()) == 0
    body, metadata = bucket.kept["source/7.mp4"]
    bucket.kept["source/7.mp4"] = (body, {METADATA_KEY: "of another seed"})
    bucket.kept["source/8.mp4"] = (body[1:], metadata)
    assert put_objects(bucket, copied()) == 2
    assert sorted(key for name, key in bucket.calls if name == "copy") == ["source/7.mp4", "source/8.mp4"]


def test_a_dry_run_says_what_would_be_uploaded_and_what_copied(capsys):
    bucket = KeptObjects("aws", {"region": "us-east-1", "bucket_name": "b"}).begin()
    assert put_objects(bucket, copied(), dry_run=True) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "would upload s3://b/master, 1000 bytes" in told and "would copy 40 objects in s3://b" in told
    assert not bucket.kept


def test_what_s3_copies_in_no_single_request_is_refused_before_anything_is_put():
    bucket = KeptObjects("aws", {"region": "us-east-1", "bucket_name": "b"}).begin()
    with pytest.raises(UsageError, match=r"source/0.mp4: 5,368,709,121 bytes .*apply the stack with smaller objects"):
        put_objects(bucket, [DataObject("master", 5), DataObject("source/0.mp4", 5 * 1024**3 + 1, "master")])
    assert not bucket.calls


def test_what_is_copied_and_never_read_has_one_checksum_of_the_whole(monkeypatch):
    """A copy's checksum is of the whole: against one of parts, nobody could say that they are the same."""
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    stub = S3Stub()
    with serving(stub) as url:
        target = Target("local", {"region": "us-east-1", "bucket_name": "b", "experiment": "shares"}, url)
        put_objects(target, [DataObject("k", 3 * MEBIBYTE)])
    assert stub.created["x-amz-checksum-type"] == "FULL_OBJECT"
