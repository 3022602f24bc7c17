"""Empties a bucket that Terraform can't empty, or not in time: a directory bucket, for which the
provider's force_destroy is reported broken (terraform-provider-aws#34643), or one of millions of
objects, which force_destroy deletes one page of 1,000 after the other.

A directory bucket lists its keys in no order (ListObjectsV2 in the S3 API reference), and a listing
may miss keys while others are deleted. So it is listed again until it is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from loader.dataset import abort_uploads, in_flight
from stampede.errors import RunError
from stampede.phrases import counted
from stampede.progress import say
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import code_of
from stampede.stacks.target import Target

# Requests of 1,000 keys, the most that DeleteObjects takes.
DELETES_AT_ONCE = 8


def empty(target: Target, bucket: str, *, dry_run: bool = False) -> int:
    """Delete all objects of `bucket` and abort its unfinished uploads; returns how many objects
    there were.

    A missing bucket is empty. Raises RunError when S3 refuses; if it refuses single keys, once all
    others are deleted.
    """
    s3 = target.client("s3", max_pool_connections=DELETES_AT_ONCE)
    with targets.explained(f"emptying s3://{bucket}", target):
        try:
            if dry_run:
                count = sum(map(len, _pages(s3, bucket)))
                say(f"would delete {counted(count, 'object')} in s3://{bucket}, and its uploads")
                return count
            say(f"emptying s3://{bucket}")
            count = _delete_all(s3, bucket)
            abort_uploads(s3, bucket)
        except ClientError as error:
            if code_of(error) == "NoSuchBucket":
                return 0
            raise
    say(f"deleted {counted(count, 'object')} in s3://{bucket}, and its unfinished uploads")
    return count


def _delete_all(s3: Any, bucket: str) -> int:
    """Delete all listed keys until there are none; returns how many. S3 refuses single keys for
    passing reasons, too, so RunError is raised only when no key of a listing can be deleted."""

    def delete(keys: list[str]) -> tuple[int, list[dict[str, str]]]:
        answer = s3.delete_objects(
            Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True}
        )
        errors = answer.get("Errors", [])
        return len(keys) - len(errors), errors

    count = 0
    while answers := list(in_flight(delete, _pages(s3, bucket), DELETES_AT_ONCE)):
        deleted = sum(number for number, _ in answers)
        count += deleted
        if not deleted:
            [error, *_] = answers[0][1]
            why = f"{error.get('Key')}: {error.get('Code')}: {error.get('Message')}"
            raise RunError(f"s3://{bucket}: no more objects can be deleted, for example {why}")
    return count


def _pages(s3: Any, bucket: str) -> Iterator[list[str]]:
    """The keys of one listing, page by page; a page before the last may be empty."""
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        if "Contents" in page:
            yield [stored["Key"] for stored in page["Contents"]]
