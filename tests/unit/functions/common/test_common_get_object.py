"""Answers that are good by their status, and not those to the request."""

import pytest

from common.failures import AnswerError, ConnectionCut, ObjectChanged
from common.get_object import Span, fetch_span
from common.listing import listed_objects
from common.measurement import Measurement
from common.object_read import ObjectRead


@pytest.mark.parametrize(
    ("span", "status", "headers", "error"),
    [
        (Span(), 200, {}, ConnectionCut),  # without a length, nobody knows when the body is whole
        (Span(), 206, {"ContentLength": 8, "ContentRange": "bytes 0-7/8"}, AnswerError),
        (Span(), 200, {"ContentLength": 9}, ObjectChanged),
        (Span(2, 4), 200, {"ContentLength": 8}, AnswerError),
        (Span(2, 4), 206, {"ContentLength": 2, "ContentRange": "bytes 3-4/8"}, AnswerError),
        (Span(2, 4), 206, {"ContentLength": 3, "ContentRange": "bytes 2-3/8"}, AnswerError),
        (Span(2, 4), 206, {"ContentLength": 2, "ContentRange": "bytes 2-3/*"}, AnswerError),
        (Span(2), 206, {"ContentLength": 7, "ContentRange": "bytes 2-8/9"}, ObjectChanged),
    ],
)
def test_an_answer_for_other_bytes_or_another_size_is_an_error(span, status, headers, error):
    class S3:
        def get_object(self, **_):
            return {"ResponseMetadata": {"HTTPStatusCode": status}} | headers

    with pytest.raises(error):
        fetch_span(ObjectRead(S3(), "bucket", "key", Measurement(), size_bytes=8), span, slot=None)


@pytest.mark.parametrize("token", [{}, {"NextContinuationToken": "the same again"}])
def test_a_listing_whose_next_page_cannot_be_asked_for_is_an_error(token):
    class S3:
        def list_objects_v2(self, **_):
            return {"IsTruncated": True} | token

    with pytest.raises(AnswerError):
        list(listed_objects(S3(), "bucket", ""))
