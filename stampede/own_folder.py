"""Folders whose contents are run or believed: nobody else may have put anything there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stampede.checkout import ROOT


def make(folder: Path) -> None:
    """Make it, for this user alone whatever the umask says. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def fault(folder: Path) -> str:
    """Why others may have put something into a folder, in words; "" where they can't, and where
    there is none.

    Root and whoever owns the checkout are trusted, as their programs are run anyway. One of this
    user's that a loose umask left open is closed; /tmp and the like are not.
    """
    try:
        status = folder.stat()
    except OSError:
        return ""
    if status.st_uid not in (os.geteuid(), ROOT.stat().st_uid, 0):
        return f"{folder} belongs to another user"
    if not status.st_mode & stat.S_IWOTH:
        return ""
    if status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX:
        return f"others may write into {folder}"
    folder.chmod(stat.S_IMODE(status.st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))
    return ""
