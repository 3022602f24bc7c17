"""The published method of reading S3: boto3's `download_file` in a pool of threads."""

from typing import Any

from boto3.s3.transfer import TransferConfig

from common import s3_client
from common.boto_observer import observed
from filesystem.reading import Reading, each
from filesystem.settings import Settings

# boto3's defaults, as published: 8 MiB parts, 10 threads a file. "auto" would switch to the CRT
# client, which is another method, wherever awscrt is installed.
_CONFIG = TransferConfig(preferred_transfer_client="classic")


def build_client(settings: Settings, connections: int) -> Any:
    """Return boto3's client with a pool of `connections`; raises SettingsError."""
    return s3_client.build_client(settings.region, connections)


def fetch(reading: Reading) -> None:
    """Copy the data set into the target folder.

    Timed are, as published, the listing of many files, and all `download_file` calls until the pool
    has closed.
    """
    bucket = reading.settings.bucket

    def download(path: str) -> None:
        target = reading.target / path
        reading.s3.download_file(
            bucket, objects[path].key, str(target), Callback=reading.count_bytes, Config=_CONFIG
        )
        # S3's size, to be compared with the size on disk
        reading.sizes_bytes[path] = objects[path].size_bytes

    with observed(reading.s3, reading, reading.object_of), reading.timed():
        objects = reading.objects()
        each(reading, min(reading.order.threads, len(objects)), download, objects)
