"""One object that is read in one or more requests, whose answers must all be of the same object."""

import threading
from dataclasses import dataclass, field
from typing import Any

from common.failures import ObjectChanged
from common.measurement import Measurement


@dataclass
class ObjectRead:
    """An object, and the measurement that counts its requests and bytes.

    `s3` is boto3's client. `etag` and `size_bytes` are from the first good answer, or a listing.
    """

    s3: Any
    bucket: str
    key: str
    measurement: Measurement
    etag: str | None = None
    size_bytes: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_answer(self, etag: str | None, object_bytes: int | None, *, is_body: bool) -> None:
        """Keep ETag and size from the first good answer, and the time of the first with a body.

        Raises ObjectChanged if the ETag differs: the parts of a file must be of one object.
        """
        if is_body:
            self.measurement.note_first_byte()
        with self._lock:
            if self.etag is None:
                self.etag = etag
            if self.size_bytes is None:
                self.size_bytes = object_bytes
            # a listing of several objects has announced their sum
            if self.measurement.announced_bytes is None:
                self.measurement.announced_bytes = object_bytes
            changed = etag is not None and etag != self.etag
        if changed:
            raise object_changed()


def object_changed() -> ObjectChanged:
    """Return the error for an object that was replaced between two requests for it."""
    return ObjectChanged(
        "the object was replaced while it was downloaded: don't change it during a run"
    )
