"""The checksum that a work order can ask for: SHA-256 of the whole object, or CRC-32, which ranges
can combine."""

import hashlib
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from common.failures import ChecksumMismatch

DIGITS = {"sha256": 64, "crc32": 8}
_CRC32_POLYNOMIAL = 0xEDB88320


@dataclass(frozen=True)
class Checksum:
    """What the bytes must have: an algorithm of DIGITS and the value in lower-case hexadecimal
    digits."""

    algorithm: str
    value: str

    def compare(self, received: str) -> None:
        """Raise ChecksumMismatch unless `received` is the value."""
        if received != self.value:
            raise ChecksumMismatch(
                f"the bytes received have the {self.algorithm} {received}, but the message expects "
                f"{self.value}: upload the object again"
            )


def parse_checksum(text: str) -> Checksum | None:
    """Parse `sha256:<64 digits>` or `crc32:<8 digits>`; None when it is neither."""
    algorithm, _, value = text.partition(":")
    if (
        algorithm not in DIGITS
        or not re.fullmatch(r"[0-9a-f]+", value)
        or len(value) != DIGITS[algorithm]
    ):
        return None
    return Checksum(algorithm, value)


class Digest:
    """A checksum over bytes as they come."""

    def __init__(self, algorithm: str) -> None:
        self.crc, self.count = 0, 0
        self._sha256 = hashlib.sha256() if algorithm == "sha256" else None

    def update(self, view: memoryview) -> None:
        """Add the next bytes."""
        self.count += len(view)
        if self._sha256 is not None:
            self._sha256.update(view)
        else:
            self.crc = zlib.crc32(view, self.crc)

    def hexadecimal(self) -> str:
        """Return the value over all bytes so far."""
        return self._sha256.hexdigest() if self._sha256 is not None else f"{self.crc:08x}"


def joined_crc32(parts: Iterable[tuple[int, int]]) -> str:
    """Return the CRC-32 of parts in a row from the `(crc, number of bytes)` of each."""
    joined = 0
    for crc, count in parts:
        joined = _after_zeros(joined, count) ^ crc
    return f"{joined:08x}"


def _after_zeros(crc: int, count: int) -> int:
    """Return what a CRC's remainder becomes over `count` zero bytes: times x^(8 count) modulo the
    polynomial.

    As zlib's crc32_combine does, which Python's zlib doesn't offer: by squaring, in about
    log2(count) steps.
    """
    power, factor = 8 * count, 0x40000000  # x^1; the highest bit is x^0
    while power:
        if power & 1:
            crc = _times(crc, factor)
        factor = _times(factor, factor)
        power >>= 1
    return crc


def _times(a: int, b: int) -> int:
    """Multiply two polynomials modulo CRC-32's; bits are reflected, the highest is x^0."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (_CRC32_POLYNOMIAL if b & 1 else 0)
    return product
