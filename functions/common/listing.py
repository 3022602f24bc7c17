"""The objects under a prefix, by our own HTTP: ListObjectsV2 page by page (Amazon S3 API Reference, ListObjectsV2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from common.failures import AnswerError
from common.measurement import Measurement
from common.raw_s3 import RawS3
from common.retries import in_tries

_NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


@dataclass(frozen=True)
class ListedObject:
    """One object as a listing says it: the ETag with its quotes, the time of its last change in ISO 8601."""

    key: str
    size_bytes: int
    etag: str
    modified: str = ""


def listed_objects(s3: RawS3, prefix: str, measurement: Measurement) -> Iterator[ListedObject]:
    """Yield every object whose key begins with `prefix`, in order of the keys. Raises what a GET raises."""
    token = ""
    while True:
        page = _page(s3, {"prefix": prefix} | ({"continuation-token": token} if token else {}), measurement)
        is_encoded = page.findtext("EncodingType") == "url"
        for entry in page.iterfind("Contents"):
            key, size, etag, modified = (entry.findtext(tag, "") for tag in ("Key", "Size", "ETag", "LastModified"))
            # Encoded, because XML can't hold every character that a key can.
            yield ListedObject(unquote_plus(key) if is_encoded else key, int(size), etag, modified)
        if page.findtext("IsTruncated") != "true":
            return
        before, token = token, page.findtext("NextContinuationToken", "")
        if token in ("", before):
            raise AnswerError("ListObjectsV2", 200, "", "the listing is truncated but has no continuation token")


def _page(s3: RawS3, parameters: dict[str, str], measurement: Measurement) -> ElementTree.Element:
    def one_try(is_retry: bool) -> bytes:
        with s3.request(measurement, is_retry=is_retry) as connection:
            return s3.list_page(connection, parameters)

    try:
        page = ElementTree.fromstring(in_tries(measurement, one_try))
    except ElementTree.ParseError as error:
        raise AnswerError("ListObjectsV2", 200, "", f"the answer isn't a listing: {error}") from None
    for element in page.iter():
        element.tag = element.tag.removeprefix(_NAMESPACE)
    return page
