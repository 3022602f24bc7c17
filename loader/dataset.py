"""`stampede dataset`: puts an experiment's objects, streamed in parallel; nothing is stored on this machine.

An upload of parts that fails or is interrupted is aborted, so that no hidden parts are billed, and leftovers of a
killed run are aborted by the next one.

Everything goes with the CRC-32 of the bytes that were made here, and the completion names those of all parts again, so
that S3 refuses what was damaged on the way (S3 User Guide, "Checking object integrity for data uploads"). The checksum
of an object in parts is of the composite type, one of the parts' checksums, which boto3 leaves alone on the way down
(botocore.httpchecksum). One of the whole object it would compute again in every GET, and the functions would measure
that; objects below LEAST_MULTIPART_BYTES have one, where it costs nothing. What is copied and never read has one as
well: a copy has the same then, whatever its ETag, and that is how a copy is known for what it is.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from experiments.objects import LEAST_MULTIPART_BYTES, MEBIBYTE, MOST_COPY_BYTES, part, part_count
from loader.in_flight import in_flight
from stampede.errors import UsageError, one_line
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
    there = [item for item, is_there in zip(objects, are_there, strict=True) if is_there]
    missing = [item for item, is_there in zip(objects, are_there, strict=True) if not is_there]
    if there:
        say(f"{_words(bucket, there)}, seed {seed}: already there")
    originals = [item for item in missing if not item.copy_of]
    copies = [item for item in missing if item.copy_of]
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
    """Put objects of bytes that are made here."""
    bucket = target["bucket_name"]
    checksum_type = "FULL_OBJECT" if _are_copied(target) else "COMPOSITE"
    small = [item for item in objects if item.size_bytes < LEAST_MULTIPART_BYTES]
    _each(target, "putting", small, lambda item: _put_whole(s3, bucket, item, seed))
    for item in objects:
        if item.size_bytes >= LEAST_MULTIPART_BYTES:
            with targets.explained(f"putting s3://{bucket}/{item.key}", target):
                _abort_leftovers(s3, bucket, item.key)
                _Upload(s3, bucket, item, seed, checksum_type).put()


def _are_copied(target: Target) -> bool:
    """Whether the experiment copies its objects and never reads them."""
    return "experiment" in target.outputs and target.experiment.shared_list is not None


def stored_objects(target: Target) -> list[DataObject]:
    """The objects of the experiment that is up, with their sizes in S3. Raises UsageError when one isn't there."""
    s3, bucket = target.client("s3", max_pool_connections=CALLS_AT_ONCE), target["bucket_name"]

    def stored(item: DataObject) -> DataObject:
        if (answer := head(s3, bucket, item.key)) is None:
            raise UsageError(f"there is no object s3://{bucket}/{item.key}; `stampede dataset` uploads it")
        return replace(item, size_bytes=answer["ContentLength"])

    return _each(target, "checking", target.experiment.objects(target), stored, CALLS_AT_ONCE)


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


def head(s3: Any, bucket: str, key: str) -> dict[str, Any] | None:
    """What S3 says of an object, None where there is none."""
    try:
        return s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return None
        raise


def _is_there(s3: Any, bucket: str, item: DataObject, seed: int) -> bool:
    answer = head(s3, bucket, item.key)
    if answer is None or answer["ContentLength"] != item.size_bytes:
        return False
    return answer["Metadata"].get(METADATA_KEY) == content_name(item.size_bytes, seed)


def _put_whole(s3: Any, bucket: str, item: DataObject, seed: int) -> None:
    body = part(seed, 0, item.size_bytes)
    metadata = {METADATA_KEY: content_name(item.size_bytes, seed)}
    s3.put_object(Bucket=bucket, Key=item.key, Body=body, Metadata=metadata, ChecksumCRC32=crc32(body))


def _copy(s3: Any, bucket: str, item: DataObject) -> None:
    """Copy in S3, metadata included, which says what the content is."""
    source = {"Bucket": bucket, "Key": item.copy_of}
    s3.copy_object(Bucket=bucket, Key=item.key, CopySource=source, MetadataDirective="COPY")


def crc32(body: bytes) -> str:
    """As S3 writes it: base64 of the four bytes, the highest first."""
    return base64.b64encode(zlib.crc32(body).to_bytes(4)).decode()


def _abort_leftovers(s3: Any, bucket: str, key: str) -> None:
    """Abort uploads of this key that a killed run left; their parts would be billed unseen."""
    for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=key):
        for upload in page.get("Uploads", []):
            if upload["Key"] == key:
                say(f"aborting an unfinished upload of {key} from an earlier run")
                abort(s3, {"Bucket": bucket, "Key": key, "UploadId": upload["UploadId"]})


def abort(s3: Any, upload: dict[str, str]) -> None:
    """Abort an unfinished upload; one that is gone is what was wanted."""
    try:
        s3.abort_multipart_upload(**upload)
    except ClientError as error:
        if not _is_gone(error):
            raise


def _is_gone(error: ClientError) -> bool:
    return code_of(error) == "NoSuchUpload"


class _Upload:
    """One multipart upload with a bounded number of parts in memory."""

    def __init__(self, s3: Any, bucket: str, item: DataObject, seed: int, checksum_type: str) -> None:
        self._s3, self._object, self._seed, self._checksum_type = s3, item, seed, checksum_type
        self._where = {"Bucket": bucket, "Key": item.key}

    def put(self) -> None:
        created = self._s3.create_multipart_upload(
            **self._where,
            ContentType="application/octet-stream",
            Metadata={METADATA_KEY: content_name(self._object.size_bytes, self._seed)},
            ChecksumAlgorithm="CRC32",
            ChecksumType=self._checksum_type,
        )
        upload = {**self._where, "UploadId": created["UploadId"]}
        try:
            self._complete(upload, self._parts(upload))
        except BaseException:
            self._give_up(upload)
            raise

    def _complete(self, upload: dict[str, str], parts: list[dict[str, Any]]) -> None:
        """Make the object of its parts. An error in the body of a 200 is one for boto3 too: it tries again and raises.

        NoSuchUpload isn't a failure where the object is there: S3 had completed it, its answer was lost, and this is
        what boto3 was told when it asked again.
        """
        try:
            self._s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
        except ClientError as error:
            if not (_is_gone(error) and _is_there(self._s3, self._where["Bucket"], self._object, self._seed)):
                raise

    def _give_up(self, upload: dict[str, str]) -> None:
        """Abort; where that fails too, say what stays, and leave the error that led here the one to be raised."""
        try:
            abort(self._s3, upload)
        except (BotoCoreError, ClientError) as error:
            say(
                (
                    f"the unfinished upload of {upload['Key']} couldn't be aborted ({one_line(error)}); its parts "
                    "are billed until the next `stampede dataset` or the bucket's lifecycle rule aborts it"
                ),
                style="yellow",
            )

    def _parts(self, upload: dict[str, str]) -> list[dict[str, Any]]:
        def put_part(index: int) -> dict[str, Any]:
            body = part(self._seed, index, self._object.size_bytes)
            described = {"PartNumber": index + 1, "ChecksumCRC32": crc32(body)}
            answer = self._s3.upload_part(**upload, **described, Body=body)
            return described | {"ETag": answer["ETag"]}

        parts: list[dict[str, Any]] = []
        total = part_count(self._object.size_bytes)
        with bar() as progress:
            task = progress.add_task("upload", total=total, note="parts of 16 MiB")
            for uploaded in in_flight(put_part, range(total), UPLOADS_AT_ONCE):
                parts.append(uploaded)
                progress.advance(task)
        return sorted(parts, key=lambda uploaded: uploaded["PartNumber"])
