"""Sees boto3's requests and answers, so that a record counts what the SDK did behind one call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from common.measurement import Measurement
from common.object_read import ObjectRead, object_changed

# Where the name of the object stands in what botocore carries from a call to its answer.
_KEY = "stampede_key"


@contextmanager
def observed(
    s3: Any, measurement: Measurement, object_of: Callable[[str], ObjectRead]
) -> Iterator[None]:
    """Tell the measurement of its client's requests while the block runs, and `object_of(key)` of
    their answers."""
    sent_before: set[tuple[str, str, bytes]] = set()

    def keep_key(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        # The answer doesn't say whose it is. A listing has no key.
        context[_KEY] = params.get("Key")

    def count_request(request: Any, **_: Any) -> None:
        # One for bytes that were asked for before is a retry, whoever made it: the rest of a body
        # ends where the whole does.
        last = request.headers.get("Range", b"").rpartition(b"-")[2]
        sent = (request.method, request.url, last)
        is_retry = sent in sent_before
        sent_before.add(sent)
        measurement.count_request(is_retry=is_retry)

    def compare_answer(
        http_response: Any, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any
    ) -> None:
        # Newer boto3 asks for the ETag itself (If-Match), the one in a Lambda runtime may be older.
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
    """Return the size of the whole object from the answer to a HEAD or GET; None when it has
    none."""
    total = parsed.get("ContentRange", "").rpartition("/")[2]
    return int(total) if total.isdigit() else parsed.get("ContentLength")
