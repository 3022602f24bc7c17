"""Checks of the user's package and policy, before anything is applied: what Lambda would refuse only when it is
deployed or run, and what a run on this machine can't do."""

from __future__ import annotations

import json
import platform
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.function.package import Package
from experiments.function.values import FunctionValues
from stampede.checkout import INFRA
from stampede.experiment import go_program
from stampede.experiment.go_program import of_this_machine
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.variable_rules import RULES

# Of a package with its layers, unpacked (Lambda quotas).
MOST_BYTES = 250 * 2**20
PROVIDED = "provided.al2023"
Cells = Sequence[FunctionValues]


def checks(cells: Cells) -> list[Finding]:
    """All of them, for the variables of a plan's cells."""
    findings = [finding for cell in _different(cells) for finding in _package(cell)]
    findings += [_policy(path) for path in dict.fromkeys(cell["policy_file"] for cell in cells) if path is not None]
    findings += [finding for cell in cells[:1] for finding in _environment(cell["environment"])]
    if programs := {cell["architecture"] for cell in cells if cell["runtime"] == PROVIDED}:
        findings.append(go_program.check(programs))
    return findings or [Finding("package", OK, ", ".join(sorted({_path(cell).name for cell in cells})))]


def local_checks(cells: Cells) -> list[Finding]:
    """What the embedded AWS can't run: it starts a package with the Python of this machine, on its processor."""
    here, findings = f"{sys.version_info.major}.{sys.version_info.minor}", []
    for path in dict.fromkeys(_path(cell) for cell in cells):
        package, tag = Package.at(path), f"cpython-{here.replace('.', '')}"
        for name in package.compiled:
            machine, built = package.machine(name), re.search(r"\.(cpython-\d+)", name)
            if machine and machine != of_this_machine():
                found = f"{path.name}: {name} is built for {machine}, and this machine is {platform.machine()}"
                return [Finding("package", PROBLEM, found, "use a package for this machine, or --target aws")]
            if built and built[1] != tag:
                found = f"{path.name}: {name} is built for {built[1]}, and functions run on Python {here} here"
                return [Finding("package", PROBLEM, found, f"use a package for {tag}, or --target aws")]
    for runtime in dict.fromkeys(cell["runtime"] for cell in cells):
        if runtime not in (PROVIDED, f"python{here}"):
            findings.append(Finding("runtime", WARNING, f"functions run on Python {here} here, and not on {runtime}"))
    if any(cell["layers"] for cell in cells):
        findings.append(Finding("layers", WARNING, "the embedded AWS has no layers of AWS accounts: they are left out"))
    return findings


def _different(cells: Cells) -> list[FunctionValues]:
    """A cell for each package with what it has to fit."""
    names = ("package", "handler", "runtime", "architecture")
    return list({tuple(str(cell[name]) for name in names): cell for cell in cells}.values())


def _path(cell: FunctionValues) -> Path:
    return INFRA / str(cell["package"])


def _package(cell: FunctionValues) -> Iterator[Finding]:
    """What is wrong with a package."""
    path, architecture = _path(cell), cell["architecture"]
    try:
        package = Package.at(path)
    except (OSError, zipfile.BadZipFile) as error:
        yield Finding(
            "package", PROBLEM, f"{path} is neither a folder nor a zip file ({error})", "correct --set package"
        )
        return
    if (size := sum(package.sizes.values())) > MOST_BYTES:
        found = f"{path.name} has {size / 2**20:,.0f} MB unpacked, and Lambda takes {MOST_BYTES // 2**20}"
        yield Finding("package", PROBLEM, found, "leave out what the function doesn't need")
    for name in package.compiled:
        if (machine := package.machine(name)) and machine != architecture:
            found = f"{path.name}: {name} is built for {machine}, and architecture is {architecture}"
            yield Finding(
                "package", PROBLEM, found, f"use --set architecture={machine}, or build it for {architecture}"
            )
            break
    if cell["runtime"] == PROVIDED:
        if not package.is_executable("bootstrap"):
            found = f"{path.name} has no executable file bootstrap, which {PROVIDED} starts"
            yield Finding("package", PROBLEM, found, "add it, or correct --set runtime")
    elif missing := _missing_handler(package, str(cell["handler"])):
        yield Finding("handler", PROBLEM, f"{path.name} {missing}", "correct --set handler=module.function")


def _missing_handler(package: Package, handler: str) -> str:
    """What a package lacks of its handler, in words; empty where it is there."""
    module, _, function = handler.rpartition(".")
    stem = module.replace(".", "/")
    files = [name for name in (f"{stem}.py", f"{stem}/__init__.py") if name in package.sizes]
    if not files:
        # A module may be compiled too, to bytecode or to a library.
        compiled = any(re.fullmatch(rf"{re.escape(stem)}(\.pyc|\..*\.?so)", name) for name in package.sizes)
        return "" if compiled else f"has no {stem}.py, the module of handler {handler}"
    source = package.read(files[0]).decode(errors="replace")
    if re.search(rf"\b{re.escape(function)}\b", source) or re.search(r"import\s+\*", source):
        return ""
    return f"has no {function} in {files[0]}, the function of handler {handler}"


def _policy(name: str) -> Finding:
    """Whether it is a policy document whose statements name their actions."""
    path, fix = INFRA / name, "correct --set policy_file"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return Finding("policy_file", PROBLEM, f"{path} can't be read as JSON ({error})", fix)
    statements = document.get("Statement") if isinstance(document, dict) else None
    statements = [statements] if isinstance(statements, dict) else statements
    if not isinstance(statements, list) or not statements:
        return Finding("policy_file", PROBLEM, f"{path.name} has no Statement: it isn't a policy document", fix)
    for statement in statements:
        needed = {"Effect": str, "Action": (str, list), "Resource": (str, list)}
        for key, kind in needed.items():
            if not isinstance(statement, dict) or not isinstance(statement.get(key), kind):
                return Finding("policy_file", PROBLEM, f"a statement of {path.name} has no {key}", fix)
        actions = [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
        if statement["Effect"] == "Allow" and {"*", "*:*"}.intersection(actions):
            fix = "name the actions that the function needs"
            return Finding("policy_file", PROBLEM, f"{path.name} allows every action", fix)
    return Finding("policy_file", OK, f"{path.name} has {len(statements)} statements")


def _environment(variables: Any) -> Iterator[Finding]:
    """The names of the function's environment variables."""
    rule = RULES["environment"]
    for name in variables if isinstance(variables, dict) else ():
        if not re.search(rule.shared["names"], name) or re.search(rule.shared["reserved"], name):
            yield Finding("environment", PROBLEM, f"{rule.rule}, got {name}", "rename the variable")
