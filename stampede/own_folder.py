"""Folders whose contents are executed or trusted: no other user may write there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stampede.checkout import ROOT


def make(folder: Path) -> None:
    """Make the folder, for this user alone whatever the umask is. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def fault(folder: Path) -> str:
    """Why other users may have written into a folder; "" where they can't have, and where there
    is no folder.

    Root and the owner of the checkout are trusted, because their programs are run anyway. A folder
    of this user that a loose umask left open is closed; /tmp and the like are not.
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
