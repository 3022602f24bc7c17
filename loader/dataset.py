"""`stampede dataset`: puts an experiment's objects, streamed in parallel; nothing is stored on this machine.

boto3's transfer manager sends them, with the CRC-32 of every part, and aborts an upload that fails or is interrupted,
so that no hidden parts are billed; leftovers of a killed run are aborted by the next one. The checksum of an object in
parts is of the composite type, one of the parts' checksums, which boto3 leaves alone on the way down
(botocore.httpchecksum). One of the whole object it would compute again in every GET, and the functions would measure
that; objects below LEAST_MULTIPART_BYTES have one, where it costs nothing. What is copied and never read has one as
well: a copy has the same then, whatever its ETag, and that is how a copy is known for what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from experiments import objects as contents
from experiments.objects import LEAST_MULTIPART_BYTES, MEBIBYTE, MOST_COPY_BYTES, part, part_count
from stampede.errors import UsageError
from stampede.experiment import DataObject
from stampede.phrases import size_words
from stampede.progress import bar, say
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import code_of
from stampede.stacks.target import Target

UPLOADS_AT_ONCE = 8
# Heads and copies: S3 works and this machine waits. Far below what a prefix takes.
CALLS_AT_ONCE = 32
COPY_ATTEMPTS = 10  # of one copy; a thousand of them at once may meet SlowDown
MAX_PARTS = 10_000  # S3's limit of parts in one multipart upload
METADATA_KEY = "stampede-content"


def put_objects(target: Target, objects: Sequence[DataObject], seed: int = 1, *, dry_run: bool = False) -> int:
    """Put those of `objects` that aren't there yet, then make those that are copies of others; returns how many.

    Raises UsageError for a size S3 can't take in parts, or can't copy, RunError when S3 refuses.
    """
    _check_sizes(objects)
    retries = {"max_attempts": COPY_ATTEMPTS, "mode": "standard"}
    s3, bucket = target.client("s3", max_pool_connections=CALLS_AT_ONCE, retries=retries), target["bucket_name"]
    are_there = _each(target, "checking", objects, lambda item: _is_there(s3, bucket, item, seed), CALLS_AT_ONCE)
    there, missing = (
        [item for item, is_there in zip(objects, are_there, strict=True) if is_there is wanted]
        for wanted in (True, False)
    )
    originals, copies = ([item for item in missing if bool(item.copy_of) is copied] for copied in (False, True))
    if there:
        say(f"{_words(bucket, there)}, seed {seed}: already there")
    if dry_run:
        for doing, planned in (("would upload", originals), ("would copy", copies)):
            if planned:
                say(f"{doing} {_words(bucket, planned)}, seed {seed}")
        return 0
    if originals:
        say(f"uploading {_words(bucket, originals)}, seed {seed}")
        _upload(target, s3, originals, seed)
    if copies:
        say(f"copying {_words(bucket, copies)} in S3, {CALLS_AT_ONCE} at once")
        _each(target, "copying to", copies, lambda item: _copy(s3, bucket, item), CALLS_AT_ONCE)
    return len(missing)


def stored_objects(target: Target) -> list[DataObject]:
    """The objects of the experiment that is up, with their sizes in S3. Raises UsageError when one isn't there."""
    s3, bucket = target.client("s3", max_pool_connections=CALLS_AT_ONCE), target["bucket_name"]

    def stored(item: DataObject) -> DataObject:
        if (answer := head(s3, bucket, item.key)) is None:
            raise UsageError(f"there is no object s3://{bucket}/{item.key}; `stampede dataset` uploads it")
        return replace(item, size_bytes=answer["ContentLength"])

    return _each(target, "checking", target.experiment.objects(target), stored, CALLS_AT_ONCE)


def head(s3: Any, bucket: str, key: str) -> dict[str, Any] | None:
    """What S3 says of an object, None where there is none."""
    try:
        return s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return None
        raise


def abort_uploads(s3: Any, bucket: str, key: str = "") -> int:
    """Abort the unfinished uploads of a bucket, or of one key, whose parts would be billed unseen; returns how many.
    One that is gone is what was wanted."""
    count = 0
    for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=key):
        for upload in page.get("Uploads", []):
            if upload["Key"] == key or not key:
                count += 1
                try:
                    s3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
                except ClientError as error:
                    if not _is_gone(error):
                        raise
    return count


def _check_sizes(objects: Sequence[DataObject]) -> None:
    for item in objects:
        if part_count(item.size_bytes) > MAX_PARTS:
            size_mb = item.size_bytes // MEBIBYTE
            raise UsageError(f"--size-mb: {size_mb} MiB needs more than S3's {MAX_PARTS:,} parts; use at most 160000")
        if item.copy_of and item.size_bytes > MOST_COPY_BYTES:
            raise UsageError(
                f"{item.key}: {item.size_bytes:,} bytes are more than the {MOST_COPY_BYTES:,} that S3 copies in "
                "one request; apply the stack with smaller objects"
            )


def _upload(target: Target, s3: Any, objects: Sequence[DataObject], seed: int) -> None:
    """Put objects of bytes that are made here: small ones side by side, of the others one after the other the parts."""
    bucket, checksum_type = target["bucket_name"], "FULL_OBJECT" if _are_copied(target) else "COMPOSITE"
    config = TransferConfig(LEAST_MULTIPART_BYTES, UPLOADS_AT_ONCE, contents.PART_BYTES)
    small = [item for item in objects if item.size_bytes < LEAST_MULTIPART_BYTES]
    large = [item for item in objects if item.size_bytes >= LEAST_MULTIPART_BYTES]
    with bar() as progress:
        task = progress.add_task("upload", total=sum(item.size_bytes for item in objects) / MEBIBYTE, note="MiB")

        def put(item: DataObject) -> None:
            described = {METADATA_KEY: content_name(item.size_bytes, seed)}
            checksum = {"ChecksumAlgorithm": "CRC32", "ChecksumType": checksum_type}
            s3.upload_fileobj(
                _Content(seed, item.size_bytes),
                bucket,
                item.key,
                {"Metadata": described, **checksum},
                Callback=lambda sent: progress.advance(task, sent / MEBIBYTE),
                Config=config,
            )

        def put_in_parts(item: DataObject) -> None:
            if abort_uploads(s3, bucket, item.key):
                say(f"aborted an unfinished upload of {item.key} from an earlier run")
            try:
                put(item)
            except ClientError as error:
                # S3 had completed it, its answer was lost, and this is what boto3 was told when it asked again.
                if not (_is_gone(error) and _is_there(s3, bucket, item, seed)):
                    raise

        _each(target, "putting", small, put)
        _each(target, "putting", large, put_in_parts, 1)


class _Content:
    """An object's bytes as a file, which are made while it is read."""

    def __init__(self, seed: int, size_bytes: int) -> None:
        self._parts = (part(seed, index, size_bytes) for index in range(part_count(size_bytes)))
        self._made = b""

    def read(self, size: int = 2**63) -> bytes:
        while len(self._made) < size and (made := next(self._parts, b"")):
            self._made += made
        read, self._made = self._made[:size], self._made[size:]
        return read


def _are_copied(target: Target) -> bool:
    """Whether the experiment copies its objects and never reads them."""
    return "experiment" in target.outputs and target.experiment.shared_list is not None


def content_name(size_bytes: int, seed: int) -> str:
    """What the object's metadata says about its content."""
    return f"shake128-seed-{seed}-bytes-{size_bytes}"


def _each(
    target: Target,
    doing: str,
    objects: Sequence[DataObject],
    work: Callable[[DataObject], Any],
    at_once: int = UPLOADS_AT_ONCE,
) -> list[Any]:
    """What `work` gives for every object, several at once."""

    def explained(item: DataObject) -> Any:
        with targets.explained(f"{doing} s3://{target['bucket_name']}/{item.key}", target):
            return work(item)

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(explained, objects))


def _words(bucket: str, objects: Sequence[DataObject]) -> str:
    which = f"s3://{bucket}/{objects[0].key}" if len(objects) == 1 else f"{len(objects):,} objects in s3://{bucket}"
    return f"{which}, {size_words(sum(item.size_bytes for item in objects))}"


def _is_there(s3: Any, bucket: str, item: DataObject, seed: int) -> bool:
    answer = head(s3, bucket, item.key)
    if answer is None or answer["ContentLength"] != item.size_bytes:
        return False
    return answer["Metadata"].get(METADATA_KEY) == content_name(item.size_bytes, seed)


def _copy(s3: Any, bucket: str, item: DataObject) -> None:
    """Copy in S3, metadata included, which says what the content is."""
    source = {"Bucket": bucket, "Key": item.copy_of}
    s3.copy_object(Bucket=bucket, Key=item.key, CopySource=source, MetadataDirective="COPY")


def _is_gone(error: ClientError) -> bool:
    return code_of(error) == "NoSuchUpload"
