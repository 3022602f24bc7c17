"""The function that seeds the mount with the data set from the bucket, verified by checksum.

`handler` is the entry point and ignores its event. It may be invoked again at any time: it keeps
existing files, copies missing or changed ones, and removes files that aren't in the data set. A
verified file has the time of its object, as with tools that synchronize, so no list is needed.
"""

import hashlib
import itertools
import os
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import get_object
from common.boto_observer import observed
from common.describing import describe
from common.environment import read_region, text
from common.failures import ChecksumMismatch, DeadlineExceeded, NoData
from common.listing import ListedObject, listed_objects
from common.measurement import Measurement
from common.object_read import ObjectRead
from common.slots import FileSlot
from filesystem.copy_order import LARGE, SMALL
from filesystem.names import by_path
from filesystem.pool import fetch_file
from filesystem.reading import each
from filesystem.settings import read_mount_path

# Writing a small file to EFS takes 15 to 25 ms (Skyrise, arXiv 2501.07771): 1,000 files in one
# thread would take 20 s.
_THREADS = 16
# Part of the function's timeout kept for files under way and the error message.
_MARGIN_S = 5.0
# The folder of unverified files: next to the data sets, so that no copy contains them.
_UNVERIFIED = ".stampede-unverified"


class SeedingError(Exception):
    """The data set isn't on the mount. The message is one line that begins with an error_type."""


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Seed the mount; returns its files and bytes, the seconds taken, and how many files existed.

    Raises SeedingError, which the caller of the function gets as its error.
    """
    measurement = Measurement()
    late = DeadlineExceeded(
        "the time ran out before all files were written: invoke again (those written are kept)"
    )
    alarm = threading.Timer(
        context.get_remaining_time_in_millis() / 1000 - _MARGIN_S, measurement.stop, [late]
    )
    alarm.daemon = True
    alarm.start()
    try:
        return _seed(os.environ, measurement)
    except OSError as error:  # from the mount: network errors are other exceptions
        raise SeedingError(f"FileError: the mount can't be written: {error}") from None
    except Exception as error:
        raise SeedingError(": ".join(describe(error))) from None
    finally:
        alarm.cancel()


def _seed(environ: Mapping[str, str], measurement: Measurement) -> dict[str, Any]:
    began_s = time.perf_counter()
    mount = Path(read_mount_path(environ))
    if not mount.is_dir():
        raise NoData(f"nothing is mounted at MOUNT_PATH={mount}")
    bucket = text(environ, "BUCKET_NAME")
    s3 = get_object.build_client(read_region(environ), _THREADS)
    objects: dict[str, ListedObject] = {}
    for dataset in (LARGE, SMALL):
        listed = by_path(listed_objects(s3, bucket, f"{dataset}/"), f"{dataset}/")
        if not listed:
            raise NoData(
                f"there is no object under {dataset}/ in the bucket: upload the data set (stampede "
                "dataset)"
            )
        objects |= {f"{dataset}/{path}": listed_object for path, listed_object in listed.items()}
        _remove_strays(mount, dataset, objects)
    missing = {
        path: listed for path, listed in objects.items() if not _is_there(mount / path, listed)
    }
    if missing:
        _copy(mount, s3, bucket, missing, measurement)
    return {
        "files": len(objects),
        "bytes": sum(seeded.size_bytes for seeded in objects.values()),
        "seconds": round(time.perf_counter() - began_s, 3),
        "already_there": len(objects) - len(missing),
    }


def _copy(
    mount: Path, s3: Any, bucket: str, objects: Mapping[str, ListedObject], measurement: Measurement
) -> None:
    """Copy the objects. A file gets its final name once it is verified."""
    reads = {
        path: ObjectRead(s3, bucket, listed.key, measurement, listed.etag, listed.size_bytes)
        for path, listed in objects.items()
    }
    by_key = {read.key: read for read in reads.values()}
    unverified, numbers = mount / _UNVERIFIED, itertools.count()
    shutil.rmtree(unverified, ignore_errors=True)  # from an invocation that was killed
    unverified.mkdir()

    def copy(path: str) -> None:
        file, time_s = unverified / str(next(numbers)), _time_s(objects[path])
        slot = FileSlot(hashlib.sha256())
        fetch_file(reads[path], slot, file)
        if slot.digest.hexdigest() != _sha256(file):
            raise ChecksumMismatch(
                f"{path!a:.100} on the mount differs from the object in S3: invoke again"
            )
        os.utime(file, (time_s, time_s))
        (mount / path).parent.mkdir(parents=True, exist_ok=True)
        file.replace(mount / path)

    try:
        with observed(s3, measurement, by_key.__getitem__):
            each(measurement, _THREADS, copy, objects)
    finally:
        shutil.rmtree(unverified, ignore_errors=True)


def _sha256(path: Path) -> str:
    """Return the checksum of a file, read from storage if the system can drop its cache."""
    with path.open("rb") as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_there(path: Path, expected: ListedObject) -> bool:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return (status.st_size, status.st_mtime) == (expected.size_bytes, _time_s(expected))


def _time_s(listed: ListedObject) -> int:
    return int(listed.modified.timestamp())


def _remove_strays(mount: Path, dataset: str, objects: Mapping[str, ListedObject]) -> None:
    """Remove every file without an object, and every link: no file may be written through one."""
    if (mount / dataset).is_symlink():
        (mount / dataset).unlink()
    for folder, folders, names in os.walk(mount / dataset):
        for path in (Path(folder) / name for name in folders + names):
            if path.is_symlink() or (
                path.name in names and path.relative_to(mount).as_posix() not in objects
            ):
                path.unlink()
