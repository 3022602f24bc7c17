"""The house: an experiment lives in places that carry its name, and the packages import downwards
only."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
# Words that name an experiment or its variable as a part of an import only: they are everybody's.
EVERYDAY = {"function", "package", "environment", "runtime", "handler", "layers", "cache"}
# Of the trigger, whose batches decide how many messages there are, what they cost and how long they
# are hidden.
EVERYDAY |= {"batch_size", "batching_window_s"}
# `go mod download` is a command of Go's, and a request of ASGI has a `method`.
EXCUSED = {f"stampede/emulator/{name}.py" for name in ("gate", "go_build")}


@cache
def words_of(file):
    """What a module imports and its identifiers, in dotted names; and the words of those of its
    strings that are no sentence: of a path or a compound each part."""
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
    """By what a module names an experiment: imports, its declaration, its name, and the Terraform
    variables that it alone has."""
    names, words = words_of(file)
    declared = (ROOT / f"infra/variables_{name}.tf").read_text()
    own = {name, *re.findall(r'(?m)^variable "(\w+)"', declared)} - EVERYDAY
    modules = (f"experiments.{name}.", f"experiments.{name.upper()}.")
    return {it for it in names if it == name.upper() or it.startswith(modules)} | words & own


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_module_of_the_common_folders_names_an_experiment_and_its_own_do(name):
    named = {
        file.relative_to(ROOT).as_posix(): words
        for folder in ("loader", "stampede")
        for file in (ROOT / folder).rglob("*.py")
        if (words := namings(file, name))
    }
    assert {path: words for path, words in named.items() if path not in EXCUSED} == {}
    assert namings(ROOT / f"experiments/{name}/declaration.py", name)


def test_the_packages_import_downwards_only():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout
