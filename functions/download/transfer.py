"""One download under way: what a method of downloading gets to work with, and what is observed of it."""

from dataclasses import dataclass
from typing import Any

from common.failures import ObjectChanged
from common.measurement import Measurement
from download.download_order import DownloadOrder
from download.settings import Settings
from download.sinks import Sink


@dataclass
class Transfer(Measurement):
    """The object to fetch and the sink for it.

    `s3` is the client that the method's own `build_client` made. A method does what a Measurement asks for, and calls
    `note_answer` after each good answer.
    """

    s3: Any
    settings: Settings
    order: DownloadOrder
    sink: Sink
    etag: str | None = None

    def note_answer(self, etag: str | None, object_bytes: int | None, *, is_body: bool) -> None:
        """Keep ETag and size of the object from the first good answer, and the time of the first with a body.

        Raises ObjectChanged when an ETag is another than the first: the parts of one download must be of one object.
        """
        if is_body:
            self.note_first_byte()
        with self._lock:
            if self.etag is None:
                self.etag = etag
            if self.announced_bytes is None:
                self.announced_bytes = object_bytes
            changed = etag is not None and etag != self.etag
        if changed:
            raise object_changed()


def object_changed() -> ObjectChanged:
    """Return the error for an object that was replaced between two requests of one download."""
    return ObjectChanged("the object was replaced while it was downloaded: leave it alone during a run")
