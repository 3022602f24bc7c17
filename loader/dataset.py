"""`stampede dataset`: puts an experiment's objects, streamed in parallel; nothing is stored on this machine.

An upload of parts that fails or is interrupted is aborted, so that no hidden parts are billed, and leftovers of a
killed run are aborted by the next one.

Everything goes with the CRC-32 of the bytes that were made here, and the completion names those of all parts again, so
that S3 refuses what was damaged on the way (S3 User Guide, "Checking object integrity for data uploads"). The checksum
of an object in parts is of the composite type, one of the parts' checksums, which boto3 leaves alone on the way down
(botocore.httpchecksum). One of the whole object it would compute again in every GET, and the functions would measure
that; objects below LEAST_MULTIPART_BYTES have one, where it costs nothing.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from experiments.objects import LEAST_MULTIPART_BYTES, MEBIBYTE, DataObject, part, part_count
from loader import target as targets
from loader.errors import RunError, UsageError, one_line
from loader.progress import bar, say
from loader.target import Target

UPLOADS_AT_ONCE = 8
MAX_PARTS = 10_000  # S3's limit of parts in one multipart upload
METADATA_KEY = "stampede-content"


def put_objects(target: Target, objects: Sequence[DataObject], seed: int = 1, *, dry_run: bool = False) -> int:
    """Put those of `objects` that aren't there yet; returns how many were uploaded.

    Raises UsageError for a size S3 can't take in parts, RunError when S3 refuses.
    """
    for one in objects:
        if part_count(one.size_bytes) > MAX_PARTS:
            size_mb = one.size_bytes // MEBIBYTE
            raise UsageError(f"--size-mb: {size_mb} MiB needs more than S3's {MAX_PARTS:,} parts; use at most 160000")
    s3, bucket = target.client("s3", max_pool_connections=UPLOADS_AT_ONCE), target["bucket_name"]
    are_there = _each(target, "looking at", objects, lambda one: _is_there(s3, bucket, one, seed))
    there = [one for one, is_there in zip(objects, are_there, strict=True) if is_there]
    missing = [one for one, is_there in zip(objects, are_there, strict=True) if not is_there]
    if there:
        say(f"{_words(bucket, there)}, seed {seed}: already there")
    if missing:
        say(f"{'would upload' if dry_run else 'uploading'} {_words(bucket, missing)}, seed {seed}")
    if dry_run:
        return 0
    small = [one for one in missing if one.size_bytes < LEAST_MULTIPART_BYTES]
    _each(target, "putting", small, lambda one: _put_whole(s3, bucket, one, seed))
    for one in missing:
        if one.size_bytes >= LEAST_MULTIPART_BYTES:
            with _explained(target, "putting", one):
                _abort_leftovers(s3, bucket, one.key)
                _Upload(s3, bucket, one, seed).put()
    return len(missing)


def stored_objects(target: Target) -> list[DataObject]:
    """The objects of the experiment that is up, with their sizes in S3. Raises RunError when one isn't there."""
    s3, bucket = target.client("s3", max_pool_connections=UPLOADS_AT_ONCE), target["bucket_name"]

    def stored(one: DataObject) -> DataObject:
        if (head := _head(s3, bucket, one.key)) is None:
            raise RunError(f"no object s3://{bucket}/{one.key}; `stampede dataset` puts it there")
        return DataObject(one.key, head["ContentLength"])

    return _each(target, "looking at", target.experiment.objects(target), stored)


def content_name(size_bytes: int, seed: int) -> str:
    """What the object's metadata says about its content."""
    return f"shake128-seed-{seed}-bytes-{size_bytes}"


def _each(target: Target, doing: str, objects: Sequence[DataObject], work: Callable[[DataObject], Any]) -> list[Any]:
    """What `work` gives for every object, several at once."""

    def one_of_them(one: DataObject) -> Any:
        with _explained(target, doing, one):
            return work(one)

    with ThreadPoolExecutor(UPLOADS_AT_ONCE) as pool:
        return list(pool.map(one_of_them, objects))


@contextmanager
def _explained(target: Target, doing: str, one: DataObject) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise targets.explain(error, f"{doing} s3://{target['bucket_name']}/{one.key}", target) from None


def _words(bucket: str, objects: Sequence[DataObject]) -> str:
    which = f"s3://{bucket}/{objects[0].key}" if len(objects) == 1 else f"{len(objects):,} objects in s3://{bucket}"
    return f"{which}, {sum(one.size_bytes for one in objects) / MEBIBYTE:,.0f} MiB"


def _head(s3: Any, bucket: str, key: str) -> dict[str, Any] | None:
    """What S3 says of an object, None where there is none."""
    try:
        return s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return None
        raise


def _is_there(s3: Any, bucket: str, one: DataObject, seed: int) -> bool:
    head = _head(s3, bucket, one.key)
    if head is None or head["ContentLength"] != one.size_bytes:
        return False
    return head["Metadata"].get(METADATA_KEY) == content_name(one.size_bytes, seed)


def _put_whole(s3: Any, bucket: str, one: DataObject, seed: int) -> None:
    body = part(seed, 0, one.size_bytes)
    metadata = {METADATA_KEY: content_name(one.size_bytes, seed)}
    s3.put_object(Bucket=bucket, Key=one.key, Body=body, Metadata=metadata, ChecksumCRC32=_crc32(body))


def _crc32(body: bytes) -> str:
    """As S3 writes it: base64 of the four bytes, the highest first."""
    return base64.b64encode(zlib.crc32(body).to_bytes(4)).decode()


def _abort_leftovers(s3: Any, bucket: str, key: str) -> None:
    """Abort uploads of this key that a killed run left; their parts would be billed unseen."""
    for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=key):
        for upload in page.get("Uploads", []):
            if upload["Key"] == key:
                say(f"aborting an unfinished upload of {key} from an earlier run")
                _abort(s3, {"Bucket": bucket, "Key": key, "UploadId": upload["UploadId"]})


def _abort(s3: Any, upload: dict[str, str]) -> None:
    try:
        s3.abort_multipart_upload(**upload)
    except ClientError as error:
        if not _is_gone(error):
            raise


def _is_gone(error: ClientError) -> bool:
    return error.response["Error"].get("Code") == "NoSuchUpload"


class _Upload:
    """One multipart upload with a bounded number of parts in memory."""

    def __init__(self, s3: Any, bucket: str, one: DataObject, seed: int) -> None:
        self._s3, self._object, self._seed = s3, one, seed
        self._where = {"Bucket": bucket, "Key": one.key}

    def put(self) -> None:
        created = self._s3.create_multipart_upload(
            **self._where,
            ContentType="application/octet-stream",
            Metadata={METADATA_KEY: content_name(self._object.size_bytes, self._seed)},
            ChecksumAlgorithm="CRC32",
            ChecksumType="COMPOSITE",
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
            _abort(self._s3, upload)
        except (BotoCoreError, ClientError) as error:
            say(
                f"the unfinished upload of {upload['Key']} couldn't be aborted ({one_line(error)}); its parts are"
                " billed until the next `stampede dataset` aborts it, or the bucket's lifecycle rule does",
                style="yellow",
            )

    def _parts(self, upload: dict[str, str]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        waiting: set[Future] = set()
        total = part_count(self._object.size_bytes)
        with bar() as progress, ThreadPoolExecutor(UPLOADS_AT_ONCE) as pool:
            task = progress.add_task("upload", total=total, note="parts of 16 MiB")
            try:
                for index in range(total):
                    if len(waiting) >= UPLOADS_AT_ONCE:
                        waiting = self._collect(waiting, parts, progress, task)
                    waiting.add(pool.submit(self._put_part, upload, index))
                while waiting:
                    waiting = self._collect(waiting, parts, progress, task)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return sorted(parts, key=lambda one: one["PartNumber"])

    @staticmethod
    def _collect(waiting: set[Future], parts: list[dict[str, Any]], progress: Any, task: Any) -> set[Future]:
        done, rest = wait(waiting, return_when=FIRST_COMPLETED)
        parts.extend(future.result() for future in done)
        progress.advance(task, len(done))
        return rest

    def _put_part(self, upload: dict[str, str], index: int) -> dict[str, Any]:
        body = part(self._seed, index, self._object.size_bytes)
        named = {"PartNumber": index + 1, "ChecksumCRC32": _crc32(body)}
        answer = self._s3.upload_part(**upload, **named, Body=body)
        return named | {"ETag": answer["ETag"]}
