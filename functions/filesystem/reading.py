"""One running copy of a data set: what a method needs, and what is observed."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from common.failures import NoData, SizeMismatch
from common.listing import listed_objects
from common.measurement import Measurement
from common.object_read import ObjectRead
from filesystem.copy_order import LARGE, LARGE_FILE, CopyOrder
from filesystem.names import by_path
from filesystem.settings import Settings

Item = TypeVar("Item")


@dataclass
class Reading(Measurement):
    """The data set to copy, and the folder `target` for it.

    `s3` is the method's client, None for a mount. A method uses its Measurement as described there,
    and puts the size of each written file into `sizes_bytes`, by its path below the folder.
    """

    s3: Any
    settings: Settings
    order: CopyOrder
    target: Path
    read: str
    read_order: int
    listing_s: float | None = None
    sizes_bytes: dict[str, int] = field(default_factory=dict)
    _by_key: dict[str, ObjectRead] = field(default_factory=dict)

    def object_of(self, key: str) -> ObjectRead:
        """Return the data set's object with this key."""
        return self._by_key[key]

    def objects(self) -> dict[str, ObjectRead]:
        """Return the objects of the data set by their path, and make their folders.

        Many objects are listed, which is also timed separately. Raises NoData if there are none,
        UnsafePath for keys that aren't files of one folder, and the exceptions of a listing.
        """
        objects = self._only_object() if self.order.dataset == LARGE else self._listed_objects()
        self._by_key |= {read.key: read for read in objects.values()}
        return objects

    def _only_object(self) -> dict[str, ObjectRead]:
        key = f"{LARGE}/{LARGE_FILE}"
        return {LARGE_FILE: ObjectRead(self.s3, self.settings.bucket, key, self)}

    def _listed_objects(self) -> dict[str, ObjectRead]:
        bucket, prefix = self.settings.bucket, f"{self.order.dataset}/"
        began_s = perf_counter()
        try:
            objects = list(listed_objects(self.s3, bucket, prefix))
        finally:
            self.listing_s = perf_counter() - began_s
        if not objects:
            raise NoData(
                f"there is no object under {prefix} in {bucket}: upload the data set (stampede "
                "dataset)"
            )
        self.announced_bytes = sum(listing.size_bytes for listing in objects)
        files = by_path(objects, prefix)
        for folder in {path.rpartition("/")[0] for path in files}:
            (self.target / folder).mkdir(parents=True, exist_ok=True)
        return {
            path: ObjectRead(self.s3, bucket, listing.key, self, listing.etag, listing.size_bytes)
            for path, listing in files.items()
        }

    def verify(self) -> int:
        """Return the bytes in the target folder; raises SizeMismatch if a file is wrong."""
        copied = {}
        for path in self.target.rglob("*"):
            if not path.is_dir():
                copied[path.relative_to(self.target).as_posix()] = path.lstat().st_size
        for path, size in self.sizes_bytes.items():
            if copied.get(path) != size:
                raise SizeMismatch(
                    f"{path!a:.100} has {copied.get(path)} bytes in the target folder instead of "
                    f"{size}"
                )
        files, all_bytes = len(copied), sum(copied.values())
        for count, expected, unit in (
            (files, self.order.files, "files"),
            (all_bytes, self.order.bytes, "bytes"),
        ):
            if expected is not None and count != expected:
                raise SizeMismatch(
                    f"copied {count} {unit}, but the message expects {expected}: upload the data "
                    "set again"
                )
        return all_bytes


def each(
    measurement: Measurement, threads: int, work: Callable[[Item], None], items: Iterable[Item]
) -> None:
    """Call `work` with every item in a pool of threads, until the first error.

    The error stops the measurement, and is raised when the pool has closed.
    """

    def work_on(item: Item) -> None:
        try:
            measurement.raise_if_stopped()
            work(item)
        except Exception as error:
            measurement.stop(error)

    with ThreadPoolExecutor(threads, thread_name_prefix="copy") as pool:
        for item in items:
            pool.submit(work_on, item)
    measurement.raise_if_stopped()
