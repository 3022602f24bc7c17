"""Sinks for the bytes: discarded, in memory, or in a file. None makes a further copy.

Slots, one for each thread, fill a sink. A slot gives a window for the next bytes, and is then told
how many came.
"""

import hashlib
import mmap
from pathlib import Path
from typing import Protocol

from common.failures import NoMemory
from common.slots import WINDOW_BYTES, BufferSlot, FileSlot, Slot, TargetFile
from download.methods import MEMORY, TMP

# For Python and this function, which use about 40 MiB.
_OTHER_MEMORY_MB = 80


class Sink(Protocol):
    """Receives one download."""

    def prepare(self, size_bytes: int) -> None:
        """Make room for the whole object before the first byte; raises NoMemory or OSError."""

    def slot(self) -> Slot:
        """Return a new slot for one thread, to be used after `prepare`."""

    def sha256(self) -> str:
        """Return the checksum of the bytes, in hexadecimal digits."""

    def close(self) -> None:
        """Release memory and file; safe to repeat."""


def make_sink(name: str, folder: Path, memory_mb: int, is_hashed: bool) -> Sink:
    """Return the sink with this name.

    `folder` is for its file, `memory_mb` is the function's memory, and `is_hashed` says whether the
    checksum is needed.
    """
    if name == MEMORY:
        return MemorySink(memory_mb)
    if name == TMP:
        return FileSink(folder / "object")
    return DiscardSink(is_hashed=is_hashed)


class DiscardSink:
    """Receives into one buffer a slot, and computes a checksum if needed."""

    def __init__(self, *, is_hashed: bool) -> None:
        self._digest = hashlib.sha256() if is_hashed else None

    def prepare(self, size_bytes: int) -> None:
        """Nothing to prepare."""

    def slot(self) -> Slot:
        """Return a slot with a buffer of its own."""
        return BufferSlot(self._digest)

    def sha256(self) -> str:
        """Return the checksum of the bytes in the order of their arrival."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Nothing to release."""


class MemorySink:
    """Holds the whole object in memory, and receives straight into its place."""

    def __init__(self, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._map: mmap.mmap | None = None
        self._whole = memoryview(b"")

    def prepare(self, size_bytes: int) -> None:
        """Reserve memory of the object's size; raises NoMemory before Lambda kills the function."""
        if size_bytes > (self._memory_mb - _OTHER_MEMORY_MB) * 2**20:
            raise NoMemory(
                f"{size_bytes} bytes and {_OTHER_MEMORY_MB} MiB for the function itself don't fit "
                f"into MEMORY_SIZE={self._memory_mb}: raise memory_size, or choose another sink"
            )
        if size_bytes:
            # It costs nothing until it is filled, while bytearray(n) writes n zeros first. Private
            # memory fills faster than shared memory. Pages of 2 MiB (MADV_HUGEPAGE) are still
            # faster if the kernel has some ready, but otherwise cost three times the CPU, which
            # would look like a slow download.
            self._map = mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._whole = memoryview(self._map)

    def slot(self) -> Slot:
        """Return the sink itself: the threads' places never overlap."""
        return self

    def window(self, position: int, count: int) -> memoryview:
        """Return the place of the next bytes."""
        return self._whole[position : position + min(count, WINDOW_BYTES)]

    def keep(self, position: int, count: int) -> None:
        """Nothing to do: the bytes are in place."""

    def sha256(self) -> str:
        """Return the checksum of the memory."""
        return hashlib.sha256(self._whole).hexdigest()

    def close(self) -> None:
        """Release the memory."""
        self._whole.release()
        self._whole = memoryview(b"")
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:
                return  # a stopped thread still holds its window; the memory goes with it
            self._map = None


class FileSink(TargetFile):
    """A file in the temporary folder, for slots or for a method with its own writer."""

    def slot(self) -> Slot:
        """Return a slot with a buffer of its own."""
        slot = FileSlot()
        slot.target = self
        return slot

    def sha256(self) -> str:
        """Return the checksum of the file, which it reads again."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
