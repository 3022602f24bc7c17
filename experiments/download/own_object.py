"""An object of the user's own: the variables behind `--set object=s3://BUCKET/KEY`, and what S3
says of the object before a flood.

Only HeadBucket and HeadObject are called, with the user's credentials; the bucket isn't changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from experiments.objects import BYTES_IN_A_GB
from stampede.errors import UsageError
from stampede.experiment import DataObject, OwnObject
from stampede.phrases import dollars, size_words

URL = re.compile(r"s3://([^/]+)/(.*[^/])")
# Amazon S3 pricing, "Data transfer OUT from Amazon S3 to" another region: 0.02 USD a GB from most
# of them, and 0.01 to 0.147 from others.
BETWEEN_REGIONS_USD_PER_GB = 0.02
ARCHIVED = ("GLACIER", "DEEP_ARCHIVE")


def settings(url: str) -> dict[str, Any]:
    """The variables that name the object. Raises UsageError for anything but an object's
    address."""
    if (parts := URL.fullmatch(url)) is None:
        rule = "must be s3://BUCKET/KEY, the address of one object and not of a folder"
        raise UsageError(
            f"--set object: {rule}, got {url!r}", "`aws s3 ls s3://BUCKET/ --recursive` lists yours"
        )
    return {"s3_bucket_name": parts[1], "s3_file_name": parts[2], "existing_bucket": True}


def is_read(values: Mapping[str, Any]) -> bool:
    """Whether a plan's cell, or a stack with these outputs, reads an object of the user's own."""
    return bool(values.get("existing_bucket"))


def find(s3: Any, values: Mapping[str, Any], downloads: int) -> DataObject:
    """The object of a plan's cell, or of a stack with these outputs, as it is now. Raises
    UsageError if functions in `region` can't read it, or if that many downloads would be billed as
    transfer between regions."""
    bucket = values.get("bucket_name") or values["s3_bucket_name"]
    key = values.get("object_key") or values["s3_file_name"]
    url, region = f"s3://{bucket}/{key}", _region(s3, bucket)
    payer = {"RequestPayer": "requester"} if values["requester_pays"] else {}
    try:
        answer = s3.head_object(Bucket=bucket, Key=key, **payer)
    except s3.exceptions.ClientError as error:
        _refuse_unread(url, error)
        _refuse_elsewhere(url, region, values["region"], 0)
        raise
    held = DataObject(key, answer["ContentLength"], etag=answer["ETag"], bucket=bucket)
    _refuse_elsewhere(url, region, values["region"], downloads * held.size_bytes)
    if not held.size_bytes:
        raise UsageError(
            f"{url} is empty: there is nothing to download", "name an object of at least 1 byte"
        )
    if answer.get("StorageClass") in ARCHIVED and 'ongoing-request="false"' not in answer.get(
        "Restore", ""
    ):
        archived = f"{url} is archived ({answer['StorageClass']})"
        raise UsageError(archived, "restore it first: `aws s3api restore-object`")
    _refuse_without_its_key(url, answer.get("SSEKMSKeyId"), values)
    return held


def _region(s3: Any, bucket: str) -> str | None:
    """The region of a bucket, which S3 names even if it refuses the call; None at an endpoint that
    doesn't name it. Raises UsageError if there is no such bucket."""
    try:
        answer = s3.head_bucket(Bucket=bucket)
    except s3.exceptions.ClientError as error:
        answer = error.response
    told = answer["ResponseMetadata"]
    if told["HTTPStatusCode"] == 404:
        raise UsageError(
            f"there is no bucket s3://{bucket}", "name one that is there: `aws s3 ls` lists yours"
        )
    return told["HTTPHeaders"].get("x-amz-bucket-region")


def _refuse_unread(url: str, error: Any) -> None:
    """Raise UsageError if S3 says that there is no such object, or that these credentials may not
    read it."""
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if status == 404:
        raise UsageError(
            f"there is no object {url}", "correct the key, or put the object there"
        ) from None
    if status == 403:
        denied = f"{url}: you may not read it (HeadObject needs s3:GetObject), or it isn't there"
        payer = "for a Requester Pays bucket, add --set requester_pays=true"
        raise UsageError(
            denied, f"allow it (docs/permissions.md), or correct address or credentials; {payer}"
        ) from None


def _refuse_elsewhere(url: str, region: str | None, of_run: str, moved_bytes: int) -> None:
    """Raise UsageError if the bucket isn't in the functions' region, with the price of
    `moved_bytes`."""
    if region in (None, of_run):
        return
    cost = f"that transfer costs {BETWEEN_REGIONS_USD_PER_GB} USD a GB from most regions"
    if moved_bytes:
        usd = moved_bytes / BYTES_IN_A_GB * BETWEEN_REGIONS_USD_PER_GB
        cost += f", {dollars(usd)} USD for the {size_words(moved_bytes)} of this plan"
    problem = f"{url} is in {region} and the functions would run in {of_run}; {cost}"
    raise UsageError(problem, f"run them beside it: --set region={region}")


def _refuse_without_its_key(url: str, kms_key: str | None, values: Mapping[str, Any]) -> None:
    """Raise UsageError if the function isn't told the KMS key of the object. Outputs don't name
    it."""
    if kms_key and values.get("object_kms_key_arn", kms_key) != kms_key:
        needs = "is encrypted with a KMS key that the function may not use"
        raise UsageError(f"{url} {needs}", f"allow it with --set object_kms_key_arn={kms_key}")


OWN_OBJECT = OwnObject(settings, "object_size_mb", is_read, find)
