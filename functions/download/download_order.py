"""The work order of a download."""

import re
from dataclasses import dataclass
from typing import Any

from common.work_order import (
    WorkOrder,
    WorkOrderError,
    flag,
    name,
    parse_work_order,
    quote,
    whole_number,
)


@dataclass(frozen=True)
class DownloadOrder(WorkOrder):
    """One download to do.

    The object must have the size `object_bytes`, the ETag `object_etag` and the SHA-256 `checksum`
    (hexadecimal), unless these are None. `warm_up` 1 marks a download that no figure counts.
    """

    object_bytes: int | None = None
    object_etag: str | None = None
    warm_up: int = 0
    checksum: str | None = None


def parse_download_order(body: str) -> DownloadOrder:
    """Parse the body of a message; raises WorkOrderError."""
    own = {
        "object_bytes": whole_number,
        "object_etag": name,
        "warm_up": flag,
        "checksum": _checksum,
    }
    return parse_work_order(body, DownloadOrder, own)


def _checksum(key: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("sha256:[0-9a-f]{64}", value):
        raise WorkOrderError(
            f"{key} must be sha256: and 64 hexadecimal digits in lower case, not {quote(value)}"
        )
    return value.removeprefix("sha256:")
