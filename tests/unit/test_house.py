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
# `go mod download` is a command of Go's, and a request of ASGI has a `method`. Of the `function`
# experiment's words these are everybody's: they name it only as a part of a path or of an import.
EVERYDAY = {"function", "package", "environment", "runtime", "handler", "layers"}
# Of the trigger, whose batches decide how many messages there are, what they cost and how long they
# are hidden.
EVERYDAY |= {"batch_size", "batching_window_s"}
EXCUSED = {f"stampede/emulator/{name}.py" for name in ("gate", "go_build")}


def modules(*folders):
    """The Python files of folders, by their path from the root."""
    return {
        path.relative_to(ROOT).as_posix(): path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
    }


def documentation(tree):
    """The constants of a module that are docstrings: prose, where the name is an English word."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, holders) and node.body)
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


def own_variables(name):
    """The Terraform variables that this experiment alone has."""
    return re.findall(
        r'^variable "(\w+)"', (ROOT / f"infra/variables_{name}.tf").read_text(), re.MULTILINE
    )


@cache
def tokens(text):
    """What a module's code imports, in dotted names, its identifiers, and its strings, as (line,
    kind, what); read once for all the tests that look through it."""
    tree, items = ast.parse(text), []
    prose = documentation(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            items += [
                (node.lineno, "import", f"{node.module or ''}.{alias.name}") for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            items += [(node.lineno, "import", alias.name) for alias in node.names]
        elif isinstance(node, ast.Name | ast.Attribute):
            items.append(
                (node.lineno, "name", node.id if isinstance(node, ast.Name) else node.attr)
            )
        elif isinstance(string := getattr(node, "value", None), str) and id(node) not in prose:
            items.append((node.lineno, "string", string))
    return items


def namings(text, name, variables=()):
    """Where a module's code names an experiment, as (line, what).

    That is: an import of `experiments.<name>...`, or of its declaration; the identifier <NAME>; a
    string that is the name, or has it as a part of a path or of a compound (`functions/<name>`,
    `<name>/summary`, `stampede-<name>`, `one of: <name>`); and a string in which one of its own
    Terraform variables stands (one of a single word: that is it).
    """
    alone = "" if name in EVERYDAY else rf"|(?:[/-]|: ){name}\b(?!-)|^{name}$"
    compound = re.compile(rf"(?<![\w.]){name}[/.:]\w{alone}")
    variables = [variable for variable in variables if variable not in EVERYDAY]
    own = re.compile(
        "|".join(
            rf"\b{variable}\b" if "_" in variable else rf"^{variable}$" for variable in variables
        )
        or "(?!)"
    )
    for line, kind, what in tokens(text):
        if kind == "import" and re.match(rf"experiments\.({name}|{name.upper()})", what):
            yield line, f"imports {what}"
        elif kind == "name" and what == name.upper():
            yield line, what
        elif kind == "string":
            yield from (
                (line, repr(match[0]))
                for match in (compound.search(what), own.search(what))
                if match
            )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_module_of_the_common_folders_names_an_experiment(name):
    namings_by_path = {
        path: namings_of_it
        for path, file in modules("loader", "stampede").items()
        if (namings_of_it := list(namings(file.read_text(), name, own_variables(name))))
    }
    assert {path: what for path, what in namings_by_path.items() if path not in EXCUSED} == {}


@pytest.mark.parametrize(
    ("code", "is_naming"),
    [
        ("from experiments import DOWNLOAD", True),
        ("from experiments.download.declaration import x", True),
        ('x = "functions/download/build"', True),
        ('NAMES = ["download"]', True),
        ('x = target["method"]', True),
        ('x = "the download of a part failed"', False),
        ("go_build.download(pins)", False),
    ],
)
def test_a_module_that_names_the_download_is_found_and_an_english_word_is_no_name(code, is_naming):
    assert bool(list(namings(code, "download", ["object_size_mb", "method"]))) == is_naming


def test_the_packages_import_downwards_only():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout
