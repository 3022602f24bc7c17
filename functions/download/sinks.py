"""Where the bytes go: thrown away, into memory, or into a file. Each receives without a copy in
between.

A sink is filled through slots, one for each thread. A slot gives the window to receive the next
bytes into, and is told how many came.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from common.failures import NoMemory
from common.slots import WINDOW_BYTES, FileSlot, Slot, TargetFile, new_window
from download.checksum import Checksum, Digest, joined_crc32
from download.methods import DISCARD, MEMORY, TMP

# Kept for Python and this function: about 40 MiB in use.
_OTHER_MEMORY_MB = 80


class Sink(Protocol):
    """What one download fills."""

    def prepare(self, size_bytes: int) -> None:
        """Make room for the whole object, before the first byte is kept. Raises NoMemory or
        OSError."""

    def slot(self) -> Slot:
        """Return a new slot for one thread; it may be used once the sink is prepared."""

    def digest(self, algorithm: str) -> str:
        """Return the checksum of what was kept."""

    def close(self) -> None:
        """Give memory and file back; safe to repeat."""


def make_sink(name: str, folder: Path, memory_mb: int, checksum: Checksum | None) -> Sink:
    """Return the sink with this name; `folder` is for its file, `memory_mb` what the function
    has."""
    if name == MEMORY:
        return MemorySink(memory_mb)
    if name == TMP:
        return FileSink(folder / "object")
    assert name == DISCARD
    return DiscardSink(checksum.algorithm if checksum else None)


class DiscardSink:
    """Receives into one buffer a slot, again and again; a checksum, if asked for, is computed on
    the way."""

    def __init__(self, algorithm: str | None) -> None:
        self._algorithm = algorithm
        self._slots: list[_DiscardSlot] = []

    def prepare(self, size_bytes: int) -> None:
        """Nothing to prepare."""

    def slot(self) -> Slot:
        """Return a slot with a buffer of its own."""
        slot = _DiscardSlot(self._algorithm)
        self._slots.append(slot)
        return slot

    def digest(self, algorithm: str) -> str:
        """Return the checksum; that of several slots only as CRC-32, because their bytes weren't in
        order."""
        by_position: dict[int, Digest] = {}
        for slot in self._slots:
            by_position |= slot.digests
        parts = [by_position[start] for start in sorted(by_position)]
        if algorithm == "crc32":
            return joined_crc32((part.crc, part.count) for part in parts)
        return parts[0].hexadecimal() if parts else Digest(algorithm).hexadecimal()

    def close(self) -> None:
        """Nothing to give back."""


class _DiscardSlot:
    def __init__(self, algorithm: str | None) -> None:
        self.digests: dict[int, Digest] = {}  # by the position where a run of bytes began
        self._algorithm = algorithm
        self._digest: Digest | None = None
        self._end = -1
        self._buffer = new_window()

    def window(self, position: int, count: int) -> memoryview:
        return self._buffer[:count]

    def keep(self, position: int, count: int) -> None:
        if self._algorithm is None:
            return
        if position != self._end or self._digest is None:
            self._digest = self.digests[position] = Digest(self._algorithm)
        self._digest.update(self._buffer[:count])
        self._end = position + count


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

    def digest(self, algorithm: str) -> str:
        """Return the checksum of the memory."""
        digest = Digest(algorithm)
        digest.update(self._whole)
        return digest.hexadecimal()

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
        return FileSlot(self)

    def digest(self, algorithm: str) -> str:
        """Return the checksum of the file, read again."""
        digest = Digest(algorithm)
        for piece in _pieces(self.path):
            digest.update(piece)
        return digest.hexadecimal()


def _pieces(path: Path) -> Iterator[memoryview]:
    buffer = new_window()
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            yield buffer[:count]
