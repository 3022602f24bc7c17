"""A folder in /tmp for one operation, which doesn't outlive its process.

Lambda keeps /tmp when it kills a sandbox for its memory or its time, and starts the next one with
what is left there: the disk would be full for every later operation. So each folder is locked as
long as its process lives, and what nobody locks is removed at the start.
functions/transfer/internal/tempfile has a file without a name instead.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "stampede-work-"
_is_clean = False


class WorkFolder:
    """An empty folder, `path`. Raises OSError when there is no room for one."""

    def __init__(self) -> None:
        _remove_abandoned()
        # Nobody takes it for an abandoned one before it is locked.
        draft = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = os.open(draft, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = draft.rename(draft.with_name(draft.name[1:]))

    def empty(self) -> None:
        """Remove the folder with what is in it; safe to repeat, in any thread."""
        # Errors are left out on purpose: the folder may be gone already, and no measurement fails
        # over its waste.
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder and give up its lock; once."""
        self.empty()
        os.close(self._lock)


def _remove_abandoned() -> None:
    global _is_clean
    if _is_clean:
        return
    _is_clean = True
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone, somebody else's, or no folder
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass  # in use
        finally:
            os.close(lock)
