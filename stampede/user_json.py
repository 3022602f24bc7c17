"""Reads JSON that a user wrote: what is wrong with it is said without Python's own words."""

import json
import sys
from typing import Any


def value_of(text: str) -> Any:
    """The value that `text` is. Raises ValueError, whose text goes on after "must be JSON: "."""
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark; save it as UTF-8 without one")
    try:
        return json.loads(text, parse_int=_whole_number, parse_constant=_refused)
    except RecursionError:
        raise ValueError("its lists or objects are nested too deeply; use fewer levels") from None


def _whole_number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        count, most = len(digits.lstrip("-")), sys.get_int_max_str_digits()
        raise ValueError(f"a number has {count:,} digits; use at most {most:,}, or put it in quotes") from None


def _refused(constant: str) -> Any:
    """NaN and Infinity, which Python reads and few other readers of JSON do."""
    raise ValueError(f"{constant} isn't a value of JSON")
