"""Keeps what is built here in the cache folder: each thing whole or not at all, and built by one process at a time."""

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stampede import own_folder
from stampede.emulator.go_build import NotReadyError, Progress, ProviderError


def cache_folder() -> Path:
    """Return the folder for built things: STAMPEDE_CACHE_DIR, else `stampede` in the user's cache folder.

    Raises NotReadyError for one that somebody else may have written into: its programs are run.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "stampede"
    if chosen := os.environ.get("STAMPEDE_CACHE_DIR"):
        folder = Path(chosen).expanduser().absolute()
    if fault := own_folder.fault(folder):
        raise NotReadyError(f"cache folder: {fault}", "set STAMPEDE_CACHE_DIR to a folder of your own")
    return folder


def is_complete(finished: Path) -> bool:
    """Tell whether a built folder holds everything its manifest lists, at the sizes listed there."""
    try:
        sizes = json.loads((finished / "manifest.json").read_text())["sizes_bytes"]
        return bool(sizes) and all((finished / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError):
        return False


def build_once(
    finished: Path, what: str, why: str, build: Callable[[Path], dict[str, Any]], progress: Progress
) -> None:
    """Make the folder `finished` of the cache complete, if it isn't, after saying `why`.

    `build` fills an empty folder and returns its manifest, whose `sizes_bytes` has the size of each file by its path.
    Raises ProviderError, one line, when the cache can't be written, and whatever `build` raises.
    """
    with _only_one_build(finished.parent, progress):
        if not is_complete(finished):  # another process may have built it while we waited
            progress(f"{why} (kept in {finished.parent})")
            _build_into(finished, what, build, progress)


@contextlib.contextmanager
def _only_one_build(cache: Path, progress: Progress) -> Iterator[None]:
    """Hold the build lock of this cache folder; the system releases it when a process dies, however it dies."""
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


def _build_into(finished: Path, what: str, build: Callable[[Path], dict[str, Any]], progress: Progress) -> None:
    """Build beside the final folder and rename: a cut-off build leaves nothing that looks finished."""
    for leftover in finished.parent.glob("building-*"):  # of a build that was killed; we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix="building-", dir=finished.parent))
    began = time.monotonic()
    try:
        manifest = build(draft)
        manifest["seconds"] = round(time.monotonic() - began)
        (draft / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        draft.chmod(0o755)
        if finished.exists():  # incomplete, or we wouldn't be here
            shutil.rmtree(finished)
        draft.rename(finished)
    except OSError as error:
        raise ProviderError(f"building {what} in {finished.parent} failed: {error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    progress(f"{what} ready in {time.monotonic() - began:.0f} s: {finished}")
