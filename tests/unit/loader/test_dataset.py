"""Objects and manifest are uploaded once and completed after an interruption, and buckets are
emptied, whatever S3 does at each step."""

import random
import time
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS, objects
from experiments.objects import MEBIBYTE
from loader.dataset import METADATA_KEY, check_manifest, empty, in_flight, put_manifest, put_objects
from stampede.errors import RunError, UsageError
from stampede.experiment import DataObject
from stampede.stacks.target import Target
from tests.fakes.s3 import FakeS3, Faults, Upload, completed_checksums, crc32
from tests.unit.loader.shares_experiment import PLAN, SHARES


@pytest.fixture(autouse=True)
def small_parts_and_no_pauses(monkeypatch):
    """The smallest parts, and no pauses between botocore's attempts."""
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    monkeypatch.setattr(objects, "PART_BYTES", 5 * MEBIBYTE)
    monkeypatch.setattr(
        "botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None, time=time.time)
    )


def put(s3, *objects_to_put, **outputs):
    with s3:
        stack = {"experiment": "download", "region": "us-east-1", "bucket_name": "b", **outputs}
        target = Target("local", stack, s3.url)
        return put_objects(target, objects_to_put or [DataObject("k", 12 * MEBIBYTE)])


def refusing(**refuse):
    return FakeS3(faults=Faults(refuse=refuse))


@pytest.mark.parametrize(
    ("outputs", "kind"), [({}, "COMPOSITE"), ({"experiment": "shares"}, "FULL_OBJECT")]
)
def test_every_part_has_a_checksum_and_the_object_a_full_one_if_copies_are_compared_with_it(
    outputs, kind
):
    s3 = FakeS3()
    assert put(s3, **outputs) == 1
    uploads = [request for request in s3.requests if "uploads" in request.query]
    [created] = [request.headers for request in uploads if request.method == "POST"]
    assert (created["x-amz-checksum-algorithm"], created["x-amz-checksum-type"]) == ("CRC32", kind)
    parts = [objects.part(1, index, 12 * MEBIBYTE) for index in range(3)]
    assert s3.objects["k"] == b"".join(parts)
    assert completed_checksums(s3.completed) == [crc32(part) for part in parts]


SMALL = [DataObject(f"k/{number}", 1000) for number in range(20)]
COPIES = [
    DataObject("master", 1000),
    *(DataObject(f"source/{number}.mp4", 1000, "master") for number in range(9)),
]


def test_existing_objects_are_kept_and_copies_follow_their_original():
    s3 = FakeS3()
    assert [put(s3, *some) for some in (SMALL[:5], SMALL, COPIES, COPIES)] == [5, 15, 10, 0]
    assert [s3.count(name) for name in ("PutObject", "CopyObject")] == [21, 9]
    assert {s3.objects[small.key] for small in SMALL} == {objects.part(1, 0, 1000)}
    for stored in (s3.objects, s3.metadata):
        assert stored["source/8.mp4"] == stored["master"]
    s3.metadata["source/7.mp4"] = {f"x-amz-meta-{METADATA_KEY}": "of another seed"}
    s3.objects["source/8.mp4"] = s3.objects["source/8.mp4"][1:]
    assert (put(s3, *COPIES), put(s3, *COPIES)) == (2, 0)


@pytest.mark.parametrize(
    ("s3", "words", "to_put"),
    [
        (FakeS3(faults=Faults(damaged_part=2)), "putting s3://b/k .*BadDigest", ()),
        (refusing(HeadObject=[(403, "AccessDenied")]), "checking s3://b/k", ()),
        (refusing(CompleteMultipartUpload=[(200, "InternalError")] * 99), "InternalError", ()),
        (
            refusing(PutObject=[(403, "AccessDenied")] * 99),
            r"putting s3://b/k/\d .*AccessDenied",
            SMALL,
        ),
    ],
)
def test_a_refusal_of_s3_is_an_error_that_names_the_object_and_leaves_no_parts(s3, words, to_put):
    with pytest.raises(RunError, match=words):
        put(s3, *to_put)
    assert not s3.objects and not s3.uploads


@pytest.mark.parametrize(
    "s3",
    [
        refusing(CompleteMultipartUpload=[(200, "InternalError")]),
        FakeS3(faults=Faults(lose_completion=True)),
    ],
)
def test_a_completion_is_repeated_if_it_fails_once_or_its_answer_is_lost(s3):
    assert put(s3) and s3.count("CompleteMultipartUpload") == 2


def test_unfinished_uploads_on_every_page_are_aborted_even_if_one_is_already_gone():
    s3 = refusing(AbortMultipartUpload=[(404, "NoSuchUpload")])
    s3.uploads = {name: Upload("k") for name in "abc"} | {"other": Upload("k.other")}
    assert put(s3)
    assert [upload.key for upload in s3.uploads.values()] == ["k", "k.other"]


# The manifest, on an S3 that lists two keys per page.


@pytest.fixture
def s3():
    with FakeS3(faults=Faults(keys_a_page=2)) as s3:
        yield s3


@pytest.fixture
def stack(s3):
    return Target(
        "local", {"region": "us-east-1", "bucket_name": "b", "experiment": "shares"}, s3.url
    )


def interrupt(s3, stack):
    s3.objects.clear()
    s3.faults.refuse["PutObject"] = [None] * 4 + [(403, "AccessDenied")] * 99
    with pytest.raises(RunError, match="AccessDenied"):
        put_manifest(stack)
    s3.faults.refuse.clear()


@pytest.mark.parametrize(
    ("damage", "lacking"),
    [
        (interrupt, 2),
        (lambda s3, stack: s3.objects.pop(PLAN.slice_key(3)), 1),
    ],
)
def test_an_incomplete_manifest_is_refused_and_then_completed(s3, stack, damage, lacking):
    assert put_manifest(stack, dry_run=True) == put_manifest(stack) == 6
    whole = dict(s3.objects)
    damage(s3, stack)
    with pytest.raises(UsageError, match=r"no complete manifest .*`stampede dataset`"):
        check_manifest(stack)
    before = s3.count("PutObject")
    assert (put_manifest(stack), s3.objects) == (lacking, whole)
    assert s3.count("PutObject") - before == lacking


def test_a_stream_of_items_is_read_a_few_at_a_time():
    taken = []
    results = in_flight(
        lambda number: number, (taken.append(number) or number for number in range(1000)), 2
    )
    assert next(results) == 0 and len(taken) < 10
    assert list(results) == list(range(1, 1000))


# A bucket that Terraform can't empty.


class DirectoryBucket(FakeS3):
    """Lists its keys unordered and in small pages, and skips some while keys are deleted; `refused`
    keys are never deleted, `busy` ones not the first time."""

    def __init__(self, keys=(), refused=(), busy=(), **refuse):
        super().__init__(
            objects=dict.fromkeys(keys, b""), faults=Faults(keys_a_page=3, refuse=refuse)
        )
        self.refused, self.busy, self.listed = set(refused), set(busy), []

    def listed_keys(self, prefix, is_first_page):
        if is_first_page:
            keys = sorted(self.objects)
            random.Random(len(keys)).shuffle(keys)
            self.listed = keys[: max(3, len(keys) * 2 // 3)]
        return self.listed

    def keeps(self, key):
        stays = key in self.refused | self.busy
        self.busy.discard(key)
        return "AccessDenied" if stays else ""


def emptied(s3, **options):
    with s3:
        return empty(Target("local", {"region": "us-east-1"}, s3.url), "bucket", **options)


def test_a_bucket_is_emptied_of_objects_and_unfinished_uploads_even_if_s3_was_busy():
    keys = {f"data/{number}" for number in range(50)}
    s3 = DirectoryBucket(
        keys, busy=["data/1", "data/7"], AbortMultipartUpload=[(404, "NoSuchUpload")]
    )
    s3.uploads = {"gone": Upload("k"), "there": Upload("k")}
    assert emptied(s3, dry_run=True) and s3.objects.keys() == keys
    assert (emptied(s3), s3.objects, list(s3.uploads)) == (50, {}, ["gone"])
    assert emptied(DirectoryBucket(ListObjectsV2=[(404, "NoSuchBucket")])) == 0


@pytest.mark.parametrize(
    ("s3", "words"),
    [
        (DirectoryBucket({"a", "b"}, refused=["a"]), "s3://bucket: .* example a: AccessDenied"),
        (DirectoryBucket({"a"}, ListObjectsV2=[(403, "AccessDenied")]), "s3://bucket.*Injected"),
    ],
)
def test_a_key_that_s3_does_not_delete_is_reported_with_its_bucket(s3, words):
    with pytest.raises(RunError, match=words):
        emptied(s3)
