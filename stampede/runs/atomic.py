"""Writes a file so that a reader sees either the old one or the whole new one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8 through a temporary file in the same folder. Raises OSError."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` through a temporary file in the same folder; write into a link, device or pipe directly.

    Raises OSError.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        # A file renamed to /dev/stdout or /dev/full would replace it, if root asks for it.
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place at the end of the block, unless that fails. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # mkstemp makes files that only the owner may read; a report is meant to be passed on.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
