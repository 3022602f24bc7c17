"""The faster method of reading S3: one GetObject a file, in threads that share a client.

There are as many threads as the order says, but no more than its connections: each thread uses one.
GETs have the listed ETag in If-Match, so an object that is replaced in between is an error.
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

    Timed are the listing of many files, connecting (unless an earlier message left connections),
    all requests, all bytes into the files, and the start and end of the threads.
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
    """Fetch an object into a new file through the slot."""
    slot.target = TargetFile(path)
    try:
        fetch_span(read, Span(), slot, slot.target.prepare)
    finally:
        slot.target.close()
