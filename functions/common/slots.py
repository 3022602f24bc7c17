"""Where received bytes go, without a copy in between: a slot, one for each thread, and the file
that it can fill."""

import errno
import mmap
import os
from pathlib import Path
from typing import Any, Protocol

# What one call receives. Measured against 64 KiB to 2 MiB: less means more calls and wake-ups, more
# saves nothing.
WINDOW_BYTES = 2**20


class Slot(Protocol):
    """What one thread receives through."""

    def window(self, position: int, count: int) -> memoryview:
        """Return where to put the next bytes, which begin at `position` of the object: at most
        `count`, at least 1."""

    def keep(self, position: int, count: int) -> None:
        """Take the `count` bytes that were put into the last window."""


class TargetFile:
    """A file of the object's size in the temporary folder; also where a method writes that brings
    its own writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def prepare(self, size_bytes: int) -> None:
        """Make the file; raises OSError (ENOSPC) before the first byte when the folder hasn't room
        for it."""
        room = os.statvfs(self.path.parent)
        if size_bytes > room.f_bavail * room.f_frsize:
            raise OSError(errno.ENOSPC, "no room for the object")
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._file, size_bytes)

    def write(self, view: memoryview, position: int) -> None:
        """Write all of `view` at `position`."""
        assert self._file is not None
        written = 0
        while written < len(view):  # a write can end early, on a file system that is almost full
            written += os.pwrite(self._file, view[written:], position + written)

    def close(self) -> None:
        """Close the file; its folder is removed with everything in it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class BufferSlot:
    """Receives into one buffer, again and again. `digest`, hashlib's, gets what passes: in order,
    even when a try breaks off, where one slot receives all of it."""

    def __init__(self, digest: Any = None) -> None:
        # It begins at a page. A bytearray of this size begins 16 bytes after one, and received
        # bytes as a rule lie at the beginning of a page: on some processors the kernel's copy
        # between two such addresses takes twice as long (seen on an AMD EPYC).
        window = mmap.mmap(-1, WINDOW_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._buffer, self.digest = memoryview(window), digest

    def window(self, position: int, count: int) -> memoryview:
        """Return the buffer, or its beginning where fewer bytes are to come."""
        return self._buffer[:count]

    def keep(self, position: int, count: int) -> None:
        """Hash what came."""
        if self.digest is not None:
            self.digest.update(self._buffer[:count])


class FileSlot(BufferSlot):
    """A slot of a file; `target` may be another one once a file is full."""

    target: TargetFile

    def keep(self, position: int, count: int) -> None:
        """Write the buffer to its place in the file."""
        super().keep(position, count)
        self.target.write(self._buffer[:count], position)
