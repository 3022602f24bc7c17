"""Detects truncated or damaged compressed files: DuckDB silently reads a zstd file up to where it
ends, and ignores gzip's checksum.

Source: RFC 8878, sections 3.1.1 (frames and blocks) and 3.1.2 (skippable frames).
"""

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO

from stampede.insights.errors import EventsError

_CHUNK_BYTES = 2**20
_MAGIC = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_RAW, _REPEATED, _COMPRESSED = 0, 1, 2


class _CutOffError(Exception):
    """The file ends inside a frame, or is no longer zstd."""


def check_gzip(path: Path) -> None:
    """Raises EventsError unless the file is complete gzip with correct checksums; decompresses
    it once."""
    try:
        with gzip.open(path, "rb") as file:
            while file.read(_CHUNK_BYTES):
                pass
    except (OSError, EOFError, zlib.error):
        raise _damaged(path, "gzip") from None


def check_zstd(path: Path) -> None:
    """Raises EventsError unless the file consists of complete zstd frames; reads only
    block headers."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            while file.tell() < size:
                _skip_frame(file)
            if file.tell() > size:
                raise _CutOffError
    except _CutOffError:
        raise _damaged(path, "zstd") from None


def _damaged(path: Path, form: str) -> EventsError:
    return EventsError(f"{path}: the {form} file is cut off or damaged; copy it again")


def _skip_frame(file: BinaryIO) -> None:
    magic = _number(file, 4)
    if magic in _SKIPPABLE:
        _skip(file, _number(file, 4))
        return
    if magic != _MAGIC:
        raise _CutOffError
    described = _number(file, 1)
    single_segment, has_checksum = described >> 5 & 1, described >> 2 & 1
    content_size = [single_segment, 2, 4, 8][described >> 6]
    _skip(file, (1 - single_segment) + [0, 1, 2, 4][described & 3] + content_size)
    is_last = 0
    while not is_last:
        header = _number(file, 3)
        is_last, kind, length = header & 1, header >> 1 & 3, header >> 3
        if kind not in (_RAW, _REPEATED, _COMPRESSED):
            raise _CutOffError
        _skip(file, 1 if kind == _REPEATED else length)
    _skip(file, 4 * has_checksum)


def _number(file: BinaryIO, size: int) -> int:
    read = file.read(size)
    if len(read) < size:
        raise _CutOffError
    return int.from_bytes(read, "little")


def _skip(file: BinaryIO, size: int) -> None:
    file.seek(size, 1)
