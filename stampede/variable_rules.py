"""What a variable of infra/ is: rules.json, and rules_<experiment>.json for those of one
experiment; and what null means: defaults.json.

Terraform's validations read the same files, so a bound, a choice or a pattern stands there alone.
Conditions that need Terraform's functions or other variables are in the validations; the numbers
that they need are in the files, too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from stampede.checkout import INFRA

# What Python has for Terraform's types.
KINDS = {
    "string": str,
    "number": (int, float),
    "bool": bool,
    "object": dict,
    "map": dict,
    "list": list,
}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The type and default of one variable and its rule, in words ("must be ...") and, where
    correcting the value isn't all, with a `fix`. One with a default takes no null, and is of one
    `experiment` alone unless that is empty.

    A number must be whole, from `least` to `most`; a text one of `choices`, or all of it must match
    `matches`, no part of it `never`, within `longest` characters; so must a map's names and a
    list's elements. RE2's syntax, which Terraform takes, is Python's as far as it is used here,
    with classes of ASCII. `null_means` are values that only null stands for, `shared` is what rules
    about this and another variable compare with, and `attributes` are the rules of an object's.
    """

    type: Literal["string", "number", "bool", "object", "map", "list"] = "string"
    default: Any = None
    rule: str = ""
    fix: str = ""
    least: int | float = -math.inf
    most: int | float = math.inf
    choices: tuple[Any, ...] = ()
    null_means: tuple[Any, ...] = ()
    matches: str = ""
    never: str = ""
    longest: int | float = math.inf
    shared: Mapping[str, Any] = {}
    attributes: Mapping[str, Rule] = {}
    experiment: str = ""

    def typed(self, value: Any) -> Any:
        """`value` as Terraform converts it: `"5"` to a number, 1.0 to a whole one, null to the
        default."""
        if value is None:
            return self.default
        if self.type == "bool":
            return (
                {"true": True, "false": False}.get(value, value)
                if isinstance(value, str)
                else value
            )
        if self.type == "number" and isinstance(value, str) and value.isdecimal():
            return int(value)
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def allows(self, value: Any) -> bool:
        """Whether `value`, typed, is one of the variable's; None is the default."""
        return not self.refusal(value)

    def refusal(self, value: Any) -> str:
        """Why `value`, typed, isn't one of the variable's, in words; empty where it is."""
        return "" if value is None else self._refusal(value)

    def _refusal(self, value: Any) -> str:
        is_of_kind = isinstance(value, KINDS[self.type]) and isinstance(value, bool) == (
            self.type == "bool"
        )
        if not is_of_kind or (self.attributes and value.keys() != self.attributes.keys()):
            return f"{self.rule}, got {value!r}"
        if self.attributes:
            return next(
                filter(
                    None, (rule._refusal(value[name]) for name, rule in self.attributes.items())
                ),
                "",
            )
        wrong = [
            part
            for part in (value if self.type in ("map", "list") else [value])
            if not self._takes(part)
        ]
        return f"{self.rule}, got {wrong[0]!r}" if wrong else ""

    def _takes(self, part: Any) -> bool:
        """Whether it takes a value, a name of a map's or an element of a list's."""
        if self.choices:
            return part in (*self.choices, *self.null_means)
        if self.type in ("number", "bool"):
            return self.type == "bool" or (self.least <= part <= self.most and part % 1 == 0)
        if not isinstance(part, str) or (
            self.matches and not re.fullmatch(self.matches, part, re.ASCII)
        ):
            return False
        return len(part) <= self.longest and not (
            self.never and re.search(self.never, part, re.ASCII)
        )


def _read() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for path in sorted(INFRA.glob("rules*.json")):
        owner = path.stem.partition("_")[2]
        rows = msgspec.json.decode(path.read_bytes(), type=dict[str, Rule])
        rules |= {
            name: msgspec.structs.replace(rule, experiment=owner) for name, rule in rows.items()
        }
    return rules


RULES: Mapping[str, Rule] = _read()

# What null means for a variable, by experiment.
DEFAULTS: Mapping[str, Mapping[str, Any]] = json.loads(
    (INFRA / "defaults.json").read_text(encoding="utf-8")
)
