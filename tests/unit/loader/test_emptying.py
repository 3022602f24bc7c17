"""A bucket that Terraform can't empty is emptied before it: all of it, in whatever order it is listed."""

import random
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from loader.emptying import empty
from stampede.errors import RunError
from stampede.stacks.target import Target

BUCKET = "b--use1-az4--x-s3"


class S3:
    """Lists what is there in no order and in small pages, and while keys go a listing passes over some; `refused` are
    keys that it doesn't delete, `busy` those that it doesn't the first time."""

    def __init__(self, keys, uploads=(), refused=(), busy=(), error=None):
        self.keys, self.uploads, self.refused, self.error = set(keys), list(uploads), set(refused), error
        self.busy = set(busy)

    def get_paginator(self, name):
        return SimpleNamespace(paginate=getattr(self, name))

    def list_objects_v2(self, Bucket):
        if self.error:
            raise ClientError({"Error": {"Code": self.error, "Message": "in the words of S3"}}, "ListObjectsV2")
        listed = sorted(self.keys)
        random.Random(len(listed)).shuffle(listed)
        yield {"KeyCount": 0}  # a page may be empty
        for first in range(0, max(1, len(listed) * 2 // 3), 3):
            yield {"Contents": [{"Key": key} for key in listed[first : first + 3]]} if listed else {}

    def delete_objects(self, Bucket, Delete):
        keys = {one["Key"] for one in Delete["Objects"]}
        stay = keys & (self.refused | self.busy)
        self.keys -= keys - stay
        self.busy -= keys
        errors = [{"Key": key, "Code": "AccessDenied", "Message": "no"} for key in sorted(stay)]
        return {"Errors": errors} if errors else {}

    def list_multipart_uploads(self, Bucket):
        yield {"Uploads": [{"Key": key, "UploadId": "u"} for key in self.uploads]}

    def abort_multipart_upload(self, Bucket, Key, UploadId):
        self.uploads.remove(Key)
        if Key == "gone":
            raise ClientError({"Error": {"Code": "NoSuchUpload"}}, "AbortMultipartUpload")


@pytest.fixture
def emptied(monkeypatch):
    """Empties a bucket of this S3; how many objects there were."""

    def run(s3, **options):
        monkeypatch.setattr(Target, "client", lambda self, name, **config: s3)
        return empty(Target("aws", {"region": "us-east-1"}), BUCKET, **options)

    return run


def test_nothing_is_left_of_objects_and_unfinished_uploads(emptied, capsys):
    s3 = S3({f"data/{number}" for number in range(50)}, uploads=["a", "gone"])
    assert emptied(s3) == 50
    assert (s3.keys, s3.uploads) == (set(), [])
    assert f"deleted 50 objects in s3://{BUCKET}, and aborted 2 unfinished uploads" in capsys.readouterr().err


def test_a_key_that_s3_was_too_busy_for_is_deleted_the_next_time(emptied):
    s3 = S3({f"data/{number}" for number in range(9)}, busy=["data/1", "data/7"])
    assert emptied(s3) == 9
    assert s3.keys == set()


def test_a_dry_run_counts_and_deletes_nothing(emptied, capsys):
    s3 = S3({"a", "b", "c"})
    emptied(s3, dry_run=True)
    assert s3.keys == {"a", "b", "c"}
    assert f"would delete 3 objects in s3://{BUCKET}, and abort unfinished uploads" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("s3", "words"),
    [
        (S3({"a", "b"}, refused=["a"]), "1 of 1 objects couldn't be deleted, for example a: AccessDenied: no"),
        (S3({"a"}, error="AccessDenied"), "in the words of S3"),
    ],
    ids=["a key", "the listing"],
)
def test_what_s3_refuses_is_one_line_that_names_the_bucket(emptied, s3, words):
    with pytest.raises(RunError) as error:
        emptied(s3)
    assert words in str(error.value) and BUCKET in str(error.value) and "\n" not in str(error.value)


def test_a_bucket_that_is_gone_is_empty(emptied):
    assert emptied(S3((), error="NoSuchBucket")) == 0
