"""Where the bytes go: thrown away, into memory, or into a file. Each receives without a copy in
between.

A sink is filled through slots, one for each thread. A slot gives the window to receive the next
bytes into, and is told how many came.
"""

import hashlib
import mmap
from pathlib import Path
from typing import Protocol

from common.failures import NoMemory
from common.slots import WINDOW_BYTES, BufferSlot, FileSlot, Slot, TargetFile
from download.methods import MEMORY, TMP

# Kept for Python and this function: about 40 MiB in use.
_OTHER_MEMORY_MB = 80


class Sink(Protocol):
    """What one download fills."""

    def prepare(self, size_bytes: int) -> None:
        """Make room for the whole object, before the first byte is kept. Raises NoMemory or
        OSError."""

    def slot(self) -> Slot:
        """Return a new slot for one thread; it may be used once the sink is prepared."""

    def sha256(self) -> str:
        """Return the checksum of what was kept, in hexadecimal digits."""

    def close(self) -> None:
        """Give memory and file back; safe to repeat."""


def make_sink(name: str, folder: Path, memory_mb: int, is_hashed: bool) -> Sink:
    """Return the sink with this name; `folder` is for its file, `memory_mb` what the function
    has, and `is_hashed` says whether its checksum will be asked for."""
    if name == MEMORY:
        return MemorySink(memory_mb)
    if name == TMP:
        return FileSink(folder / "object")
    return DiscardSink(is_hashed=is_hashed)


class DiscardSink:
    """Receives into one buffer a slot; a checksum, if asked for, is computed on the way."""

    def __init__(self, *, is_hashed: bool) -> None:
        self._digest = hashlib.sha256() if is_hashed else None

    def prepare(self, size_bytes: int) -> None:
        """Nothing to prepare."""

    def slot(self) -> Slot:
        """Return a slot with a buffer of its own."""
        return BufferSlot(self._digest)

    def sha256(self) -> str:
        """Return the checksum of what passed, in the order in which it did."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Nothing to give back."""


class MemorySink:
    """Holds the whole object in memory, and receives straight into its place."""

    def __init__(self, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._map: mmap.mmap | None = None
        self._whole = memoryview(b"")

    def prepare(self, size_bytes: int) -> None:
        """Reserve memory of the object's size; raises NoMemory instead of letting Lambda kill the
        function."""
        if size_bytes > (self._memory_mb - _OTHER_MEMORY_MB) * 2**20:
            raise NoMemory(
                f"{size_bytes} bytes and {_OTHER_MEMORY_MB} MiB for the function itself don't fit "
                f"into MEMORY_SIZE={self._memory_mb}: raise memory_size, or choose another sink"
            )
        if size_bytes:
            # Costs nothing until a byte is put into it, while bytearray(n) writes n zeros first.
            # Private memory fills faster than shared; pages of 2 MiB (MADV_HUGEPAGE) are faster
            # still where the kernel has some ready, but cost three times the CPU where it must
            # first make room for them, which would pass for a slow download.
            self._map = mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._whole = memoryview(self._map)

    def slot(self) -> Slot:
        """Return the sink itself: its places never overlap."""
        return self

    def window(self, position: int, count: int) -> memoryview:
        """Return the place of the next bytes."""
        return self._whole[position : position + min(count, WINDOW_BYTES)]

    def keep(self, position: int, count: int) -> None:
        """Nothing to do: they are where they belong."""

    def sha256(self) -> str:
        """Return the checksum of the memory."""
        return hashlib.sha256(self._whole).hexdigest()

    def close(self) -> None:
        """Give the memory back."""
        self._whole.release()
        self._whole = memoryview(b"")
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:
                return  # a thread that was stopped still holds its window; the memory goes with it
            self._map = None


class FileSink(TargetFile):
    """A file of the object's size in the temporary folder; also where a method writes that brings
    its own writer."""

    def slot(self) -> Slot:
        """Return a slot with a buffer of its own."""
        slot = FileSlot()
        slot.target = self
        return slot

    def sha256(self) -> str:
        """Return the checksum of the file, read again."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
