"""One running download: what a method needs, and what is observed."""

from dataclasses import dataclass
from typing import Any

from common.measurement import Measurement
from common.object_read import ObjectRead
from download.download_order import DownloadOrder
from download.settings import Settings
from download.sinks import Sink


@dataclass
class Transfer(Measurement):
    """The object to fetch and its sink.

    `s3` is the client of the method's `build_client`. A method uses its Measurement as described
    there, and has `object.note_answer` called after each good answer.
    """

    s3: Any
    settings: Settings
    order: DownloadOrder
    sink: Sink

    def __post_init__(self) -> None:
        bucket, key = self.settings.bucket, self.settings.key
        self.object = ObjectRead(self.s3, bucket, key, self, self.order.object_etag)
