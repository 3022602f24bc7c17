"""`stampede dataset`: uploads an experiment's objects in parallel, without storing them on disk,
and the slices of its manifest, if it has one.

boto3's transfer manager sends them, with the CRC-32 of every part, and aborts an upload that fails
or is interrupted, so that no hidden parts are billed; the next run aborts the leftovers of a killed
one. Objects in parts get a composite checksum, one over the checksums of the parts, which boto3
doesn't verify in a GET (botocore.httpchecksum). It would verify a full-object checksum, and the
functions would measure that; objects below LEAST_MULTIPART_BYTES have one, where it costs nothing.
Objects that are only copied have one too: the copy keeps it, whatever its ETag, and is recognized
by it.

The next upload of a manifest completes an interrupted one. A slice's key contains the id of its
plan, and S3 shows an object whole or not at all, so a slice that is there is the right one.

`empty` is for a bucket that Terraform can't empty, or not in time: a directory bucket, for which
the provider's force_destroy is reported broken (terraform-provider-aws#34643), or one of millions
of objects, which force_destroy deletes one page of 1,000 after the other. A directory bucket lists
its keys in no order (ListObjectsV2 in the S3 API reference), and a listing may miss keys while
others are deleted. So it is listed again until it is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from boto3.s3.transfer import ProgressCallbackInvoker, TransferConfig, create_transfer_manager
from botocore.exceptions import ClientError

from experiments import objects as contents
from experiments.objects import LEAST_MULTIPART_BYTES, MEBIBYTE, part, part_count
from stampede.errors import RunError, UsageError
from stampede.experiment import DataObject, Manifest
from stampede.phrases import counted, size_words
from stampede.progress import bar, say
from stampede.stacks import own_object
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import code_of
from stampede.stacks.target import Target

PARTS_AT_ONCE = 8
# HEAD and COPY calls, for which this machine only waits. Far below the request rate of a prefix.
CALLS_AT_ONCE = 32
SLICES_AT_ONCE = 8
DELETES_AT_ONCE = 8  # requests of 1,000 keys, the most that DeleteObjects takes
METADATA_KEY = "stampede-content"
# Items taken at a time, for each worker; a batch ends before the next one begins.
AHEAD = 4

Item = TypeVar("Item")
Result = TypeVar("Result")


def put_objects(
    target: Target, objects: Sequence[DataObject], seed: int = 1, *, dry_run: bool = False
) -> int:
    """Upload the missing `objects`, then copy those that are copies of others; returns how many
    were missing. Raises RunError when S3 refuses."""
    s3, bucket = _client(target), target["bucket_name"]
    are_there = _each(target, "checking", objects, lambda item: _is_there(s3, bucket, item, seed))
    missing = [item for item, is_there in zip(objects, are_there, strict=True) if not is_there]
    originals = [item for item in missing if not item.copy_of]
    copies = [item for item in missing if item.copy_of]
    _say("would upload" if dry_run else "uploading", bucket, originals)
    _say("would copy" if dry_run else "copying", bucket, copies)
    if not dry_run:
        _upload(target, s3, originals, seed)
        _each(target, "copying to", copies, lambda item: _copy(s3, bucket, item))
    return len(missing)


def stored_objects(target: Target) -> list[DataObject]:
    """The objects of the applied experiment, with their sizes in S3. Raises UsageError when one is
    missing."""
    if (own := own_object.of_stack(target)) is not None:
        return [own]
    s3, bucket = _client(target), target["bucket_name"]

    def stored(item: DataObject) -> DataObject:
        if (answer := head(s3, bucket, item.key)) is None:
            raise UsageError(
                f"there is no object s3://{bucket}/{item.key}; `stampede dataset` uploads it"
            )
        return replace(item, size_bytes=answer["ContentLength"])

    return _each(target, "checking", target.experiment.objects(target), stored)


def put_manifest(target: Target, *, dry_run: bool = False) -> int:
    """Upload the missing slices of the applied experiment's manifest; returns how many there were,
    0 without a key plan.

    Raises RunError when S3 refuses, UsageError for parameters of the list that don't fit.
    """
    missing = _missing(target)
    if not missing:
        return 0
    plan, bucket = _plan(target), target["bucket_name"]
    where = f"s3://{bucket}/{plan.manifest}, {counted(plan.objects, 'row')}"
    say(f"{'would upload' if dry_run else 'uploading'} {where}")
    if dry_run:
        return len(missing)
    s3 = target.client("s3", max_pool_connections=SLICES_AT_ONCE)

    def put(numbered: tuple[int, str]) -> None:
        index, text = numbered
        if (key := plan.slice_key(index)) in missing:
            s3.put_object(Bucket=bucket, Key=key, Body=text.encode(), ChecksumAlgorithm="CRC32")

    with targets.explained(f"putting {where}", target), bar() as progress:
        task = progress.add_task("manifest", total=plan.slice_count, note="slices")
        for _ in in_flight(put, enumerate(plan.slices()), SLICES_AT_ONCE):
            progress.advance(task)
    return len(missing)


def check_manifest(target: Target) -> None:
    """Raise UsageError if the manifest that the work orders name isn't complete: a message would
    fail at it again and again."""
    if _missing(target):
        where = f"s3://{target['bucket_name']}/{_plan(target).manifest}"
        raise UsageError(f"there is no complete manifest {where}; `stampede dataset` uploads it")


def _plan(target: Target) -> Manifest | None:
    shared_list = target.experiment.shared_list
    return shared_list and shared_list.manifest(target.outputs)


def _missing(target: Target) -> set[str]:
    """The keys of the slices that aren't in S3."""
    if (plan := _plan(target)) is None:
        return set()
    where = {"Bucket": target["bucket_name"], "Prefix": plan.manifest}
    with targets.explained(f"looking for s3://{where['Bucket']}/{where['Prefix']}", target):
        pages = target.client("s3").get_paginator("list_objects_v2").paginate(**where)
        there = set(filter(None, pages.search("Contents[].Key")))
    return {plan.slice_key(index) for index in range(plan.slice_count)} - there


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
                count = sum(map(len, _listed(s3, bucket)))
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
    while answers := list(in_flight(delete, _listed(s3, bucket), DELETES_AT_ONCE)):
        deleted = sum(number for number, _ in answers)
        count += deleted
        if not deleted:
            [error, *_] = answers[0][1]
            why = f"{error.get('Key')}: {error.get('Code')}: {error.get('Message')}"
            raise RunError(f"s3://{bucket}: no more objects can be deleted, for example {why}")
    return count


def _listed(s3: Any, bucket: str) -> Iterator[list[str]]:
    """The keys of one listing, page by page; a page before the last may be empty."""
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        if "Contents" in page:
            yield [stored["Key"] for stored in page["Contents"]]


def in_flight(
    work: Callable[[Item], Result], items: Iterable[Item], at_once: int
) -> Iterator[Result]:
    """The results of `work` for each item, in order. The first error ends it, after the calls that
    have begun."""
    source = iter(items)
    with ThreadPoolExecutor(at_once) as pool:
        while taken := list(islice(source, AHEAD * at_once)):
            yield from pool.map(work, taken)


def head(s3: Any, bucket: str, key: str) -> dict[str, Any] | None:
    """The answer to a HEAD of an object, None if there is none."""
    try:
        return s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return None
        raise


def abort_uploads(s3: Any, bucket: str, key: str = "") -> None:
    """Abort the unfinished uploads of a bucket, or of one key, whose hidden parts are billed. It is
    no error if one is already gone."""
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=key)
    for upload in filter(None, pages.search("Uploads[]")):
        if key in ("", upload["Key"]):
            with suppress(s3.exceptions.NoSuchUpload):
                s3.abort_multipart_upload(
                    Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]
                )


def _client(target: Target) -> Any:
    # Without TLS botocore hashes each body to sign it, in awscrt's native code, which prints a
    # traceback when the upload is interrupted. S3 checks the CRC-32 of each part anyway.
    unsigned = {"payload_signing_enabled": False}
    # a thousand copies may meet SlowDown
    patient = {"max_attempts": 10, "mode": "standard"}
    return target.client("s3", max_pool_connections=CALLS_AT_ONCE, retries=patient, s3=unsigned)


def _upload(target: Target, s3: Any, objects: Sequence[DataObject], seed: int) -> None:
    """Upload objects whose bytes are made here, several parts at once."""
    bucket = target["bucket_name"]
    are_copied = target.experiment.shared_list is not None
    for item in objects:
        if item.size_bytes >= LEAST_MULTIPART_BYTES:
            with targets.explained(f"looking for unfinished uploads of {item.key}", target):
                abort_uploads(s3, bucket, item.key)
    config = TransferConfig(LEAST_MULTIPART_BYTES, PARTS_AT_ONCE, contents.PART_BYTES)
    with bar() as progress, create_transfer_manager(s3, config) as manager:
        task = progress.add_task(
            "upload", total=sum(item.size_bytes for item in objects) / MEBIBYTE, note="MiB"
        )
        sent = ProgressCallbackInvoker(lambda count: progress.advance(task, count / MEBIBYTE))

        def put(item: DataObject) -> Any:
            described = {"Metadata": {METADATA_KEY: content_name(item.size_bytes, seed)}}
            kind = "FULL_OBJECT" if are_copied else "COMPOSITE"
            checksum = {"ChecksumAlgorithm": "CRC32", "ChecksumType": kind}
            content = _Content(seed, item.size_bytes)
            return manager.upload(content, bucket, item.key, described | checksum, [sent])

        for item, upload in [(item, put(item)) for item in objects]:
            with targets.explained(f"putting s3://{bucket}/{item.key}", target):
                try:
                    upload.result()
                except s3.exceptions.NoSuchUpload:
                    # S3 may have completed it and its answer was lost; boto3's retry gets this.
                    if not _is_there(s3, bucket, item, seed):
                        raise


class _Content:
    """An object's bytes as a file, made while it is read."""

    def __init__(self, seed: int, size_bytes: int) -> None:
        self._parts = (part(seed, index, size_bytes) for index in range(part_count(size_bytes)))
        self._made = b""

    def read(self, size: int = 2**63) -> bytes:
        while len(self._made) < size and (made := next(self._parts, b"")):
            self._made += made
        read, self._made = self._made[:size], self._made[size:]
        return read


def content_name(size_bytes: int, seed: int) -> str:
    """The object's metadata that identifies its content."""
    return f"shake128-seed-{seed}-bytes-{size_bytes}"


def _each(
    target: Target, doing: str, objects: Sequence[DataObject], work: Callable[[DataObject], Any]
) -> list[Any]:
    """The results of `work` for every object, several at once."""

    def explained(item: DataObject) -> Any:
        with targets.explained(f"{doing} s3://{target['bucket_name']}/{item.key}", target):
            return work(item)

    return list(in_flight(explained, objects, CALLS_AT_ONCE))


def _say(doing: str, bucket: str, objects: Sequence[DataObject]) -> None:
    if objects:
        key = objects[0].key if len(objects) == 1 else f" ({len(objects):,} objects)"
        size = size_words(sum(item.size_bytes for item in objects))
        say(f"{doing} s3://{bucket}/{key}, {size}")


def _is_there(s3: Any, bucket: str, item: DataObject, seed: int) -> bool:
    answer = head(s3, bucket, item.key)
    described = answer and (answer["ContentLength"], answer["Metadata"].get(METADATA_KEY))
    return described == (item.size_bytes, content_name(item.size_bytes, seed))


def _copy(s3: Any, bucket: str, item: DataObject) -> None:
    """Copy an object within S3, with the metadata that identifies its content."""
    source = {"Bucket": bucket, "Key": item.copy_of}
    s3.copy_object(Bucket=bucket, Key=item.key, CopySource=source, MetadataDirective="COPY")
