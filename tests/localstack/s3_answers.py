"""What S3 answers, and where emulators answer otherwise; and what a key may do there."""

from __future__ import annotations

import json
import secrets
import zlib
from typing import Any

from botocore.exceptions import ClientError

from tests.fakes.s3 import crc32
from tests.localstack.asking import DONE, S3_API, outcome, question
from tests.localstack.starting import Endpoint

INTEGRITY = "Amazon S3 User Guide, Checking object integrity for data uploads"
COMPLETION = f"{S3_API}, CompleteMultipartUpload, special errors"
# The least that a part may have that isn't the last, and one that is.
PARTS = (b"x" * 5 * 2**20, b"last")
OF_ALL_BYTES = crc32(b"".join(PARTS))
OF_CHECKSUMS = crc32(b"".join(zlib.crc32(part).to_bytes(4) for part in PARTS))


def _bucket(endpoint: Endpoint) -> tuple[Any, str]:
    """A client, and a new bucket with an object `k` of 5 bytes."""
    s3, name = endpoint.client("s3"), f"stampede-{secrets.token_hex(4)}"
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="k", Body=b"12345")
    return s3, name


def _upload(s3: Any, bucket: str, checksum_type: str, *parts: bytes) -> dict[str, Any]:
    """The arguments that complete an upload of `parts` as the object `m`."""
    where = {"Bucket": bucket, "Key": "m"}
    made = s3.create_multipart_upload(**where, ChecksumAlgorithm="CRC32", ChecksumType=checksum_type)
    where["UploadId"] = made["UploadId"]
    done = []
    for number, body in enumerate(parts, start=1):
        part = {"PartNumber": number, "ChecksumCRC32": crc32(body)}
        done.append(part | {"ETag": s3.upload_part(**where, **part, Body=body)["ETag"]})
    return {**where, "MultipartUpload": {"Parts": done}}


def _checksum(endpoint: Endpoint, checksum_type: str) -> tuple[str | None, str | None]:
    """What an object of PARTS is said to have, and of which type."""
    s3, bucket = _bucket(endpoint)
    s3.complete_multipart_upload(**_upload(s3, bucket, checksum_type, *PARTS))
    head = s3.head_object(Bucket=bucket, Key="m", ChecksumMode="ENABLED")
    return head.get("ChecksumCRC32"), head.get("ChecksumType")


@question(DONE, f"{S3_API}, CreateBucket, BucketAlreadyOwnedByYou")
def a_bucket_of_ones_own_is_made_again_in_us_east_1(endpoint: Endpoint) -> str:
    s3, bucket = _bucket(endpoint)
    return outcome(s3.create_bucket, Bucket=bucket)


@question(
    "AES256",
    "Amazon S3 User Guide, Setting default server-side encryption behavior for Amazon S3 buckets",
    ministack=None,
    moto=None,
)
def the_encryption_of_an_object_that_was_put_without_a_word_of_it(endpoint: Endpoint) -> str | None:
    s3, bucket = _bucket(endpoint)
    return s3.head_object(Bucket=bucket, Key="k").get("ServerSideEncryption")


@question("BadDigest", INTEGRITY, moto=DONE)
def an_object_is_not_what_its_checksum_says(endpoint: Endpoint) -> str:
    s3, bucket = _bucket(endpoint)
    return outcome(s3.put_object, Bucket=bucket, Key="k", Body=b"damaged", ChecksumCRC32=crc32(b"as it was"))


@question((f"{OF_CHECKSUMS}-2", "COMPOSITE"), INTEGRITY, moto=(OF_CHECKSUMS, None))
def the_checksum_of_the_parts_checksums(endpoint: Endpoint) -> tuple[str | None, str | None]:
    return _checksum(endpoint, "COMPOSITE")


@question(
    (OF_ALL_BYTES, "FULL_OBJECT"), INTEGRITY, ministack=(f"{OF_CHECKSUMS}-2", "COMPOSITE"), moto=(OF_CHECKSUMS, None)
)
def the_checksum_of_a_whole_object_that_was_put_in_parts(endpoint: Endpoint) -> tuple[str | None, str | None]:
    return _checksum(endpoint, "FULL_OBJECT")


@question(crc32(b"12345"), f"{S3_API}, CopyObject, x-amz-checksum-algorithm", moto=None)
def the_checksum_of_a_copy(endpoint: Endpoint) -> str | None:
    s3, bucket = _bucket(endpoint)
    s3.put_object(Bucket=bucket, Key="k", Body=b"12345", ChecksumCRC32=crc32(b"12345"))
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "k"})
    return s3.head_object(Bucket=bucket, Key="copy", ChecksumMode="ENABLED").get("ChecksumCRC32")


@question("NoSuchUpload", COMPLETION, ministack=DONE, moto=DONE)
def an_upload_in_parts_is_completed_again(endpoint: Endpoint) -> str:
    s3, bucket = _bucket(endpoint)
    upload = _upload(s3, bucket, "COMPOSITE", b"x")
    s3.complete_multipart_upload(**upload)
    return outcome(s3.complete_multipart_upload, **upload)


@question("EntityTooSmall", COMPLETION, ministack=DONE)
def a_part_below_5_mib_is_not_the_last(endpoint: Endpoint) -> str:
    s3, bucket = _bucket(endpoint)
    return outcome(s3.complete_multipart_upload, **_upload(s3, bucket, "COMPOSITE", b"small", b"last"))


@question(
    ("InvalidRange", "5"),
    f"{S3_API}, Error responses, InvalidRange; the size as the AWS CRT reads it (awslabs/aws-c-s3)",
    ministack=("InvalidRange", None),
)
def a_range_behind_the_end_and_the_size_that_the_error_names(endpoint: Endpoint) -> tuple[str, str | None]:
    s3, bucket = _bucket(endpoint)
    try:
        s3.get_object(Bucket=bucket, Key="k", Range="bytes=10-20")
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"].get("ActualObjectSize")
    return DONE, None


@question(
    "AccessDenied",
    "Amazon S3 User Guide, Security best practices for Amazon S3, Enforce encryption of data in transit",
    ministack=DONE,
    localstack=DONE,
    moto="403",
)
def a_bucket_that_denies_requests_without_tls_is_asked_without(endpoint: Endpoint) -> str:
    s3, bucket = _bucket(endpoint)
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    statement = deny | {"Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    return outcome(s3.get_object, Bucket=bucket, Key="k")


@question("AccessDenied", "IAM User Guide, Policy evaluation logic, implicit deny", localstack=DONE, moto=DONE)
def a_user_without_a_permission_lists_the_buckets(endpoint: Endpoint) -> str:
    iam, name = endpoint.client("iam"), f"stampede-{secrets.token_hex(4)}"
    iam.create_user(UserName=name)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    return outcome(endpoint.client("s3", **own).list_buckets)


@question("InvalidAccessKeyId", f"{S3_API}, Error responses", localstack=DONE, moto=DONE)
def a_key_that_nobody_has_lists_the_buckets(endpoint: Endpoint) -> str:
    unknown = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "unknown"}
    return outcome(endpoint.client("s3", **unknown).list_buckets)
