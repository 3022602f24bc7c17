"""Lists the objects under a prefix with ListObjectsV2."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from common.failures import AnswerError


@dataclass(frozen=True)
class ListedObject:
    """One object in a listing: the ETag has its quotes, `modified` is the last change."""

    key: str
    size_bytes: int
    etag: str
    modified: datetime | None = None


def listed_objects(s3: Any, bucket: str, prefix: str) -> Iterator[ListedObject]:
    """Yield every object whose key begins with `prefix`, sorted by key.

    Raises boto3's exceptions, and AnswerError if the token for the next page is missing: boto3's
    own paginator would take that page for the last one.
    """
    token: dict[str, str] = {}
    while True:
        page = s3.list_objects_v2(Bucket=bucket, Prefix=prefix, **token)
        for entry in page.get("Contents", ()):
            yield ListedObject(
                entry["Key"], entry["Size"], entry["ETag"], entry.get("LastModified")
            )
        if not page.get("IsTruncated"):
            return
        following = {"ContinuationToken": page.get("NextContinuationToken") or ""}
        if following in ({"ContinuationToken": ""}, token):
            raise AnswerError(
                "ListObjectsV2", 200, "", "the listing is truncated but has no continuation token"
            )
        token = following
