"""Where tests are: in folders named like the product's, and in packages, so that two files of one name don't meet."""

import tomllib
from pathlib import Path

from setuptools import find_packages

ROOT = Path(__file__).resolve().parents[2]


def _folders_of_modules(below: Path) -> set[str]:
    return {str(path.parent.relative_to(ROOT)) for path in below.rglob("*.py")}


def test_every_folder_of_tests_is_a_package():
    folders = _folders_of_modules(ROOT / "tests")
    assert {"tests/faults", "tests/unit/bench"} <= folders
    assert [folder for folder in sorted(folders) if not (ROOT / folder / "__init__.py").is_file()] == []


def test_every_folder_of_unit_tests_is_called_like_the_products():
    folders = {folder.removeprefix("tests/unit/") for folder in _folders_of_modules(ROOT / "tests/unit")}
    named = [folder for folder in folders - {"tests/unit"} if not (ROOT / folder).is_dir()]
    assert [folder for folder in sorted(named) if not (ROOT / "stampede" / folder).is_dir()] == []


def test_what_is_installed_is_every_package_with_the_data_beside_its_modules():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = find_packages(str(ROOT), include=tool["packages"]["find"]["include"])
    folders = {ROOT / package.replace(".", "/") for package in packages}
    modules = (file for top in ("bench", "experiments", "loader", "stampede") for file in (ROOT / top).rglob("*.py"))
    assert {module.parent for module in modules if "local_override" not in module.parts} == folders
    data = set()
    for package, patterns in tool["package-data"].items():
        for pattern in patterns:
            data |= set((ROOT / package.replace(".", "/")).glob(pattern))
    kinds = {".json", ".csv", ".j2", ".css", ".js", ".lark"}
    files = {path for top in ("experiments", "loader", "stampede") for path in (ROOT / top).rglob("*")}
    beside = {path for path in files if path.suffix in kinds and "emulator" not in path.parts}
    assert beside - data == set()
