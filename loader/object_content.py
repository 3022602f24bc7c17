"""The test object's bytes: incompressible, the same for the same size and seed, any part on its own.

Part i of seed s is SHAKE-128 (FIPS 202) of the text "stampede/<s>/<i>", so parts can be made in parallel and in any
order, on any machine, and nothing between the function and S3 can compress them.
"""

from __future__ import annotations

import hashlib

PART_BYTES = 16 * 1024 * 1024
MEBIBYTE = 1024 * 1024


def part_count(size_bytes: int) -> int:
    """How many parts an object of `size_bytes` (at least 1) has."""
    return -(-size_bytes // PART_BYTES)


def part(seed: int, index: int, size_bytes: int) -> bytes:
    """The bytes of part `index` (from 0) of an object of `size_bytes` bytes made from `seed`."""
    length = min(PART_BYTES, size_bytes - index * PART_BYTES)
    return hashlib.shake_128(f"stampede/{seed}/{index}".encode()).digest(length)
