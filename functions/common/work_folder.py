"""A folder in /tmp for one operation, which doesn't outlive its process.

Lambda keeps /tmp when it kills a sandbox for its memory or time: the disk would be full for every
later operation. So each process locks its folders, and the next one removes unlocked folders when
it starts. functions/transfer/internal/tempfile uses a file without a name instead.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "stampede-work-"
_is_clean = False


class WorkFolder:
    """An empty folder, `path`. Raises OSError if there is no room for it."""

    def __init__(self) -> None:
        _remove_abandoned()
        # Under this name it can't be removed as abandoned before it is locked.
        draft = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = os.open(draft, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = draft.rename(draft.with_name(draft.name[1:]))

    def empty(self) -> None:
        """Remove the folder and its content; safe to repeat, in any thread."""
        # Errors are ignored: the folder may be gone, and leftovers fail no measurement.
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder and release its lock; once."""
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
