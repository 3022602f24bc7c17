"""Reads JSON that a user wrote, and no more than JSON."""

import json
from typing import Any


def value_of(text: str) -> Any:
    """The value that `text` is. Raises ValueError, whose text goes on after "must be JSON: "."""
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark; save it as UTF-8 without one")
    try:
        return json.loads(text, parse_constant=_refused)
    except RecursionError:
        raise ValueError("its lists or objects are nested too deeply; use fewer levels") from None


def _refused(constant: str) -> Any:
    """NaN and Infinity, which Python reads and few other readers of JSON do."""
    raise ValueError(f"{constant} isn't a value of JSON")
