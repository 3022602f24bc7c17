"""Finds full disks, because errors often name neither the disk nor the cause, and gives the way out
where nothing can be written."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
# A disk with less room counts as full: existing files still grow into their last blocks, and a
# program that gives up leaves a little room.
PROBE_BYTES = 1024**2


def way_out(error: OSError) -> str:
    """How to make writing possible that raised `error`."""
    cannot_be_made = error.errno == errno.ENOENT and error.filename
    if error.errno in _NOT_WRITABLE or cannot_be_made:
        return "make it writable, or use another folder"
    return "free or change that disk"


def refuse(folder: Path) -> None:
    """Raise OSError, which names `folder`, where it is on a full disk."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(PROBE_BYTES))
    except OSError as error:
        if error.errno in FULL:
            raise OSError(error.errno, error.strerror, str(folder)) from None


def is_full(folder: Path) -> bool:
    """Whether `folder` is on a full disk."""
    try:
        refuse(folder)
    except OSError:
        return True
    return False
