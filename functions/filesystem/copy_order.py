"""The work order of a copy."""

from dataclasses import dataclass
from typing import Any

from common.work_order import WorkOrder, WorkOrderError, flag, parse_work_order, quote, whole_number

# The data sets, which are also the folders of the mount and, with a slash, the prefixes in the
# bucket.
LARGE, SMALL = "large", "small"
LARGE_FILE = "file.bin"
MOST_THREADS = 256


@dataclass(frozen=True, kw_only=True)
class CopyOrder(WorkOrder):
    """One copy of a data set to do.

    `threads` read files of S3 at the same time, and `connections` is the size of the SDK's pool;
    the defaults are as published, where the SDK's ten were in effect. A mount is copied without
    either: the record says them all the same. `files` and `bytes` are what the data set must have,
    None when the order leaves them out. `warm_up` 1 marks a copy that no figure counts. `proof` 1
    copies nothing: it shows whether the function may list the data set.
    """

    dataset: str
    threads: int = 30
    connections: int = 10
    files: int | None = None
    bytes: int | None = None
    warm_up: int = 0
    proof: int = 0


def parse_copy_order(body: str) -> CopyOrder:
    """Parse the body of a message; raises WorkOrderError."""
    own = {
        "dataset": _dataset,
        "threads": _from_one,
        "connections": _from_one,
        "files": whole_number,
        "bytes": whole_number,
        "warm_up": flag,
        "proof": flag,
    }
    return parse_work_order(body, CopyOrder, own)


def _dataset(key: str, value: Any) -> str:
    if value not in (LARGE, SMALL):
        raise WorkOrderError(f"{key} must be {LARGE} or {SMALL}, not {quote(value)}")
    return value


def _from_one(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_THREADS:
        raise WorkOrderError(
            f"{key} must be a whole number from 1 to {MOST_THREADS}, not {quote(value)}"
        )
    return value
