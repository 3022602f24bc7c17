"""The faster method of reading S3: our own HTTP over connections that are kept, one GET a file, each byte copied once.

As many threads as the order has, but never more than its connections: each thread has one. The GET of a file asks for
the object that was listed (If-Match), so one that is replaced in between is an error.
"""

from collections import deque
from pathlib import Path

from common.get_span import Span, fetch_span
from common.listing import listed_objects
from common.object_read import ObjectRead
from common.raw_s3 import RawS3
from common.slots import FileSlot, TargetFile
from filesystem.reading import Reading, each
from filesystem.settings import Settings


def build_client(settings: Settings, connections: int) -> RawS3:
    """Return the client; raises SettingsError. It opens connections as threads ask for them."""
    return RawS3(settings.bucket, settings.region)


def fetch(reading: Reading) -> None:
    """Copy the data set into the target folder.

    Timed are the listing, where there are many files, connecting, where no connections are left of an earlier message,
    all requests, all bytes into the files, and the start and end of the threads.
    """
    order = reading.order
    with reading.timed():
        objects = reading.objects(lambda prefix: listed_objects(reading.s3, prefix, reading))
        threads = min(order.threads, order.connections, len(objects))
        slots = deque(FileSlot() for _ in range(threads))

        def download(path: str) -> None:
            slot = slots.pop()
            fetch_file(objects[path], slot, reading.target / path)
            slots.append(slot)
            reading.sizes_bytes[path] = objects[path].size_bytes

        each(reading, threads, download, objects)


def fetch_file(read: ObjectRead, slot: FileSlot, path: Path) -> None:
    """Fetch an object through the slot into a new file."""
    slot.target = TargetFile(path)
    try:
        fetch_span(read, Span(0, None), slot, slot.target.prepare)
    finally:
        slot.target.close()
