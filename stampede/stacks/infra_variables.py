"""The variables that infra/ declares, and what this machine sets them to besides `--set`, as Terraform finds it.

Terraform's order, the last one wins: the default, TF_VAR_*, terraform.tfvars, terraform.tfvars.json, then *.auto.tfvars
and *.auto.tfvars.json in the order of their names; `-var`, which is `--set`, comes after all of them
(https://developer.hashicorp.com/terraform/language/values/variables, "Variable Definition Precedence").
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stampede.checkout import INFRA
from stampede.errors import UsageError, one_line
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError


@dataclass(frozen=True)
class Variable:
    """A variable block: its type as it is written, its default (None without one), and whether it may be null; of its
    validation what can be known without Terraform: the least and the most of a number (None where there is none), the
    values that are allowed (empty where others are too), and for a text each expression that has to match (or not,
    where False), with the rule in words. `experiment` is the one whose file declares it, empty for all."""

    type: str
    default: Any
    nullable: bool
    least: float | None = None
    most: float | None = None
    patterns: tuple[tuple[str, bool, str], ...] = ()
    allowed: tuple[Any, ...] = ()
    experiment: str = ""

    def broken_rule(self, value: Any) -> str | None:
        """What `value` must be and isn't, as "must be 1 to 900"; None where nothing is known against it."""
        if value is None:
            return None
        if self.type == "bool" and value not in (True, False, "true", "false"):
            return "must be true or false"
        if isinstance(value, str):
            return next((words for text, match, words in self.patterns if bool(re.search(text, value)) != match), None)
        if self.type != "number":
            return None
        is_small = self.least is not None and value < self.least
        if not is_small and (self.most is None or value <= self.most):
            return None
        return f"must be {self.least or 0:,.0f} " + ("or more" if self.most is None else f"to {self.most:,.0f}")

    def from_environment(self, text: str) -> Any:
        """The value of a TF_VAR_: Terraform takes it as it stands for a string, else as an expression."""
        if self.type == "string":
            return text
        if self.type not in ("number", "bool"):
            return hcl.value(text)
        try:
            return json.loads(text)
        except ValueError:
            return text


def declared(folder: Path = INFRA) -> Mapping[str, Variable]:
    """{name: variable} of every *.tf file of `folder`; read once. Raises UsageError for a file that can't be read."""
    return _declared(folder)


@functools.cache  # by the folder, whether it was named or not: reading takes half a second
def _declared(folder: Path) -> Mapping[str, Variable]:
    found: dict[str, Variable] = {}
    for path in sorted(folder.glob("*.tf")):
        text = _text(path)
        if "variable" not in text:
            continue  # nothing to find, and a parse takes milliseconds that add up
        with _naming(path):
            for block in hcl.read(text).get("variable", []):
                found |= {name.strip('"'): _variable(name.strip('"'), body, path) for name, body in block.items()}
    return found


def refuse_other_owner(name: str, experiment: str) -> None:
    """Raise UsageError for a variable `name` that another experiment has alone; `a_b` shares those of `a`, and one
    without a file of variables in infra/ takes them all."""
    owners = {variable: found.experiment for variable, found in declared().items()}
    owner = owners.get(name, "")
    if experiment in owners.values() and owner not in ("", experiment, experiment.partition("_")[0]):
        raise UsageError(f"--set {name}: is a variable of {owner}; {experiment} doesn't use it")


def infra_defaults(environ: Mapping[str, str], folder: Path = INFRA) -> dict[str, Any]:
    """{variable: value} that Terraform uses in `folder` where no -var is given. Raises UsageError."""
    variables = declared(folder)
    values = {name: variable.default for name, variable in variables.items()}
    for given in (_from_environment(environ, variables), *(_from_file(path, variables) for path in _files(folder))):
        # A null for a variable that may not be null stands for its default.
        values |= {
            name: variables[name].default if value is None and not variables[name].nullable else value
            for name, value in given.items()
        }
    return values


def _from_environment(environ: Mapping[str, str], variables: Mapping[str, Variable]) -> dict[str, Any]:
    given = {}
    for name, variable in variables.items():
        if (text := environ.get(f"TF_VAR_{name}")) is not None:
            try:
                given[name] = variable.from_environment(text)
            except HclError as error:
                raise UsageError(f"TF_VAR_{name}: {text!r} isn't a valid value: {error}") from None
    return given


def _files(folder: Path) -> list[Path]:
    automatic = [path for path in folder.glob("*.auto.tfvars*") if path.name.endswith((".tfvars", ".tfvars.json"))]
    first = (folder / name for name in ("terraform.tfvars", "terraform.tfvars.json"))
    return [path for path in (*first, *sorted(automatic)) if path.is_file()]


def _from_file(path: Path, variables: Mapping[str, Variable]) -> dict[str, Any]:
    """What a *.tfvars file sets; of a value for a variable that there isn't Terraform only warns."""
    text = _text(path)
    with _naming(path):
        if not path.name.endswith(".json"):
            parsed = hcl.read(text)
            return {name: _plain(name, parsed[name]) for name in parsed if name in variables}
        try:
            parsed = json.loads(text)
        except json.JSONDecodeError as error:
            raise HclError(f"it isn't JSON: {error.msg}", error.lineno) from None
        if not isinstance(parsed, dict):
            raise HclError("it must be one JSON object of variables and their values", 1)
        return {name: parsed[name] for name in parsed if name in variables}


def _variable(name: str, body: Mapping[str, Any], path: Path) -> Variable:
    written = str(body.get("type", "string")).removeprefix("${").removesuffix("}")
    rules = body.get("validation", [])
    conditions = " ".join(str(rule.get("condition", "")) for rule in rules)
    least, most = (_bound(name, side, conditions) if written == "number" else None for side in (">=", "<="))
    patterns = tuple(found for rule in rules for found in _patterns(name, rule))
    listed = re.search(rf"(?<!!)contains\((\[[^]]*\]), var\.{name}\)", conditions)
    allowed = tuple(json.loads(listed[1])) if listed else ()
    default, nullable = hcl.plain(body.get("default")), hcl.plain(body.get("nullable", True))
    experiment = path.stem.partition("variables_")[2]
    return Variable(written, default, nullable, least, most, patterns, allowed, experiment)


def _patterns(name: str, rule: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """The expressions that one validation has for the variable, none where another variable decides whether it holds.

    RE2's syntax is Python's as far as infra/ uses it; a test compares both."""
    condition = str(rule.get("condition", ""))
    words = str(rule.get("error_message", "")).strip('"').partition("}: ")[2].rstrip(".")
    if "||" not in condition:
        for no, text in re.findall(rf'(!?)can\(regex\("((?:[^"\\]|\\.)*)", var\.{name}\)\)', condition):
            yield text.replace("\\\\", "\\"), not no, words


def _bound(name: str, side: str, rules: str) -> float | None:
    """The number that the rules of a variable compare it with by itself; None where there is none, or arithmetic."""
    found = re.search(rf"var\.{name} {side} (\d+)(?! *[*+/-])\b", rules)
    return float(found[1]) if found else None


def _plain(name: str, parsed: Any) -> Any:
    try:
        return hcl.plain(parsed)
    except HclError as error:
        raise HclError(f"{name}: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{_short(path)} can't be read ({one_line(error)}); correct it or remove it") from None


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let what can't be read be refused with the file and, where it is known, the line."""
    try:
        yield
    except HclError as error:
        line = f", line {error.line}" if error.line else ""
        raise UsageError(f"{_short(path)}{line}: {error}; `terraform validate` has details") from None


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
