"""The house: an experiment lives in places that carry its name, and arrows between the folders have no circle."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("experiments", "model", "loader", "queries", "report", "emulator")
# `go mod download` is a command of Go's, and a request of ASGI has a `method`.
EXCUSED = {"emulator/go_build.py", "emulator/manners/calls.py", "emulator/repeated_calls.py"}


def modules(*folders):
    """The Python files of folders, by their path from the root."""
    return {path.relative_to(ROOT).as_posix(): path for folder in folders for path in (ROOT / folder).rglob("*.py")}


def documentation(tree):
    """The constants of a module that are docstrings: prose, where the name is an English word."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, holders) and node.body)
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


def own_variables(name):
    """The Terraform variables that this experiment alone has."""
    return re.findall(r'^variable "(\w+)"', (ROOT / f"infra/variables_{name}.tf").read_text(), re.MULTILINE)


@cache
def said(text):
    """What a module's code imports, in dotted names, its identifiers, and its strings, as (line, kind, what); read once
    for all the tests that look through it."""
    tree, found = ast.parse(text), []
    prose = documentation(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found += [(node.lineno, "import", f"{node.module or ''}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(node.lineno, "import", alias.name) for alias in node.names]
        elif isinstance(node, ast.Name | ast.Attribute):
            found.append((node.lineno, "name", node.id if isinstance(node, ast.Name) else node.attr))
        elif isinstance(string := getattr(node, "value", None), str) and id(node) not in prose:
            found.append((node.lineno, "string", string))
    return found


def namings(text, name, variables=()):
    """Where a module's code names an experiment, as (line, what).

    That is: an import of `experiments.<name>...`, or of its declaration; the identifier <NAME>; a string that is the
    name, or has it as a part of a path or of a compound (`functions/<name>`, `<name>/summary`, `stampede-<name>`, `one
    of: <name>`); and a string in which one of its own Terraform variables stands (one of a single word: that is it).
    """
    compound = re.compile(rf"(?<![\w.]){name}[/.:]\w|(?:[/-]|: ){name}\b(?!-)|^{name}$")
    own = re.compile("|".join(rf"\b{one}\b" if "_" in one else rf"^{one}$" for one in variables) or "(?!)")
    for line, kind, what in said(text):
        if kind == "import" and re.match(rf"experiments\.({name}|{name.upper()})", what):
            yield line, f"imports {what}"
        elif kind == "name" and what == name.upper():
            yield line, what
        elif kind == "string":
            yield from ((line, repr(one[0])) for one in (compound.search(what), own.search(what)) if one)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_module_of_the_common_folders_names_an_experiment(name):
    found = {
        path: namings_of_it
        for path, file in modules("loader", "model", "queries", "report", "emulator").items()
        if (namings_of_it := list(namings(file.read_text(), name, own_variables(name))))
    }
    assert {path: what for path, what in found.items() if path not in EXCUSED} == {}


@pytest.mark.parametrize(
    "code",
    [
        "from experiments.download import DOWNLOAD",
        "from experiments import download_usage",
        "from experiments import DOWNLOAD",
        "import experiments.download",
        "x = experiments.DOWNLOAD",
        'NAMES = ["download"]',
        'x = "functions/download/build"',
        'x = f"{prefix}-download"',
        'help = "what to run: download"',
        'help = "a saved query (download/summary)"',
        'x = "use a smaller object_size_mb with --set"',
        'x = target["method"]',
    ],
)
def test_a_module_that_names_the_download_is_found(code):
    assert list(namings(code, "download", ["object_size_mb", "method"]))


@pytest.mark.parametrize(
    "code",
    [
        '"""What the download experiment has, in functions/download."""',
        'x = "go mod download"  # of the modules',
        "def download(pins): ...",
        "go_build.download(pins)",
        'x = "the download of a part failed"',
        'x = "another method is taken"',
        "from experiments import EXPERIMENTS",
        "from experiments.experiment import Axis",
    ],
)
def test_an_english_word_is_no_name(code):
    assert list(namings(code, "download", ["object_size_mb", "method"])) == []


def arrows():
    """Which folder imports which, imports inside functions too."""
    found = {folder: set() for folder in FOLDERS}
    for path, file in modules(*FOLDERS).items():
        imported = {what.partition(".")[0] for _, kind, what in said(file.read_text()) if kind == "import"}
        found[path.partition("/")[0]] |= imported
    return {folder: (to & set(FOLDERS)) - {folder} for folder, to in found.items()}


def test_the_arrows_between_the_folders_have_no_circle():
    left = arrows()
    while free := {folder for folder, to in left.items() if not to & left.keys()}:
        left = {folder: to for folder, to in left.items() if folder not in free}
    assert left == {}


def test_the_model_imports_no_other_folder_the_experiments_the_model_alone_and_the_report_not_the_loader():
    found = arrows()
    assert (found["model"], found["experiments"]) == (set(), {"model"})
    assert "loader" not in found["report"] | found["queries"] | found["emulator"]
