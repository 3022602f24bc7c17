"""The files of a Lambda package, whether it is a folder or a zip."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

# The field e_machine of an ELF file (its specification, "ELF Header"), by Lambda's names.
MACHINES = {0x3E: "x86_64", 0xB7: "arm64"}
# What reading a damaged zip raises; RuntimeError if it is encrypted.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
# Zips made on Unix have file modes (APPNOTE.TXT of the format, "version made by").
UNIX = 3
EVERYBODY_READS = 0o755
PIECE_BYTES = 2**20


@dataclass(frozen=True)
class Entry:
    """A file or folder of a package, with its size unpacked."""

    name: str
    mode: int
    size: int
    open: Callable[[], IO[bytes]]

    @property
    def is_private(self) -> bool:
        """Whether users other than the owner can't read it, or can't run what the owner can."""
        return bool((0o4 | self.mode >> 6 & 0o5) & ~self.mode)


@dataclass(frozen=True)
class Package:
    """All entries of a package, and its files by name."""

    path: Path
    entries: tuple[Entry, ...]
    files: Mapping[str, Entry]

    @classmethod
    def at(cls, path: Path) -> Package:
        """The package in a folder or a zip. Raises OSError or one of DAMAGED."""
        entries = tuple(_in_folder(path) if path.is_dir() else _in_zip(zipfile.ZipFile(path)))
        return cls(
            path, entries, {entry.name: entry for entry in entries if not stat.S_ISDIR(entry.mode)}
        )

    @property
    def odd(self) -> list[str]:
        """Entries that Lambda wouldn't get as they are: links and other special files, and names
        that can't be printed."""
        return [
            entry.name
            for entry in self.entries
            if not (stat.S_ISREG(entry.mode) or stat.S_ISDIR(entry.mode))
            or not entry.name.isprintable()
        ]

    @property
    def clash(self) -> str | None:
        """A file inside of another file, which can't be unpacked; None if there is none."""
        return next(
            (
                name
                for name in self.files
                if any(str(parent) in self.files for parent in PurePosixPath(name).parents)
            ),
            None,
        )

    def test(self) -> None:
        """Unpack a zip once, without storing it. Raises OSError or one of DAMAGED."""
        for entry in () if self.path.is_dir() else self.files.values():
            with entry.open() as file:
                while file.read(PIECE_BYTES):
                    pass

    @property
    def private(self) -> list[str]:
        """The files and folders that not every user can read."""
        return [entry.name for entry in self.entries if entry.is_private]

    @property
    def unpacked_bytes(self) -> int:
        """The size of all files."""
        return sum(entry.size for entry in self.files.values())

    def is_executable(self, name: str) -> bool:
        """Whether it has a file of that name that its owner can run."""
        return name in self.files and bool(self.files[name].mode & 0o100)

    def read(self, name: str, most: int = -1) -> bytes:
        """The first `most` bytes of a file, or all."""
        with self.files[name].open() as file:
            return file.read(most)

    def zipped_bytes(self) -> int:
        """Its size as a zip; for a folder to a percent or so, and after a few seconds."""
        if self.path.is_dir():
            return sum(len(zlib.compress(self.read(name))) for name in self.files)
        return self.path.stat().st_size

    def other_machine(self, machine: str) -> tuple[str, str] | None:
        """The first program or library that isn't built for `machine`, with the Lambda architecture
        that it is built for; None if there is none."""
        for name in self.compiled:
            head = self.read(name, 20)
            built = (
                MACHINES.get(int.from_bytes(head[18:], "little"))
                if head.startswith(b"\x7fELF")
                else None
            )
            if built not in (None, machine):
                return name, built
        return None

    @property
    def compiled(self) -> list[str]:
        """Its programs and libraries, by name."""
        return [
            name
            for name in self.files
            if name == "bootstrap" or name.endswith(".so") or ".so." in name
        ]


def _in_folder(folder: Path) -> Iterator[Entry]:
    """Everything in a folder, without following links. Raises OSError."""

    def refuse(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=refuse):
        for path in sorted(Path(parent, name) for name in (*folders, *files)):
            status = path.lstat()
            yield Entry(
                path.relative_to(folder).as_posix(),
                status.st_mode,
                status.st_size,
                partial(path.open, "rb"),
            )


def _in_zip(archive: zipfile.ZipFile) -> Iterator[Entry]:
    """Everything in a zip, whose names may begin with ./ and include folders."""
    for row in archive.infolist():
        mode = row.external_attr >> 16 or (0 if row.create_system == UNIX else EVERYBODY_READS)
        mode |= stat.S_IFDIR if row.is_dir() else 0 if stat.S_IFMT(mode) else stat.S_IFREG
        yield Entry(
            str(PurePosixPath(row.filename)), mode, row.file_size, partial(archive.open, row)
        )
