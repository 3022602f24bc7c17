"""Where tests are: in folders named like the product's, and in packages, so that two files of one name don't meet."""

import tomllib
from pathlib import Path

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
    product = {name.partition(".")[0] for name in tool["packages"]}
    found = {str(path.parent.relative_to(ROOT)).replace("/", ".") for top in product for path in
             (ROOT / top).rglob("__init__.py")}  # fmt: skip
    assert sorted(found) == sorted(tool["packages"])
    data = {path for name, globs in tool["package-data"].items() for one in globs for path in
            (ROOT / name.replace(".", "/")).glob(one)}  # fmt: skip
    kinds = {".json", ".csv", ".j2", ".css", ".js", ".lark"}
    there = {path for top in product - {"bench"} for path in (ROOT / top).rglob("*") if path.suffix in kinds}
    assert {path for path in there - data if "emulator" not in path.parts} == set()
