"""Reads JSON that a user wrote, strictly."""

import json
from typing import Any


def value_of(text: str) -> Any:
    """Parse `text`. Raises ValueError, with a text that continues "must be JSON: "."""
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark; save it as UTF-8 without one")
    try:
        return json.loads(text, parse_constant=_refused)
    except RecursionError:
        raise ValueError("its lists or objects are nested too deeply; use fewer levels") from None


def _refused(constant: str) -> Any:
    """Refuse NaN and Infinity, which Python accepts, but JSON doesn't have."""
    raise ValueError(f"{constant} isn't a value of JSON")
