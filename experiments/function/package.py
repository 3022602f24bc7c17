"""The user's package as a list of files, whether it is a folder or a zip."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# The field e_machine of an ELF file (its specification, "ELF Header"), by Lambda's names.
MACHINES = {0x3E: "x86_64", 0xB7: "arm64"}


@dataclass(frozen=True)
class Package:
    """What is in it: the sizes of its files in bytes, unpacked, by their names in it."""

    path: Path
    sizes: Mapping[str, int]

    @classmethod
    def at(cls, path: Path) -> Package:
        """The package of a folder or a zip. Raises OSError where it can't be read, or zipfile.BadZipFile."""
        if path.is_dir():
            files = (file for file in path.rglob("*") if file.is_file())
            return cls(path, {file.relative_to(path).as_posix(): file.stat().st_size for file in files})
        with zipfile.ZipFile(path) as archive:
            return cls(path, {row.filename: row.file_size for row in archive.infolist() if not row.is_dir()})

    def read(self, name: str, most: int = -1) -> bytes:
        """The first `most` bytes of a file, or all."""
        if self.path.is_dir():
            with (self.path / name).open("rb") as file:
                return file.read(most)
        with zipfile.ZipFile(self.path) as archive, archive.open(name) as file:
            return file.read(most)

    def is_executable(self, name: str) -> bool:
        """Whether it has this file, and with the permission to run it."""
        if name not in self.sizes:
            return False
        if self.path.is_dir():
            return os.access(self.path / name, os.X_OK)
        with zipfile.ZipFile(self.path) as archive:
            return bool(archive.getinfo(name).external_attr >> 16 & 0o100)

    def machine(self, name: str) -> str:
        """The architecture that an ELF file is built for; "" for another file, or an architecture that Lambda lacks."""
        head = self.read(name, 20)
        if len(head) < 20 or head[:4] != b"\x7fELF":
            return ""
        return MACHINES.get(struct.unpack_from("<H", head, 18)[0], "")

    @property
    def compiled(self) -> list[str]:
        """Its programs and libraries, by name."""
        return [name for name in self.sizes if name == "bootstrap" or name.endswith(".so") or ".so." in name]
