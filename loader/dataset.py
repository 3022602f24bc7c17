"""`stampede dataset`: puts the test object, streamed in parallel parts; nothing is stored on this machine.

The upload is multipart; when it fails or is interrupted it is aborted, so that no hidden parts are billed, and
leftovers of a killed run are aborted by the next one.

Every part goes with the CRC-32 of the bytes that were made here, and the completion names them all again, so that S3
refuses what was damaged on the way (S3 User Guide, "Checking object integrity for data uploads"). The object's checksum
is of the composite type, one of the parts' checksums, which boto3 leaves alone on the way down (botocore.httpchecksum).
One of the whole object it would compute again in every GET, and the downloads would measure that.
"""

from __future__ import annotations

import base64
import zlib
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader import target as targets
from loader.errors import RunError, UsageError, one_line
from loader.object_content import MEBIBYTE, part, part_count
from loader.progress import bar, say
from loader.target import Target

UPLOADS_AT_ONCE = 8
MAX_PARTS = 10_000  # S3's limit of parts in one multipart upload
METADATA_KEY = "stampede-content"


def put_object(target: Target, size_mb: int, seed: int = 1, *, dry_run: bool = False) -> bool:
    """Put the test object of `size_mb` MiB; True if it was uploaded, False if the right one is already there.

    Raises UsageError for a size S3 can't take in parts, RunError when S3 refuses.
    """
    size_bytes = size_mb * MEBIBYTE
    if part_count(size_bytes) > MAX_PARTS:
        raise UsageError(f"--size-mb: {size_mb} MiB needs more than S3's {MAX_PARTS:,} parts; use at most 160000")
    bucket, key = target["bucket_name"], target["object_key"]
    s3 = target.client("s3", max_pool_connections=UPLOADS_AT_ONCE)
    try:
        if _is_there(s3, bucket, key, size_bytes, seed):
            say(f"s3://{bucket}/{key}: the right object ({size_mb} MiB, seed {seed}) is already there")
            return False
        say(f"{'would upload' if dry_run else 'uploading'} {size_mb} MiB, seed {seed}, to s3://{bucket}/{key}")
        if dry_run:
            return False
        _abort_leftovers(s3, bucket, key)
        _Upload(s3, bucket, key, size_bytes, seed).put()
    except (BotoCoreError, ClientError) as error:
        raise _explained(error, bucket, key, target) from None
    return True


def _explained(error: BotoCoreError | ClientError, bucket: str, key: str, target: Target) -> RunError:
    return targets.explain(error, f"putting s3://{bucket}/{key}", target)


def content_name(size_bytes: int, seed: int) -> str:
    """What the object's metadata says about its content."""
    return f"shake128-seed-{seed}-bytes-{size_bytes}"


def _is_there(s3: Any, bucket: str, key: str, size_bytes: int, seed: int) -> bool:
    try:
        head = s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return False
        raise
    same_content = head["Metadata"].get(METADATA_KEY) == content_name(size_bytes, seed)
    return same_content and head["ContentLength"] == size_bytes


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

    def __init__(self, s3: Any, bucket: str, key: str, size_bytes: int, seed: int) -> None:
        self._s3, self._size_bytes, self._seed = s3, size_bytes, seed
        self._where = {"Bucket": bucket, "Key": key}

    def put(self) -> None:
        created = self._s3.create_multipart_upload(
            **self._where,
            ContentType="application/octet-stream",
            Metadata={METADATA_KEY: content_name(self._size_bytes, self._seed)},
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
            if not (_is_gone(error) and self._is_there()):
                raise

    def _is_there(self) -> bool:
        return _is_there(self._s3, self._where["Bucket"], self._where["Key"], self._size_bytes, self._seed)

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
        total = part_count(self._size_bytes)
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
        body = part(self._seed, index, self._size_bytes)
        # As S3 writes it: base64 of the four bytes, the highest first.
        named = {"PartNumber": index + 1, "ChecksumCRC32": base64.b64encode(zlib.crc32(body).to_bytes(4)).decode()}
        answer = self._s3.upload_part(**upload, **named, Body=body)
        return named | {"ETag": answer["ETag"]}
