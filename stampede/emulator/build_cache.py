"""Keeps what is built here in the cache folder: each thing whole or not at all, and built by one
process at a time."""

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
from stampede.emulator.go_build import NotReadyError, Progress, ProviderError


def cache_folder() -> Path:
    """Return the folder for built things: STAMPEDE_CACHE_DIR, else `stampede` in the user's cache
    folder.

    Raises NotReadyError for one that somebody else may have written into: its programs are run.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "stampede"
    if chosen := os.environ.get("STAMPEDE_CACHE_DIR"):
        folder = Path(chosen).expanduser().absolute()
    if fault := own_folder.fault(folder):
        raise NotReadyError(
            f"cache folder: {fault}", "set STAMPEDE_CACHE_DIR to a folder of your own"
        )
    return folder


def folder_for(name: str, *parts: str) -> Path:
    """The cache's folder for what depends on `parts`, whether it has been built or not."""
    fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return cache_folder() / f"{name}-{fingerprint}"


def is_complete(finished: Path) -> bool:
    """Tell whether a folder was built: it gets its name when it is whole."""
    return finished.is_dir()


def build_once(
    finished: Path, what: str, why: str, build: Callable[[Path], object], progress: Progress
) -> None:
    """Make the folder `finished` of the cache, if it isn't there, after saying `why`; `build` fills
    an empty folder.

    Raises ProviderError, one line, when the cache can't be written, and whatever `build` raises.
    """
    cache = finished.parent
    with _only_one_build(cache, progress):
        if is_complete(finished):  # another process may have built it while we waited
            return
        progress(f"{why} (kept in {cache})")
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
        progress(f"{what} ready: {finished}")


@contextlib.contextmanager
def _only_one_build(cache: Path, progress: Progress) -> Iterator[None]:
    """Hold the build lock of this cache folder; the system releases it when a process dies, however
    it dies."""
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
            progress(f"another process is building in {cache}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
