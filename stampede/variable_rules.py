"""What infra/ says a variable must be: rules.json, and rules_<experiment>.json for the variables of one experiment; and
what null means: defaults.json.

Terraform's validations read the same files, so a bound, a choice or a pattern stands there alone. Conditions that need
Terraform's functions or other variables are in the validations; the numbers that they need are in the files, too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from stampede.checkout import INFRA


@dataclass(frozen=True)
class Rule:
    """The rule of one variable, in words ("must be ...") and, where correcting the value isn't all, with a `fix`.

    A number must be whole, from `least` to `most`; a text one of `choices`, or all of it must match `matches`, no part
    of it `never`, within `longest` characters. RE2's syntax, which Terraform takes, is Python's as far as it is used
    here, with classes of ASCII. `null_means` are values that only null stands for, `shared` is what rules about this
    and another variable compare with, and `attributes` are the rules of an object's.
    """

    rule: str = ""
    fix: str = ""
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[Any, ...] = ()
    null_means: tuple[Any, ...] = ()
    matches: str = ""
    never: str = ""
    longest: float = math.inf
    shared: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Rule] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Rule:
        """The rule as a file has it: objects are attributes, and other keys that no field has are shared."""
        names = {field.name for field in fields(cls)}
        own, shared, attributes = {}, {}, {}
        for name, value in row.items():
            if name in names:
                own[name] = tuple(value) if isinstance(value, list) else value
            elif isinstance(value, dict):
                attributes[name] = cls.of(value)
            else:
                shared[name] = value
        return cls(**own, shared=shared, attributes=attributes)

    def allows(self, value: Any) -> bool:
        """Whether `value` keeps the rule. A value of another kind does: Terraform converts it, or refuses it itself."""
        if self.choices:
            return value in (*self.choices, *self.null_means)
        if isinstance(value, str):
            matches = not self.matches or re.fullmatch(self.matches, value, re.ASCII)
            never = self.never and re.search(self.never, value, re.ASCII)
            return bool(matches) and not never and len(value) <= self.longest
        if isinstance(value, int | float):
            return self.least <= value <= self.most and value % 1 == 0
        return True

    def breaks(self, value: Any) -> list[Any]:
        """What of `value` breaks the rule, which is that of a map's names and of a list's elements: [] where nothing
        does."""
        parts = list(value) if isinstance(value, dict | list) else [value]
        return [part for part in parts if not self.allows(part)]


def _read() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for path in sorted(INFRA.glob("rules*.json")):
        rules |= {name: Rule.of(row) for name, row in json.loads(path.read_text(encoding="utf-8")).items()}
    return rules


RULES: Mapping[str, Rule] = _read()

# What null means for a variable, by experiment.
DEFAULTS: Mapping[str, Mapping[str, Any]] = json.loads((INFRA / "defaults.json").read_text(encoding="utf-8"))
