"""What this machine sets the variables of infra/ to besides `--set`, as Terraform finds it, and whose they are.

Terraform's order, the last one wins: the default, TF_VAR_*, terraform.tfvars, terraform.tfvars.json, then *.auto.tfvars
and *.auto.tfvars.json in the order of their names; `-var`, which is `--set`, comes after all of them
(https://developer.hashicorp.com/terraform/language/values/variables, "Variable Definition Precedence").
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stampede import user_json
from stampede.checkout import INFRA
from stampede.errors import UsageError, one_line
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError
from stampede.variable_rules import RULES, Rule


def declared() -> Mapping[str, Rule]:
    """{name: rule} of every variable of infra/."""
    return RULES


def family(experiment: str) -> tuple[str, str]:
    """`experiment`, and the one whose variables and queries it has, too: `a_b` has those of `a` (infra/queries.tf)."""
    return experiment, experiment.partition("_")[0]


def takes(name: str, experiment: str) -> bool:
    """Whether an experiment has the variable `name`. One without variables of its own in infra/ has them all."""
    variables = declared()
    has_own = any(variable.experiment == experiment for variable in variables.values())
    return not has_own or name not in variables or variables[name].experiment in ("", *family(experiment))


def infra_defaults(
    environ: Mapping[str, str], folder: Path = INFRA, variables: Mapping[str, Rule] = RULES
) -> dict[str, Any]:
    """{variable: value} that Terraform uses in `folder` where no -var is given. Raises UsageError."""
    values = {name: variable.default for name, variable in variables.items()}
    for source in (_from_environment(environ, variables), *(_from_file(path, variables) for path in _files(folder))):
        values |= {name: variables[name].typed(value) for name, value in source.items()}
    return values


def _from_environment(environ: Mapping[str, str], variables: Mapping[str, Rule]) -> dict[str, Any]:
    values = {}
    for name, variable in variables.items():
        if (text := environ.get(f"TF_VAR_{name}")) is not None:
            try:
                values[name] = _value(variable, text)
            except HclError as error:
                raise UsageError(f"TF_VAR_{name}: {text!r} isn't a valid value: {error}") from None
    return values


def _value(variable: Rule, text: str) -> Any:
    """The value of a TF_VAR_: Terraform takes it as it stands for a string, else as an expression."""
    if variable.type == "string":
        return text
    if variable.type not in ("number", "bool"):
        return hcl.value(text)
    try:
        return user_json.value_of(text)
    except ValueError:
        return text


def _files(folder: Path) -> list[Path]:
    automatic = [path for path in folder.glob("*.auto.tfvars*") if path.name.endswith((".tfvars", ".tfvars.json"))]
    first = (folder / name for name in ("terraform.tfvars", "terraform.tfvars.json"))
    return [path for path in (*first, *sorted(automatic)) if path.is_file()]


def _from_file(path: Path, variables: Mapping[str, Rule]) -> dict[str, Any]:
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
