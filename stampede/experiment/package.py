"""What a function or a layer of Lambda consists of, as a list of files, whether it is a folder or a zip."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# The field e_machine of an ELF file (its specification, "ELF Header"), by Lambda's names.
MACHINES = {0x3E: "x86_64", 0xB7: "arm64"}


@dataclass(frozen=True)
class Package:
    """What is in it, by name: the sizes of its files in bytes, unpacked, those that may be run, and their contents."""

    path: Path
    sizes: Mapping[str, int]
    executable: Collection[str]
    open: Callable[[str], IO[bytes]]

    @classmethod
    def at(cls, path: Path) -> Package:
        """The package of a folder or a zip. Raises OSError where it can't be read, or zipfile.BadZipFile."""
        if path.is_dir():
            files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
            sizes = {name: file.stat().st_size for name, file in files.items()}
            executable = {name for name, file in files.items() if os.access(file, os.X_OK)}
            return cls(path, sizes, executable, lambda name: files[name].open("rb"))
        archive = zipfile.ZipFile(path)
        rows = [row for row in archive.infolist() if not row.is_dir()]
        executable = {row.filename for row in rows if row.external_attr >> 16 & 0o100}
        return cls(path, {row.filename: row.file_size for row in rows}, executable, archive.open)

    def read(self, name: str, most: int = -1) -> bytes:
        """The first `most` bytes of a file, or all."""
        with self.open(name) as file:
            return file.read(most)

    def zipped_bytes(self) -> int:
        """Its size as a zip; of a folder that is known to a percent or so, after a few seconds."""
        if self.path.is_dir():
            return sum(len(zlib.compress(self.read(name))) for name in self.sizes)
        return self.path.stat().st_size

    def other_machine(self, machine: str) -> tuple[str, str] | None:
        """The first of its programs and libraries that is built for another of Lambda's architectures than `machine`,
        and for which; None where there is none."""
        for name in self.compiled:
            head = self.read(name, 20)
            built = MACHINES.get(int.from_bytes(head[18:], "little")) if head.startswith(b"\x7fELF") else None
            if built not in (None, machine):
                return name, built
        return None

    @property
    def compiled(self) -> list[str]:
        """Its programs and libraries, by name."""
        return [name for name in self.sizes if name == "bootstrap" or name.endswith(".so") or ".so." in name]
