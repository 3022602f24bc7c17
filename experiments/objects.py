"""The objects that functions read. Their bytes are incompressible and the same on any machine.

Part i of seed s is SHAKE-128 (FIPS 202) of the text "stampede/<s>/<i>", so parts can be made in
parallel and in any order, and nothing between the function and S3 can compress them.
"""

from __future__ import annotations

import hashlib
import math

from stampede.experiment import HOURS_IN_A_MONTH, Use

MEBIBYTE, BYTES_IN_A_GB = 2**20, 2**30  # AWS's GB
KEYS_A_PAGE = 1000  # of ListObjectsV2, and of a DeleteObjects
PART_BYTES = 16 * MEBIBYTE
# Smaller objects are put with one request; parts would take four.
LEAST_MULTIPART_BYTES = MEBIBYTE


def put_requests(size_bytes: int) -> int:
    """Requests that put an object: its parts, and three to look for leftovers, begin and end."""
    return 1 if size_bytes < LEAST_MULTIPART_BYTES else part_count(size_bytes) + 3


def pages(keys: int) -> int:
    """Requests that list or delete this many objects."""
    return max(1, -(-keys // KEYS_A_PAGE))


def mebibytes(size_bytes: float) -> int:
    """Bytes as whole MiB, rounded up."""
    return math.ceil(size_bytes / MEBIBYTE)


def stored(service: str, what: str, price: str, gb: float, of: str = "") -> Use:
    """`gb` that are stored while a stack is up, at a price for a month."""
    return Use(service, what, price, per_hour=gb / HOURS_IN_A_MONTH, of=of)


def part_count(size_bytes: int) -> int:
    """How many parts an object of `size_bytes` (at least 1) has."""
    return -(-size_bytes // PART_BYTES)


def part(seed: int, index: int, size_bytes: int) -> bytes:
    """The bytes of part `index` (from 0) of an object of `size_bytes` bytes made from `seed`."""
    length = min(PART_BYTES, size_bytes - index * PART_BYTES)
    return hashlib.shake_128(f"stampede/{seed}/{index}".encode()).digest(length)
