"""The rules of infra/'s variables: rules.json, and rules_<experiment>.json for the variables of one
experiment; and the meanings of null: defaults.json.

Terraform's validations read the same files, so each bound, choice and pattern stands in one place.
The validations hold the conditions that need Terraform's functions or other variables; their
numbers are in the files, too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from stampede.checkout import INFRA

# Python's types for Terraform's.
KINDS = {
    "string": str,
    "number": (int, float),
    "bool": bool,
    "object": dict,
    "map": dict,
    "list": list,
}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The type and default of a variable, its `rule` in words ("must be ...") and a `fix`, if
    correcting the value isn't enough. A variable with a default takes no null. It belongs to all
    experiments unless `experiment` names one.

    A number must be whole, from `least` to `most`. A text must be one of `choices`, or match
    `matches` as a whole, with no part that matches `never`, within `longest` characters; so must
    the names of a map and the elements of a list. The patterns mean the same in RE2, which
    Terraform uses, and in Python with ASCII classes. `null_means` are values that only null stands
    for, `shared` has the numbers of rules about this and another variable, and `attributes` are the
    rules of an object's attributes.
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
        """`value` as Terraform converts it: `"5"` and 1.0 to whole numbers, null to the default."""
        if value is None:
            return self.default
        if self.type == "bool" and isinstance(value, str):
            return {"true": True, "false": False}.get(value, value)
        if self.type == "number" and isinstance(value, str) and value.isdecimal():
            return int(value)
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def allows(self, value: Any) -> bool:
        """Whether the variable takes `value`, typed; None is the default."""
        return not self.refusal(value)

    def refusal(self, value: Any) -> str:
        """Why the variable doesn't take `value`, typed; empty if it does."""
        return "" if value is None else self._refusal(value)

    def _refusal(self, value: Any) -> str:
        is_bool = self.type == "bool"
        is_kind = isinstance(value, KINDS[self.type]) and isinstance(value, bool) == is_bool
        if not is_kind or (self.attributes and value.keys() != self.attributes.keys()):
            return f"{self.rule}, got {value!r}"
        if self.attributes:
            refusals = [rule._refusal(value[name]) for name, rule in self.attributes.items()]
            return next(filter(None, refusals), "")
        parts = value if self.type in ("map", "list") else [value]
        wrong = [part for part in parts if not self._takes(part)]
        return f"{self.rule}, got {wrong[0]!r}" if wrong else ""

    def _takes(self, part: Any) -> bool:
        """Whether it takes a value, a map's name or a list's element."""
        if self.choices:
            return part in (*self.choices, *self.null_means)
        if self.type in ("number", "bool"):
            return self.type == "bool" or (self.least <= part <= self.most and part % 1 == 0)
        if not isinstance(part, str) or len(part) > self.longest:
            return False
        matches = not self.matches or re.fullmatch(self.matches, part, re.ASCII)
        return bool(matches and not (self.never and re.search(self.never, part, re.ASCII)))


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

# The value that null means for a variable, by experiment.
DEFAULTS: Mapping[str, Mapping[str, Any]] = json.loads(
    (INFRA / "defaults.json").read_text(encoding="utf-8")
)
