"""The function's settings, from the environment that Terraform gives it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from failures import Failure
from methods import METHODS

# The limits of Lambda.
SMALLEST_MEMORY_MB, LARGEST_MEMORY_MB = 128, 10_240


class SettingsError(Failure):
    """The environment is incomplete or wrong; the message is one line naming the variable and the rule."""


@dataclass(frozen=True)
class Settings:
    """What the environment says: the labels of the record, the object to download, and how.

    `memory_size` is in MB and `concurrency_limit` counts functions. `ranges` fetches ranges of `range_part_mb`
    MiB over `range_parallel` connections; `crt` fetches ranges of that size too, over as many as it chooses itself.
    """

    concurrency_limit: int
    memory_size: int
    experiment_tag: str
    bucket: str
    key: str
    region: str
    method: str = "download_file"
    sink: str = "tmp"
    range_parallel: int = 8
    range_part_mb: int = 16


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings from `environ`; raises SettingsError at the first missing or wrong variable.

    METHOD, SINK, RANGE_PARALLEL and RANGE_PART_MB may be absent or empty: then the method is `download_file`, the sink
    the method's default, and 8 connections fetch ranges of 16 MiB.
    """
    method = _choice(environ, "METHOD", tuple(METHODS), "")
    return Settings(
        concurrency_limit=_integer(environ, "CONCURRENCY_LIMIT", 1, 1_000_000),
        memory_size=_integer(environ, "MEMORY_SIZE", SMALLEST_MEMORY_MB, LARGEST_MEMORY_MB),
        experiment_tag=_tag(environ),
        bucket=_text(environ, "BUCKET_NAME"),
        key=_text(environ, "FILE_NAME"),
        # Lambda sets both; botocore alone reads only AWS_DEFAULT_REGION.
        region=_text(environ, "AWS_REGION" if environ.get("AWS_REGION") else "AWS_DEFAULT_REGION"),
        method=method,
        sink=_choice(environ, "SINK", METHODS[method], f" with METHOD={method}"),
        range_parallel=_integer(environ, "RANGE_PARALLEL", 1, 64, default="8"),
        # Smaller ranges pass the request rate that one S3 prefix gives as soon as hundreds of functions ask for them.
        range_part_mb=_integer(environ, "RANGE_PART_MB", 16, 64, default="16"),
    )


def _text(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise SettingsError(f"the environment variable {name} is missing or empty: set it on the function")
    return value


def _integer(environ: Mapping[str, str], name: str, smallest: int, largest: int, default: str = "") -> int:
    value = environ.get(name, "") or default or _text(environ, name)
    if not re.fullmatch(r"[0-9]{1,9}", value) or not smallest <= int(value) <= largest:
        raise SettingsError(
            f"the environment variable {name} must be a whole number from {smallest} to {largest}, not {value[:60]!a}"
        )
    return int(value)


def _choice(environ: Mapping[str, str], name: str, choices: tuple[str, ...], condition: str) -> str:
    """Return one of `choices`; the first where the variable is absent or empty."""
    value = environ.get(name, "") or choices[0]
    if value not in choices:
        raise SettingsError(
            f"the environment variable {name} must be {' or '.join(choices)}{condition}, not {value[:60]!a}"
        )
    return value


def _tag(environ: Mapping[str, str]) -> str:
    """Return the tag; a quote or backslash in it would break the published regular expression's `"..."`."""
    value = _text(environ, "EXPERIMENT_TAG")
    if not value.isprintable() or '"' in value or "\\" in value or len(value) > 256:
        raise SettingsError(
            "the environment variable EXPERIMENT_TAG must be 1 to 256 printable characters without double "
            f"quote and backslash, not {value[:60]!a}"
        )
    return value
