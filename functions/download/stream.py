"""The method `stream`: one GetObject, read piece by piece into one reused buffer.

It shows the speed of one connection when the client costs next to nothing.
"""

from typing import Any

from common import get_object
from common.boto_observer import observed
from common.get_object import Span, fetch_span
from download.settings import Settings
from download.transfer import Transfer


def build_client(settings: Settings) -> Any:
    """Return boto3's client; raises SettingsError."""
    return get_object.build_client(settings.region, requester_pays=settings.requester_pays)


def fetch(transfer: Transfer) -> int:
    """Download the object into the sink and return the bytes received.

    Timed are connecting (unless an earlier message left a connection), the request, and all bytes
    into the sink.
    """
    with observed(transfer.s3, transfer, lambda key: transfer.object), transfer.timed():
        fetch_span(transfer.object, Span(), transfer.sink.slot(), transfer.sink.prepare)
    return transfer.received_bytes
