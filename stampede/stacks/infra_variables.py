"""The values of infra/'s variables on this machine apart from `--set`, and their experiments.

Terraform's order of precedence, in which the last wins: the default, TF_VAR_*, terraform.tfvars,
terraform.tfvars.json, then *.auto.tfvars and *.auto.tfvars.json in the order of their names;
`-var`, which is `--set`, comes after all of them
(https://developer.hashicorp.com/terraform/language/values/variables, "Variable Definition
Precedence").
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stampede import user_json
from stampede.checkout import INFRA
from stampede.errors import UsageError, one_line
from stampede.stacks import hcl
from stampede.variable_rules import RULES, Rule


def family(experiment: str) -> tuple[str, str]:
    """`experiment`, and the one whose variables and queries it shares: `a_b` shares those of `a`
    (infra/queries.tf)."""
    return experiment, experiment.partition("_")[0]


def takes(name: str, experiment: str) -> bool:
    """Whether an experiment has the variable `name`. An experiment without variables of its own in
    infra/ has all of them."""
    has_own = any(rule.experiment == experiment for rule in RULES.values())
    return not has_own or name not in RULES or RULES[name].experiment in ("", *family(experiment))


def infra_defaults(
    environ: Mapping[str, str], folder: Path = INFRA, variables: Mapping[str, Rule] = RULES
) -> dict[str, Any]:
    """{variable: value} that Terraform uses in `folder` without -var. Raises UsageError."""
    values = {name: rule.default for name, rule in variables.items()}
    for name, rule in variables.items():
        if (text := environ.get(f"TF_VAR_{name}")) is not None:
            # Terraform takes a string's value literally, any other as an expression.
            with _naming(f"TF_VAR_{name}"):
                values[name] = rule.typed(text if rule.type == "string" else hcl.value(text))
    for path in _files(folder):
        with _naming(f"{path.parent.name}/{path.name}"):
            values |= {
                name: variables[name].typed(value) for name, value in _read(path, variables).items()
            }
    return values


def _files(folder: Path) -> list[Path]:
    automatic = [
        path
        for path in folder.glob("*.auto.tfvars*")
        if path.name.endswith((".tfvars", ".tfvars.json"))
    ]
    first = (folder / name for name in ("terraform.tfvars", "terraform.tfvars.json"))
    return [path for path in (*first, *sorted(automatic)) if path.is_file()]


def _read(path: Path, variables: Mapping[str, Rule]) -> dict[str, Any]:
    """The values in a *.tfvars file; an unknown variable is ignored, as Terraform only warns of it.
    Raises OSError, ValueError."""
    text = path.read_text(encoding="utf-8")
    if not path.name.endswith(".json"):
        return {
            name: hcl.plain(value) for name, value in hcl.read(text).items() if name in variables
        }
    values = user_json.value_of(text)
    if not isinstance(values, dict):
        raise ValueError("it must be one JSON object of variables and their values")
    return {name: value for name, value in values.items() if name in variables}


@contextlib.contextmanager
def _naming(source: str) -> Iterator[None]:
    """Turn errors of reading into a UsageError that names the source."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{source}: {one_line(error)}", "correct it: `terraform validate` has details"
        ) from None
