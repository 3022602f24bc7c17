"""The faster method of reading S3: one GetObject a file, straight into its place, in threads that
share a client.

As many threads as the order has, but never more than its connections: each thread has one. The GET
of a file asks for the object that was listed (If-Match), so one that is replaced in between is an
error.
"""

from collections import deque
from pathlib import Path
from typing import Any

from common import get_object
from common.boto_observer import observed
from common.get_object import Span, fetch_span
from common.object_read import ObjectRead
from common.slots import FileSlot, TargetFile
from filesystem.reading import Reading, each
from filesystem.settings import Settings


def build_client(settings: Settings, connections: int) -> Any:
    """Return boto3's client with a pool of `connections`; raises SettingsError."""
    return get_object.build_client(settings.region, connections)


def fetch(reading: Reading) -> None:
    """Copy the data set into the target folder.

    Timed are the listing, where there are many files, connecting, where no connections are left of
    an earlier message, all requests, all bytes into the files, and the start and end of the
    threads.
    """
    order = reading.order
    with observed(reading.s3, reading, reading.object_of), reading.timed():
        objects = reading.objects()
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
        fetch_span(read, Span(), slot, slot.target.prepare)
    finally:
        slot.target.close()
