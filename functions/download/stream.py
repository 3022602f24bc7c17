"""The method `stream`: one GET, each byte copied once, by the kernel into a buffer that is used again and again.

It shows what one connection gives when the client costs next to nothing.
"""

from common.get_span import Span, fetch_span
from common.raw_s3 import RawS3
from download.settings import Settings
from download.transfer import Transfer


def build_client(settings: Settings) -> RawS3:
    """Return the client; raises SettingsError."""
    return RawS3(settings.bucket, settings.region)


def fetch(transfer: Transfer) -> int:
    """Download the object into the sink and return the bytes received.

    Timed are connecting, where no connection is left of an earlier message, the request, and all bytes into the sink.
    """
    with transfer.timed():
        fetch_span(transfer.object, Span(0, None), transfer.sink.slot(), transfer.sink.prepare)
    return transfer.received_bytes
