"""The variables that infra/ declares, and what this machine sets them to besides `--set`, as Terraform finds it.

Terraform's order, the last one wins: the default, TF_VAR_*, terraform.tfvars, terraform.tfvars.json, then *.auto.tfvars
and *.auto.tfvars.json in the order of their names; `-var`, which is `--set`, comes after all of them
(https://developer.hashicorp.com/terraform/language/values/variables, "Variable Definition Precedence").
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stampede import user_json
from stampede.checkout import INFRA
from stampede.errors import UsageError, one_line
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError


@dataclass(frozen=True)
class Variable:
    """A variable block: its type as it is written, its default (None without one), whether it may be null, and the
    experiment whose file declares it, empty for all. What a value must be is in `stampede.variable_rules`."""

    type: str
    default: Any
    nullable: bool
    experiment: str = ""

    def from_environment(self, text: str) -> Any:
        """The value of a TF_VAR_: Terraform takes it as it stands for a string, else as an expression."""
        if self.type == "string":
            return text
        if self.type not in ("number", "bool"):
            return hcl.value(text)
        try:
            return user_json.value_of(text)
        except ValueError:
            return text


def declared(folder: Path = INFRA) -> Mapping[str, Variable]:
    """{name: variable} of every *.tf file of `folder`; read once. Raises UsageError for a file that can't be read."""
    return _declared(folder)


@functools.cache  # by the folder, whether it was named or not: reading takes half a second
def _declared(folder: Path) -> Mapping[str, Variable]:
    variables: dict[str, Variable] = {}
    for path in sorted(folder.glob("*.tf")):
        text = _text(path)
        if "variable" not in text:
            continue  # nothing to find, and a parse takes milliseconds that add up
        with _naming(path):
            for block in hcl.read(text).get("variable", []):
                for name, body in block.items():
                    variables[name.strip('"')] = Variable(
                        type=str(body.get("type", "string")).removeprefix("${").removesuffix("}"),
                        default=hcl.plain(body.get("default")),
                        nullable=hcl.plain(body.get("nullable", True)),
                        experiment=path.stem.partition("variables_")[2],
                    )
    return variables


def family(experiment: str) -> tuple[str, str]:
    """`experiment`, and the one whose variables and queries it has, too: `a_b` has those of `a` (infra/queries.tf)."""
    return experiment, experiment.partition("_")[0]


def refuse_other_owner(name: str, experiment: str) -> None:
    """Raise UsageError for a variable `name` that another experiment has alone."""
    if not takes(name, experiment):
        raise UsageError(f"--set {name}: is a variable of {declared()[name].experiment}; {experiment} doesn't use it")


def takes(name: str, experiment: str) -> bool:
    """Whether an experiment has the variable `name`. One without a file of variables in infra/ has them all."""
    variables = declared()
    owner = variables[name].experiment if name in variables else ""
    has_a_file = any(variable.experiment == experiment for variable in variables.values())
    return not has_a_file or owner in ("", *family(experiment))


def infra_defaults(environ: Mapping[str, str], folder: Path = INFRA) -> dict[str, Any]:
    """{variable: value} that Terraform uses in `folder` where no -var is given. Raises UsageError."""
    variables = declared(folder)
    values = {name: variable.default for name, variable in variables.items()}
    for source in (_from_environment(environ, variables), *(_from_file(path, variables) for path in _files(folder))):
        # A null for a variable that may not be null stands for its default.
        values |= {
            name: variables[name].default if value is None and not variables[name].nullable else value
            for name, value in source.items()
        }
    return values


def _from_environment(environ: Mapping[str, str], variables: Mapping[str, Variable]) -> dict[str, Any]:
    values = {}
    for name, variable in variables.items():
        if (text := environ.get(f"TF_VAR_{name}")) is not None:
            try:
                values[name] = variable.from_environment(text)
            except HclError as error:
                raise UsageError(f"TF_VAR_{name}: {text!r} isn't a valid value: {error}") from None
    return values


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
            parsed = user_json.value_of(text)
        except json.JSONDecodeError as error:
            raise HclError(f"it isn't JSON: {error.msg}", error.lineno) from None
        except ValueError as error:
            raise HclError(str(error)) from None
        if not isinstance(parsed, dict):
            raise HclError("it must be one JSON object of variables and their values", 1)
        return {name: parsed[name] for name in parsed if name in variables}


def _plain(name: str, parsed: Any) -> Any:
    try:
        return hcl.plain(parsed)
    except HclError as error:
        raise HclError(f"{name}: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{_short(path)} can't be read ({one_line(error)})", "correct it or remove it") from None


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let what can't be read be refused with the file and, where it is known, the line."""
    try:
        yield
    except HclError as error:
        line = f", line {error.line}" if error.line else ""
        raise UsageError(f"{_short(path)}{line}: {error}", "`terraform validate` has details") from None


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
