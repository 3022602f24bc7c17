"""A bucket that Terraform can't empty is emptied before it: all of it, in whatever order it is listed."""

import random

import pytest

from loader.emptying import empty
from stampede.errors import RunError
from stampede.stacks.target import Target
from tests.fakes.s3 import FakeS3, Faults, Upload

BUCKET = "bucket"


class DirectoryBucket(FakeS3):
    """Lists its keys in no order and in small pages, and while keys go a listing passes over some; `refused` are keys
    that it doesn't delete, `busy` those that it doesn't the first time."""

    def __init__(self, keys=(), refused=(), busy=(), **refuse):
        super().__init__(objects=dict.fromkeys(keys, b""), faults=Faults(keys_a_page=3, refuse=refuse))
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
        return empty(Target("local", {"region": "us-east-1"}, s3.url), BUCKET, **options)


def test_nothing_is_left_of_objects_and_unfinished_uploads(capsys):
    s3 = DirectoryBucket({f"data/{number}" for number in range(50)}, AbortMultipartUpload=[(404, "NoSuchUpload")])
    s3.uploads = {"gone": Upload("k"), "there": Upload("k")}
    assert emptied(s3) == 50
    assert (s3.objects, list(s3.uploads)) == ({}, ["gone"])
    assert f"deleted 50 objects in s3://{BUCKET}, and aborted 2 unfinished uploads" in capsys.readouterr().err


def test_a_key_that_s3_was_too_busy_for_is_deleted_the_next_time():
    s3 = DirectoryBucket({f"data/{number}" for number in range(9)}, busy=["data/1", "data/7"])
    assert emptied(s3) == 9
    assert s3.objects == {}


def test_a_dry_run_counts_and_deletes_nothing(capsys):
    s3 = DirectoryBucket({"a", "b", "c"})
    emptied(s3, dry_run=True)
    assert s3.objects.keys() == {"a", "b", "c"}
    assert f"would delete 3 objects in s3://{BUCKET}, and abort unfinished uploads" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("s3", "words"),
    [
        (
            DirectoryBucket({"a", "b"}, refused=["a"]),
            "1 of 1 object couldn't be deleted, for example a: AccessDenied",
        ),
        (DirectoryBucket({"a"}, ListObjectsV2=[(403, "AccessDenied")]), "Injected by the test."),
    ],
    ids=["a key", "the listing"],
)
def test_what_s3_refuses_is_one_line_that_names_the_bucket(s3, words):
    with pytest.raises(RunError) as error:
        emptied(s3)
    assert words in str(error.value) and BUCKET in str(error.value) and "\n" not in str(error.value)


def test_a_bucket_that_is_gone_is_empty():
    assert emptied(DirectoryBucket(ListObjectsV2=[(404, "NoSuchBucket")])) == 0
