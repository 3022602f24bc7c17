"""Checks of a package for provided.al2023, whose program is started instead of a handler."""

import struct
import zipfile

import pytest

from experiments.function import checks
from stampede.finding import PROBLEM

X86_64, ARM64 = 0x3E, 0xB7
CELL = {"handler": "app.handler", "runtime": "provided.al2023", "architecture": "x86_64", "policy_file": None} | {
    "environment": {},
    "layers": [],
}


def program(machine):
    """The head of an ELF file."""
    return b"\x7fELF" + bytes(14) + struct.pack("<H", machine)


def problems(path):
    """What is wrong with a package, whether the Go program is built here or not."""
    findings = checks.checks([CELL | {"package": str(path)}])
    return [finding.found for finding in findings if (finding.check, finding.status) == ("package", PROBLEM)]


@pytest.fixture
def found(tmp_path):
    """What is found of a package with a file, as a folder and as a zip: found(name, content, mode)."""

    def find(name, content, mode):
        folder, archive = tmp_path / "folder", tmp_path / "package.zip"
        folder.mkdir()
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)
        with zipfile.ZipFile(archive, "w") as package:
            package.write(folder / name, name)
        in_folder, in_archive = problems(folder), problems(archive)
        assert [text.replace("package.zip", "folder") for text in in_archive] == in_folder
        return in_folder

    return find


def test_a_program_for_the_functions_processor_is_one(found):
    assert found("bootstrap", program(X86_64), 0o755) == []


@pytest.mark.parametrize(
    ("name", "content", "mode", "problem"),
    [
        ("main", program(X86_64), 0o755, "folder has no executable file bootstrap, which provided.al2023 starts"),
        ("bootstrap", program(X86_64), 0o644, "folder has no executable file bootstrap, which provided.al2023 starts"),
        ("bootstrap", program(ARM64), 0o755, "folder: bootstrap is built for arm64, and architecture is x86_64"),
    ],
    ids=["another name", "not executable", "another processor"],
)
def test_a_program_that_lambda_couldnt_start_is_found_before_anything_is_applied(found, name, content, mode, problem):
    assert found(name, content, mode) == [problem]
