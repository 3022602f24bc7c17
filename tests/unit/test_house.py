"""An experiment's code is in modules with its name, and packages import only downwards."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
# Common words, which name an experiment or its variable only within an import.
EVERYDAY = {"function", "package", "environment", "runtime", "handler", "layers", "cache"}
# Variables of the trigger, whose batches decide the messages' number, cost and timeout.
EVERYDAY |= {"batch_size", "batching_window_s"}
# `go mod download` is a command of Go, and an ASGI request has a `method`.
EXCUSED = {f"stampede/emulator/{name}.py" for name in ("gate", "go_build")}


@cache
def words_of(file):
    """A module's imports and identifiers as dotted names, and the words of its strings except
    sentences: each part of a path or compound."""
    names, words = set(), set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}." for alias in node.names}
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words |= set(re.findall(r"\w+", node.value)) if " " not in node.value else set()
    return names, words


def namings(file, name):
    """A module's references to an experiment: imports, its declaration, its name, and Terraform
    variables that it alone has."""
    names, words = words_of(file)
    declared = (ROOT / f"infra/variables_{name}.tf").read_text()
    own = {name, *re.findall(r'(?m)^variable "(\w+)"', declared)} - EVERYDAY
    modules = (f"experiments.{name}.", f"experiments.{name.upper()}.")
    return {it for it in names if it == name.upper() or it.startswith(modules)} | words & own


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_only_an_experiments_own_modules_name_it(name):
    named = {
        file.relative_to(ROOT).as_posix(): words
        for folder in ("loader", "stampede")
        for file in (ROOT / folder).rglob("*.py")
        if (words := namings(file, name))
    }
    assert {path: words for path, words in named.items() if path not in EXCUSED} == {}
    assert namings(ROOT / f"experiments/{name}/declaration.py", name)


def test_packages_import_only_downwards():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout
