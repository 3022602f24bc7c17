"""The cache folder for programs built here. Only one process builds at a time, and a folder gets
its final name only when it is complete."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from stampede import own_folder
from stampede.emulator.go_build import NotReadyError, ProviderError
from stampede.progress import say


def cache_folder() -> Path:
    """Return STAMPEDE_CACHE_DIR, else `stampede` in the user's cache folder.

    Raises NotReadyError for a folder that another user may write into: its programs are run.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "stampede")
    if chosen := os.environ.get("STAMPEDE_CACHE_DIR"):
        folder = Path(chosen).expanduser().absolute()
    if fault := own_folder.fault(folder):
        raise NotReadyError(
            f"cache folder: {fault}", "set STAMPEDE_CACHE_DIR to a folder of your own"
        )
    return folder


def folder_for(name: str, *parts: str) -> Path:
    """The cache's folder for a build that depends on `parts`; it exists once it is complete."""
    fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return cache_folder() / f"{name}-{fingerprint}"


def build_once(finished: Path, what: str, why: str, build: Callable[[Path], object]) -> None:
    """Say `why` and make the folder `finished`, unless it exists; `build` fills an empty folder.

    Raises ProviderError, one line, when the cache can't be written, and whatever `build` raises.
    """
    if finished.is_dir():
        return
    cache = finished.parent
    with _only_one_build(cache):
        if finished.is_dir():  # another process may have built it while we waited
            return
        say(f"{why} (kept in {cache})")
        for leftover in cache.glob("building-*"):  # of a build that was killed; we hold the lock
            shutil.rmtree(leftover, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="building-", dir=cache))
        try:
            build(draft)
            draft.chmod(0o755)
            draft.rename(finished)
        except OSError as error:
            raise ProviderError(f"building {what} in {cache} failed: {error}") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        say(f"{what} ready: {finished}")


@contextlib.contextmanager
def _only_one_build(cache: Path) -> Iterator[None]:
    """Hold the cache's build lock; the system releases it even when the process is killed."""
    try:
        own_folder.make(cache)
        lock = (cache / "build.lock").open("w")
    except OSError as error:
        raise NotReadyError(
            f"cache folder {cache} can't be written ({error.strerror})", "set STAMPEDE_CACHE_DIR"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is building in {cache}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
