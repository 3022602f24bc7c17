"""One download under way: what a method of downloading gets to work with, and what is observed of
it."""

from dataclasses import dataclass
from typing import Any

from common.measurement import Measurement
from common.object_read import ObjectRead
from download.download_order import DownloadOrder
from download.settings import Settings
from download.sinks import Sink


@dataclass
class Transfer(Measurement):
    """The object to fetch and the sink for it.

    `s3` is the client that the method's own `build_client` made. A method does what a Measurement
    asks for, and has `object.note_answer` called after each good answer.
    """

    s3: Any
    settings: Settings
    order: DownloadOrder
    sink: Sink

    def __post_init__(self) -> None:
        self.object = ObjectRead(
            self.s3, self.settings.bucket, self.settings.key, self, self.order.object_etag
        )
