"""The work order of a copy."""

from dataclasses import dataclass
from typing import Any

from common.work_order import WorkOrder, WorkOrderError, flag, parse_work_order, quote, whole_number

# The data sets: the folders of the mount and, with a slash, the prefixes in the bucket.
LARGE, SMALL = "large", "small"
LARGE_FILE = "file.bin"
MOST_THREADS = 256


@dataclass(frozen=True, kw_only=True)
class CopyOrder(WorkOrder):
    """One copy of a data set to do.

    `threads` read from S3 at once, and `connections` is the size of the SDK's pool. The defaults
    are as published, with the SDK's ten. A mount is copied without either, though they are in the
    record. The data set must have `files` and `bytes`, unless these are None. `warm_up` 1 marks a
    copy that no figure counts. `proof` 1 copies nothing, and shows whether the function may list
    the data set.
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
