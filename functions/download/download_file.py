"""The published method of downloading: boto3's `download_file` to a temporary file.

A record's `retry_attempts` are botocore's attempts at one request until its answer begins. If the
body breaks off later, s3transfer makes five attempts in all, whatever the retry mode says.
"""

from typing import Any

from boto3.s3.transfer import TransferConfig

from common import s3_client
from common.boto_observer import observed
from download.settings import Settings
from download.transfer import Transfer

# boto3's defaults, as published: 8 MiB parts, 10 threads. "auto" would switch to the CRT client,
# which is another method, wherever awscrt is installed.
_CONFIG = TransferConfig(preferred_transfer_client="classic")


def build_client(settings: Settings) -> Any:
    """Return boto3's client; raises SettingsError."""
    return s3_client.build_client(settings.region, requester_pays=settings.requester_pays)


def fetch(transfer: Transfer) -> int:
    """Download the object into the sink's file and return the size of the file on disk in bytes.

    Timed is only the `download_file` call, as published: HeadObject, all GETs, writing, renaming,
    and the start and end of boto3's threads.
    """
    target = transfer.sink.path
    settings, count = transfer.settings, transfer.count_bytes
    with observed(transfer.s3, transfer, lambda key: transfer.object), transfer.timed():
        transfer.s3.download_file(
            settings.bucket, settings.key, str(target), Callback=count, Config=_CONFIG
        )
    return target.stat().st_size
