"""Reads a mounted file system: copies a folder like `cp -r`, but follows no link.

Everything is opened relative to its folder and never through a link. So whatever happens to the
tree meanwhile, nothing outside of it is read and nothing outside of the target is written.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from common.failures import NoData, ObjectChanged, SizeMismatch, UnsafePath
from filesystem.reading import Reading
from filesystem.settings import Settings

# Copied between two checks of the deadline.
_CHUNK_BYTES = 8 * 2**20
# sendfile's errors between file systems that it doesn't support (sendfile(2), and macOS).
_NO_SENDFILE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSOCK, errno.EOPNOTSUPP)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe must not block the copy
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_TARGET = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_TO_SEED = "invoke the seeding function, which copies the data set there"


def build_client(settings: Settings, connections: int) -> None:
    """Return no client: the kernel reads."""


def fetch(reading: Reading) -> None:
    """Copy the data set's folder into the target folder.

    Timed are listing the folder and copying, in one thread.
    """
    folder = Path(reading.settings.mount_path) / reading.order.dataset
    with reading.timed():
        with _source(folder) as source, _opened(os.fspath(reading.target), _FOLDER) as target:
            _copy_folder(reading, "", source, target)
        if not reading.sizes_bytes:
            raise NoData(f"{folder} has no files: {_TO_SEED}")


def drop_cache(settings: Settings, dataset: str) -> None:
    """Drop the data set's pages from the kernel's cache, so that the next read is from storage.

    This is a hint (posix_fadvise(2)): only clean pages go. Names, attributes and the caches of the
    file system's servers stay. Errors are left to the copy.
    """
    with suppress(FileNotFoundError):
        for _, _, names, folder in os.fwalk(Path(settings.mount_path) / dataset):
            for name in names:
                with suppress(OSError), _opened(name, _SOURCE, folder) as file:
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def _source(folder: Path) -> Iterator[int]:
    """Open the data set's folder; raises NoData if the folder or the mount is missing."""
    if not folder.parent.is_dir():
        raise NoData(
            f"nothing is mounted at MOUNT_PATH={folder.parent}: deploy the stack with this storage"
        )
    try:
        opened = os.open(folder, _FOLDER)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise NoData(f"there is no folder {folder}: {_TO_SEED}") from None
        raise _meaning(error, str(folder)) from None
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _opened(name: str, flags: int, folder: int | None = None) -> Iterator[int]:
    opened = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield opened
    finally:
        os.close(opened)


def _copy_folder(reading: Reading, path: str, source: int, target: int) -> None:
    with os.scandir(source) as scan:
        entries = list(scan)
    for entry in entries:
        name, entry_path = entry.name, f"{path}{entry.name}"
        try:
            if entry.is_file(follow_symlinks=False):
                _copy_file(reading, name, entry_path, source, target)
            elif entry.is_dir(follow_symlinks=False):
                os.mkdir(name, 0o700, dir_fd=target)
                with (
                    _opened(name, _FOLDER, source) as folder,
                    _opened(name, _FOLDER, target) as copy,
                ):
                    _copy_folder(reading, f"{entry_path}/", folder, copy)
            else:
                raise OSError(errno.ELOOP, "neither file nor folder")
        except OSError as error:
            raise _meaning(error, entry_path) from None


def _copy_file(reading: Reading, name: str, path: str, source: int, target: int) -> None:
    """Copy one file, without context managers: they would take a tenth of a small file's time."""
    file = os.open(name, _SOURCE, dir_fd=source)
    try:
        copy = os.open(name, _TARGET, 0o600, dir_fd=target)
        try:
            reading.sizes_bytes[path] = _copy_bytes(reading, path, file, copy)
        finally:
            os.close(copy)
    finally:
        os.close(file)


def _copy_bytes(reading: Reading, path: str, source: int, target: int) -> int:
    """Copy an open file and return its size; raises SizeMismatch or ObjectChanged if it changes.

    Over NFS the kernel asks the server for a file's size and time at its opening, and then may
    answer from memory for some seconds (nfs(5), acregmin). A change by another client in that time
    shows at most as a short file.
    """
    before = os.fstat(source)
    copied = 0
    while copied < before.st_size:
        count = _send(source, target, copied, min(_CHUNK_BYTES, before.st_size - copied))
        if not count:
            raise SizeMismatch(
                f"{path!a:.100} ended at byte {copied} of {before.st_size}: don't change the data "
                "set"
            )
        copied += count
        reading.count_bytes(count)
    after = os.fstat(source)
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise _changed(path)
    return copied


def _send(source: int, target: int, position: int, count: int) -> int:
    """Copy at most `count` bytes from `position`, in the kernel if possible; returns how many, 0 at
    the end."""
    try:
        return os.sendfile(target, source, position, count)
    except OSError as error:
        if error.errno not in _NO_SENDFILE:
            raise
        return os.pwrite(target, os.pread(source, min(count, 2**20), position), position)


def _meaning(error: OSError, path: str) -> Exception:
    """Translate an error of the file system, for a tree that nobody should change."""
    # ESTALE: on NFS, a file was removed while open
    if error.errno in (errno.ENOENT, errno.ESTALE):
        return _changed(path)
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
        return UnsafePath(
            f"{path!a:.200} is neither a file nor a folder (a link, for example): remove it"
        )
    return error


def _changed(path: str) -> ObjectChanged:
    return ObjectChanged(
        f"{path!a:.100} vanished or changed while it was copied: don't change the data set"
    )
