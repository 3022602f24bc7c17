"""The upload of the test object, and what S3 may do to each of its steps."""

import time
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS, objects
from experiments.objects import MEBIBYTE
from loader.dataset import METADATA_KEY, put_objects
from stampede.errors import RunError, UsageError
from stampede.experiment import DataObject
from stampede.stacks.target import Target
from tests.fakes.s3 import FakeS3, Faults, Upload, completed_checksums, crc32
from tests.unit.loader.shares_experiment import SHARES


@pytest.fixture(autouse=True)
def small_parts_and_no_naps(monkeypatch):
    """The smallest parts, and no seconds between botocore's attempts."""
    monkeypatch.setattr(objects, "PART_BYTES", 5 * MEBIBYTE)
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None, time=time.time))


def put(s3, *objects_to_put, **outputs):
    with s3:
        target = Target("local", {"region": "us-east-1", "bucket_name": "b", **outputs}, s3.url)
        return put_objects(target, objects_to_put or [DataObject("k", 12 * MEBIBYTE)])


def operations(s3):
    return [operation for operation, _ in s3.calls]


def test_every_part_goes_with_its_checksum_and_the_completion_names_them_all():
    s3 = FakeS3()
    assert put(s3)
    [created] = [request.headers for request in s3.requests if "uploads" in request.query and request.method == "POST"]
    assert created["x-amz-checksum-algorithm"] == "CRC32"
    assert created["x-amz-checksum-type"] == "COMPOSITE"
    parts = [objects.part(1, index, 12 * MEBIBYTE) for index in range(3)]
    assert s3.objects["k"] == b"".join(parts)
    assert completed_checksums(s3.completed) == [crc32(part) for part in parts]
    assert "AbortMultipartUpload" not in operations(s3)


SMALL = [DataObject(f"k/{number}", 1000) for number in range(20)]


def test_small_objects_go_with_one_request_each_and_those_that_are_there_are_left_alone(capsys):
    s3 = FakeS3()
    assert put(s3, *SMALL[:5]) == 5
    s3.calls.clear()
    assert put(s3, *SMALL) == 15
    assert sorted(operations(s3)) == ["HeadObject"] * 20 + ["PutObject"] * 15
    assert s3.objects == {small.key: objects.part(1, 0, 1000) for small in SMALL}
    printed = " ".join(capsys.readouterr().err.split())
    assert "5 objects in s3://b, 4.883 KiB, seed 1: already there" in printed
    assert "uploading 15 objects in s3://b" in printed


def test_of_small_objects_the_one_that_is_refused_is_named():
    with pytest.raises(RunError, match=r"putting s3://b/k/\d .*AccessDenied"):
        put(FakeS3(faults=Faults(puts_until_denied=0)), *SMALL[:9])


def test_a_look_that_is_refused_is_no_object_that_is_missing():
    s3 = refusing(HeadObject=[(403, "AccessDenied")])
    with pytest.raises(RunError, match="checking s3://b/k"):
        put(s3)
    assert not s3.objects


def test_a_part_that_was_damaged_on_the_way_is_refused_and_the_upload_is_aborted():
    s3 = FakeS3(faults=Faults(damaged_part=2))
    with pytest.raises(RunError, match=r"putting s3://b/k .*BadDigest"):
        put(s3)
    assert "CompleteMultipartUpload" not in operations(s3) and operations(s3)[-1] == "AbortMultipartUpload"


def refusing(**refuse):
    return FakeS3(faults=Faults(refuse=refuse))


def test_a_completion_that_answers_200_with_an_error_is_tried_again_and_then_an_error():
    passing = refusing(CompleteMultipartUpload=[(200, "InternalError")])
    assert put(passing) and passing.count("CompleteMultipartUpload") == 2
    lasting = refusing(CompleteMultipartUpload=[(200, "InternalError")] * 99)
    with pytest.raises(RunError, match="InternalError"):
        put(lasting)
    assert not lasting.objects and operations(lasting)[-1] == "AbortMultipartUpload"


def test_a_completion_whose_answer_was_lost_is_none_that_failed():
    s3 = FakeS3(faults=Faults(lose_completion=True))
    assert put(s3)
    assert s3.count("CompleteMultipartUpload") == 2 and operations(s3)[-1] == "HeadObject"


def test_leftovers_on_every_page_are_aborted_and_one_that_is_already_gone_is_no_error():
    s3 = FakeS3()
    s3.uploads = {name: Upload("k") for name in ("a", "b", "c")}
    assert put(s3)
    assert s3.uploads == {} and s3.count("ListMultipartUploads") == 3
    gone = refusing(AbortMultipartUpload=[(404, "NoSuchUpload")])
    gone.uploads = {"a": Upload("k")}
    assert put(gone)


COPIES = [DataObject("master", 1000), *(DataObject(f"source/{number}.mp4", 1000, "master") for number in range(9))]


def test_copies_are_made_in_s3_after_what_they_are_copies_of(capsys):
    s3 = FakeS3()
    assert put(s3, *COPIES) == 10
    assert s3.count("PutObject") == 1 and s3.count("CopyObject") == 9
    assert (s3.objects["source/8.mp4"], s3.metadata["source/8.mp4"]) == (s3.objects["master"], s3.metadata["master"])
    assert "copying 9 objects in s3://b" in " ".join(capsys.readouterr().err.split())


def test_copies_that_are_there_are_known_by_size_and_metadata_and_others_are_made_again():
    s3 = FakeS3()
    put(s3, *COPIES)
    s3.calls.clear()
    assert put(s3, *COPIES) == 0
    s3.metadata["source/7.mp4"] = {f"x-amz-meta-{METADATA_KEY}": "of another seed"}
    s3.objects["source/8.mp4"] = s3.objects["source/8.mp4"][1:]
    assert put(s3, *COPIES) == 2
    assert sorted(key for name, key in s3.calls if name == "CopyObject") == ["source/7.mp4", "source/8.mp4"]


def test_what_s3_copies_in_no_single_request_is_refused_before_anything_is_put():
    s3 = FakeS3()
    with pytest.raises(UsageError, match=r"source/0.mp4: 5,368,709,121 bytes .*apply the stack with smaller objects"):
        put(s3, DataObject("master", 5), DataObject("source/0.mp4", 5 * 1024**3 + 1, "master"))
    assert not s3.calls


def test_what_is_copied_and_never_read_has_one_checksum_of_the_whole(monkeypatch):
    """A copy's checksum is of the whole: against one of parts, nobody could say that they are the same."""
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    s3 = FakeS3()
    put(s3, experiment="shares")
    assert "FULL_OBJECT" in [request.headers["x-amz-checksum-type"] for request in s3.requests]
