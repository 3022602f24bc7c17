"""Checks of the user's package and policy, before anything is applied: what Lambda would refuse only when it is
deployed or run, and what a run on this machine can't do."""

from __future__ import annotations

import re
import shlex
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments import go_program
from experiments.function.values import FunctionValues
from experiments.go_program import of_this_machine
from experiments.package import DAMAGED, Package
from stampede import user_json
from stampede.checkout import INFRA
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import counted
from stampede.variable_rules import RULES

# Of a package with its layers unpacked, and of one that is uploaded as a zip, and not taken from S3 (Lambda quotas).
MOST_BYTES, MOST_ZIPPED_BYTES = 250 * 2**20, 50 * 2**20
ACTION = re.compile(r"\*|[\w*-]+:\S+")
PROVIDED = "provided.al2023"
ALL_ACTIONS = RULES["policy_file"].shared["all_actions"]
HANDLER = RULES["handler"].shared
# Terraform's archive_file keeps links to files as links, which lead nowhere in Lambda, and fails at links to folders.
WITHOUT_LINKS = "take it out, or give a zip that `zip -r` made of the folder: it follows links"
Cells = Sequence[FunctionValues]


def checks(cells: Cells) -> list[Finding]:
    """All of them, for the variables of a plan's cells."""
    names = ("package", "handler", "runtime", "architecture")  # what has to fit
    different = {tuple(str(cell[name]) for name in names): cell for cell in cells}
    findings = list(dict.fromkeys(finding for cell in different.values() for finding in _package(cell)))
    findings += [_policy(path) for path in dict.fromkeys(cell["policy_file"] for cell in cells) if path is not None]
    findings = findings or [Finding("package", OK, ", ".join(sorted({_path(cell).name for cell in cells})))]
    return [*findings, go_program.check({cell["architecture"] for cell in cells})]  # it measures all of them


def local_checks(cells: Cells) -> list[Finding]:
    """What the embedded AWS can't run: it starts a package with the Python of this machine, on its processor."""
    here, findings = f"{sys.version_info.major}.{sys.version_info.minor}", []
    tag, processor = f"cpython-{here.replace('.', '')}", of_this_machine()
    for package in [Package.at(path) for path in dict.fromkeys(_path(cell) for cell in cells)]:
        if other := package.other_machine(processor):
            found = f"{package.path.name}: {other[0]} is built for {other[1]}, and this machine is {processor}"
            return [Finding("package", PROBLEM, found, "use a package for this machine, or --target aws")]
        for name in package.compiled:
            if (built := re.search(r"\.(cpython-\d+)", name)) and built[1] != tag:
                found = f"{package.path.name}: {name} is built for {built[1]}, and functions run on Python {here} here"
                return [Finding("package", PROBLEM, found, f"use a package for {tag}, or --target aws")]
    for runtime in dict.fromkeys(cell["runtime"] for cell in cells):
        if runtime not in (PROVIDED, f"python{here}"):
            findings.append(Finding("runtime", WARNING, f"functions run on Python {here} here, and not on {runtime}"))
    if any(cell["layers"] for cell in cells):
        findings.append(Finding("layers", WARNING, "the embedded AWS has no layers of AWS accounts: they are left out"))
    return findings


def _path(cell: FunctionValues) -> Path:
    return INFRA / str(cell["package"])


def _package(cell: FunctionValues) -> Iterator[Finding]:
    """What is wrong with a package."""
    path = _path(cell)
    is_zip = path.name.lower().endswith(".zip")
    if not (path.is_file() if is_zip else path.is_dir()):
        fix = "correct --set package"
        if path.is_file():
            folder = f"use its folder: --set package={path.parent}"
            fix = "give it a name that ends in .zip" if zipfile.is_zipfile(path) else folder
        yield Finding("package", PROBLEM, f"{path} is neither a folder nor a zip file", fix)
        return
    try:
        yield from _in_package(Package.at(path), cell)
    except (OSError, *DAMAGED) as error:
        found = f"{path} can't be read ({getattr(error, 'strerror', None) or error})"
        yield Finding("package", PROBLEM, found, "make it again, or correct --set package")


def _in_package(package: Package, cell: FunctionValues) -> Iterator[Finding]:
    """What is wrong with what is in a package. Raises OSError where it can't be read, or one of DAMAGED."""
    path, architecture = package.path, cell["architecture"]
    if faults := package.faults:
        more = f" (and {len(faults) - 1} more of its entries)" if len(faults) > 1 else ""
        fix = "make it again with `zip -r`, of files and folders alone" if path.is_file() else WITHOUT_LINKS
        yield Finding("package", PROBLEM, f"{path.name}: {faults[0]}{more}", fix)
        return
    if private := package.private:
        count = f"{len(private):,} of {len(package.entries):,} files and folders"
        found = f"{path.name}: {count} aren't readable by everybody, such as {private[0]}"
        found += ", and Lambda runs them as another user"
        where, when = (".", " before it is zipped") if path.is_file() else (shlex.quote(str(path)), "")
        yield Finding("package", WARNING, found, f"`chmod -R a+rX {where}`{when}")
    yield from _size(package)
    if other := package.other_machine(architecture):
        found = f"{path.name}: {other[0]} is built for {other[1]}, and architecture is {architecture}"
        fix = f"use --set architecture={other[1]}, or build it for {architecture}"
        yield Finding("package", PROBLEM, found, fix)
    if cell["runtime"] == PROVIDED:
        if not package.is_executable("bootstrap"):
            found = f"{path.name} has no executable file bootstrap, which {PROVIDED} starts"
            yield Finding("package", PROBLEM, found, "add it, or correct --set runtime")
    elif not re.fullmatch(HANDLER["python_matches"], cell["handler"], re.ASCII):
        found = f"{HANDLER['python_rule']}, got {cell['handler']}"
        yield Finding("handler", PROBLEM, found, "correct --set handler=module.function")
    elif not cell["layers"] and (missing := _missing_handler(package, cell["handler"])):
        yield Finding("handler", PROBLEM, f"{path.name} {missing}", "correct --set handler=module.function")


def _size(package: Package) -> Iterator[Finding]:
    """Whether Lambda takes so much."""
    name, smaller, unpacked = package.path.name, "leave out what the function doesn't need", package.unpacked_bytes
    if unpacked > MOST_BYTES:
        found = f"{name} has {unpacked / 2**20:,.0f} MB unpacked, and Lambda takes {MOST_BYTES // 2**20}"
        yield Finding("package", PROBLEM, found, smaller)
    elif unpacked > MOST_ZIPPED_BYTES and (zipped := package.zipped_bytes()) > MOST_ZIPPED_BYTES:
        found = f"{name} has {zipped / 2**20:,.1f} MB as a zip, and an upload to Lambda takes 50"
        yield Finding("package", PROBLEM, found, f"{smaller}, or put it into layers (--set layers)")


def _missing_handler(package: Package, handler: str) -> str:
    """What a package lacks of its handler, in words; empty where it is there."""
    module, _, function = handler.rpartition(".")
    stem = module.replace(".", "/")
    files = [name for name in (f"{stem}.py", f"{stem}/__init__.py") if name in package.files]
    if not files:
        # A module may be compiled too, to bytecode or to a library.
        compiled = any(re.fullmatch(rf"{re.escape(stem)}(\.pyc|\..*\.?so)", name) for name in package.files)
        return "" if compiled else f"has no {stem}.py, the module of handler {handler}"
    pattern = rf"(?<!\w){re.escape(function)}(?!\w)|import\s+\*"
    named = re.search(pattern, package.read(files[0]).decode(errors="replace"))
    return "" if named else f"has no {function} in {files[0]}, the function of handler {handler}"


def _policy(name: str) -> Finding:
    """Whether it is a policy document whose statements name their actions, and never all."""
    path, fix = INFRA / name, "correct --set policy_file"
    try:
        statements = _listed(user_json.value_of(path.read_text(encoding="utf-8"))["Statement"])
        parts = [(part["Effect"], set(map(str, _listed(part["Action"]))), part["Resource"]) for part in statements]
    except (OSError, ValueError) as error:
        return Finding("policy_file", PROBLEM, f"{path} can't be read as JSON ({error})", fix)
    except (LookupError, TypeError):
        parts = []
    valid = (effect in ("Allow", "Deny") and all(map(ACTION.fullmatch, actions)) for effect, actions, _ in parts)
    if not parts or not all(valid):
        needed = "each statement needs Effect (Allow or Deny), Action (service:action) and Resource"
        return Finding("policy_file", PROBLEM, f"{path.name} isn't a policy document: {needed}", fix)
    if any(effect == "Allow" and actions.intersection(ALL_ACTIONS) for effect, actions, _ in parts):
        fix = "name the actions that the function needs"
        return Finding("policy_file", PROBLEM, f"{path.name} allows every action", fix)
    return Finding("policy_file", OK, f"{path.name} has {counted(len(parts), 'statement')}")


def _listed(part: Any) -> list[Any]:
    """A part of a policy, which may stand without the list."""
    return part if isinstance(part, list) else [part]
