"""Which disk is full: what fails on one often doesn't say which, or that it is the disk. And the
way out where nothing can be written.
"""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
# A disk is as good as full before it is: files that are there already still grow into their last
# blocks, and what gives up on it leaves a little free.
PROBE_BYTES = 1024**2


def way_out(error: OSError) -> str:
    """What lets that be written whose writing raised `error`."""
    cannot_be_made = error.errno == errno.ENOENT and error.filename
    if error.errno in _NOT_WRITABLE or cannot_be_made:
        return "make it writable, or use another folder"
    return "free or change that disk"


def refuse(folder: Path) -> None:
    """Raise the OSError of a full disk, which names `folder`, where that is on one."""
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
