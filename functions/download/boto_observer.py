"""Sees boto3's requests and answers, so that a record counts what the SDK did behind one call."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from download.transfer import Transfer, object_changed


@contextmanager
def observed(transfer: Transfer) -> Iterator[None]:
    """Tell the transfer of its client's requests and answers while the block runs."""
    observer = _Observer(transfer)
    handlers = (
        ("before-send.s3", observer.before_send),
        ("after-call.s3.HeadObject", observer.after_head),
        ("after-call.s3.GetObject", observer.after_get),
    )
    events = transfer.s3.meta.events
    for event_name, handler in handlers:
        events.register(event_name, handler)
    try:
        yield
    finally:
        for event_name, handler in handlers:
            events.unregister(event_name, handler)


class _Observer:
    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._asked: set[tuple[str, Any]] = set()

    def before_send(self, request: Any, **_: Any) -> None:
        """Count the request; one for bytes that were asked for before is a retry, whichever layer of boto3 made it."""
        asked = (request.method, request.headers.get("Range"))
        is_retry = asked in self._asked
        self._asked.add(asked)
        self._transfer.count_request(is_retry=is_retry)

    def after_head(self, http_response: Any, parsed: dict[str, Any], **_: Any) -> None:
        self._after(http_response, parsed, is_body=False)

    def after_get(self, http_response: Any, parsed: dict[str, Any], **_: Any) -> None:
        self._after(http_response, parsed, is_body=True)

    def _after(self, http_response: Any, parsed: dict[str, Any], is_body: bool) -> None:
        """Compare the ETags: newer boto3 asks for that itself (If-Match), the one in a Lambda runtime may be older."""
        if http_response.status_code == 412:
            raise object_changed()
        if http_response.status_code < 300:
            self._transfer.note_answer(parsed.get("ETag"), _object_size_bytes(parsed), is_body=is_body)


def _object_size_bytes(parsed: dict[str, Any]) -> int | None:
    """Return the size of the whole object from the answer to a HEAD or GET; None when it has none."""
    total = parsed.get("ContentRange", "").rpartition("/")[2]
    return int(total) if total.isdigit() else parsed.get("ContentLength")
