"""Observes boto3's requests and answers, so that a record counts what the SDK does in one call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from common.measurement import Measurement
from common.object_read import ObjectRead, object_changed

# Where botocore's context of a call holds the object's key.
_KEY = "stampede_key"


@contextmanager
def observed(
    s3: Any, measurement: Measurement, object_of: Callable[[str], ObjectRead]
) -> Iterator[None]:
    """Count the client's requests in the measurement while the block runs, and note the answers in
    `object_of(key)`."""
    sent_before: set[tuple[str, str, bytes]] = set()

    def keep_key(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        # The answer doesn't name its object. A listing has no key.
        context[_KEY] = params.get("Key")

    def count_request(request: Any, **_: Any) -> None:
        # A request for the same bytes again is a retry, whoever makes it. The rest of a body has
        # the same last byte as the whole.
        last = request.headers.get("Range", b"").rpartition(b"-")[2]
        sent = (request.method, request.url, last)
        is_retry = sent in sent_before
        sent_before.add(sent)
        measurement.count_request(is_retry=is_retry)

    def compare_answer(
        http_response: Any, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any
    ) -> None:
        # Newer boto3 sends If-Match itself, but a Lambda runtime may have an older one.
        key, is_body = context[_KEY], model.name == "GetObject"
        if http_response.status_code == 412:
            raise object_changed()
        if key is not None and http_response.status_code < 300:
            object_of(key).note_answer(
                parsed.get("ETag"), _object_size_bytes(parsed), is_body=is_body
            )

    handlers = (
        ("before-parameter-build.s3", keep_key),
        ("before-send.s3", count_request),
        ("after-call.s3", compare_answer),
    )
    for event_name, handler in handlers:
        s3.meta.events.register(event_name, handler)
    try:
        yield
    finally:
        for event_name, handler in handlers:
            s3.meta.events.unregister(event_name, handler)


def _object_size_bytes(parsed: dict[str, Any]) -> int | None:
    """Return the whole object's size from the answer to a HEAD or GET; None if it has none."""
    total = parsed.get("ContentRange", "").rpartition("/")[2]
    return int(total) if total.isdigit() else parsed.get("ContentLength")
