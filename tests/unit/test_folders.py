"""Every package is installed, with the data of its modules."""

import tomllib
from pathlib import Path

from setuptools import find_packages

ROOT = Path(__file__).resolve().parents[2]


def test_every_package_is_installed_with_its_data():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = find_packages(str(ROOT), include=tool["packages"]["find"]["include"])
    folders = {ROOT / package.replace(".", "/") for package in packages}
    modules = (
        file
        for top in ("bench", "experiments", "loader", "stampede")
        for file in (ROOT / top).rglob("*.py")
    )
    assert {module.parent for module in modules if "local_override" not in module.parts} == folders
    data = set()
    for package, patterns in tool["package-data"].items():
        for pattern in patterns:
            data |= set((ROOT / package.replace(".", "/")).glob(pattern))
    kinds = {".json", ".csv", ".j2", ".css", ".js", ".lark"}
    files = {
        path for top in ("experiments", "loader", "stampede") for path in (ROOT / top).rglob("*")
    }
    beside = {path for path in files if path.suffix in kinds and "emulator" not in path.parts}
    assert beside - data == set()
