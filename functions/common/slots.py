"""Slots, one for each thread, receive bytes without copying them, into memory or a file."""

import errno
import mmap
import os
from pathlib import Path
from typing import Any, Protocol

# The bytes received by one call. Of 64 KiB to 2 MiB, less means more calls and wake-ups, and more
# saves nothing (measured).
WINDOW_BYTES = 2**20


class Slot(Protocol):
    """Receives bytes for one thread."""

    def window(self, position: int, count: int) -> memoryview:
        """Return room for the bytes at `position` of the object: at least 1, at most `count`."""

    def keep(self, position: int, count: int) -> None:
        """Keep the first `count` bytes of the last window."""


class TargetFile:
    """A file of the object's size in the temporary folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def prepare(self, size_bytes: int) -> None:
        """Make the file; raises OSError (ENOSPC) if the folder hasn't room for it."""
        room = os.statvfs(self.path.parent)
        if size_bytes > room.f_bavail * room.f_frsize:
            raise OSError(errno.ENOSPC, "no room for the object")
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._file, size_bytes)

    def write(self, view: memoryview, position: int) -> None:
        """Write all of `view` at `position`."""
        assert self._file is not None
        written = 0
        while written < len(view):  # a write can end early on a file system that is almost full
            written += os.pwrite(self._file, view[written:], position + written)

    def close(self) -> None:
        """Close the file, which is removed with its folder."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class BufferSlot:
    """Receives into one buffer again and again.

    `digest` (of hashlib) hashes the bytes in order, even after retries, if one slot gets them all.
    """

    def __init__(self, digest: Any = None) -> None:
        # mmap begins at a page, as received bytes mostly do, while a bytearray of this size begins
        # 16 bytes after one. Between such addresses the kernel's copy takes twice as long on some
        # processors (seen on an AMD EPYC).
        window = mmap.mmap(-1, WINDOW_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._buffer, self.digest = memoryview(window), digest

    def window(self, position: int, count: int) -> memoryview:
        """Return the buffer, or its beginning for fewer bytes."""
        return self._buffer[:count]

    def keep(self, position: int, count: int) -> None:
        """Hash the bytes."""
        if self.digest is not None:
            self.digest.update(self._buffer[:count])


class FileSlot(BufferSlot):
    """Receives for a file; `target` may change when a file is full."""

    target: TargetFile

    def keep(self, position: int, count: int) -> None:
        """Write the buffer to its place in the file."""
        super().keep(position, count)
        self.target.write(self._buffer[:count], position)
