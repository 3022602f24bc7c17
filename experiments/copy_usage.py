"""Stands in until the real one is merged."""

from collections.abc import Mapping
from typing import Any

from experiments.usage import Usage


def usage(values: Mapping[str, Any]) -> Usage:
    """Nothing but what a run takes."""
    one = values["object_count"] / 300
    return Usage({"aws": one, "local": one}, 1, 1, 30, 512, "object_count", ())


host_usage = usage
