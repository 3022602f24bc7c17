"""Reads the variables that Terraform sets on the function, and checks them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common.failures import Failure

# The limits of Lambda.
SMALLEST_MEMORY_MB, LARGEST_MEMORY_MB = 128, 10_240


class SettingsError(Failure):
    """The environment is incomplete or wrong. The message is one line with variable and rule."""


@dataclass(frozen=True)
class Labels:
    """What every record says of its function; the base of an experiment's settings.

    `concurrency_limit` counts functions, `memory_size` is in MB.
    """

    concurrency_limit: int
    memory_size: int
    experiment_tag: str
    method: str


def read_labels(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of Labels without the method; raises SettingsError."""
    return {
        "concurrency_limit": whole_number(environ, "CONCURRENCY_LIMIT", 1, 1_000_000),
        "memory_size": whole_number(environ, "MEMORY_SIZE", SMALLEST_MEMORY_MB, LARGEST_MEMORY_MB),
        "experiment_tag": _tag(environ),
    }


def read_region(environ: Mapping[str, str]) -> str:
    """Return the region; Lambda sets both variables, other places often only AWS_DEFAULT_REGION."""
    return text(environ, "AWS_REGION" if environ.get("AWS_REGION") else "AWS_DEFAULT_REGION")


def text(environ: Mapping[str, str], name: str) -> str:
    """Return a variable that must not be empty; raises SettingsError."""
    value = environ.get(name, "")
    if not value:
        raise SettingsError(
            f"the environment variable {name} is missing or empty: set it on the function"
        )
    return value


def whole_number(
    environ: Mapping[str, str], name: str, smallest: int, largest: int, default: str = ""
) -> int:
    """Return a whole number from `smallest` to `largest`; `default` if it is missing or empty."""
    value = environ.get(name, "") or default or text(environ, name)
    if not re.fullmatch(r"[0-9]{1,9}", value) or not smallest <= int(value) <= largest:
        raise SettingsError(
            f"the environment variable {name} must be a whole number from {smallest} to {largest}, "
            f"not {value[:60]!a}"
        )
    return int(value)


def flag(environ: Mapping[str, str], name: str) -> bool:
    """Return a variable that is true or false; false if it is missing or empty."""
    return choice(environ, name, ("false", "true")) == "true"


def choice(
    environ: Mapping[str, str], name: str, choices: tuple[str, ...], condition: str = ""
) -> str:
    """Return one of `choices`; the first if the variable is missing or empty.

    `condition` is part of the error's message.
    """
    value = environ.get(name, "") or choices[0]
    if value not in choices:
        raise SettingsError(
            f"the environment variable {name} must be {' or '.join(choices)}{condition}, not "
            f"{value[:60]!a}"
        )
    return value


def _tag(environ: Mapping[str, str]) -> str:
    """Return the tag. A quote or backslash would break `"..."` of the published expression."""
    value = text(environ, "EXPERIMENT_TAG")
    if not value.isprintable() or '"' in value or "\\" in value or len(value) > 256:
        raise SettingsError(
            "the environment variable EXPERIMENT_TAG must be 1 to 256 printable characters "
            f"without double quote and backslash, not {value[:60]!a}"
        )
    return value
