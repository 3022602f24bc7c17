"""1,000 objects of 10 to 100 KB: how they are put, and whether a client has brought them all."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench import download
from bench.errors import BenchError
from stampede.progress import say

OBJECTS = 1_000
SMALLEST_BYTES, LARGEST_BYTES = 10_000, 100_000
WORDS = f"{OBJECTS:,} objects of {SMALLEST_BYTES // 1000} to {LARGEST_BYTES // 1000} KB"
PREFIX = "small/"
PUTTING_THREADS = 8


@dataclass(frozen=True)
class SmallSet:
    """The objects: their names below the prefix with their sizes, and the bytes that each begins with."""

    sizes: dict[str, int]
    content: bytes

    def checked(self) -> Callable[[Path], None]:
        """A check of a folder: the bytes at its first use, the sizes from then on. It raises BenchError."""
        seen = False

        def check(folder: Path) -> None:
            nonlocal seen
            sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
            if sizes != self.sizes:
                raise BenchError(f"{len(sizes)} objects arrived instead of {len(self.sizes)}, or some have wrong sizes")
            if not seen and any((folder / name).read_bytes() != self.body(name) for name in self.sizes):
                raise BenchError("the bytes received differ from those uploaded")
            seen = True

        return check

    def body(self, name: str) -> bytes:
        """The bytes of one object."""
        # Each begins elsewhere: two of the same size must not pass for each other.
        start = int(Path(name).stem)
        return self.content[start : start + self.sizes[name]]

    def put(self, made: download.Gateway) -> None:
        """Put the objects."""
        client = made.client()
        say(f"uploading {len(self.sizes):,} objects to versitygw (a few seconds)")
        with ThreadPoolExecutor(PUTTING_THREADS) as pool:
            list(
                pool.map(
                    lambda name: client.put_object(Bucket=download.BUCKET, Key=PREFIX + name, Body=self.body(name)),
                    self.sizes,
                )
            )


def small_set(objects: int = OBJECTS) -> SmallSet:
    """The same objects every time."""
    chance = random.Random(4)
    sizes = {f"{number:04}.dat": chance.randint(SMALLEST_BYTES, LARGEST_BYTES) for number in range(objects)}
    return SmallSet(sizes, chance.randbytes(LARGEST_BYTES + objects))
