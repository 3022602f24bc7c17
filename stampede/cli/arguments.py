"""Types of command-line values: each refuses with the value and the rule."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST_CELL_CHARACTERS = 256


def number(kind: type[int | float], rule: str, allowed: Callable[[float], bool]) -> Callable[[str], Any]:
    """The type of a number of this kind that is `allowed`; `rule` says which are."""

    def checked(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not allowed(value):  # NaN never is
            raise argparse.ArgumentTypeError(f"must be {rule}, got {text!r}")
        return value

    return checked


whole_number = number(int, "a whole number of 0 or more", lambda value: value >= 0)
positive_int = number(int, "a whole number of 1 or more", lambda value: value >= 1)
seconds = number(float, "a number of seconds above 0", lambda value: 0 < value < math.inf)
dollars = number(float, "an amount of US dollars of 0 or more", lambda value: 0 <= value < math.inf)
# Beyond 50 hardly any message would ever be done.
crash_percent = number(float, "a percentage of 0 to 50", lambda value: 0 <= value <= 50)


def path(text: str) -> Path:
    """The type of a path; that of an empty text, such as an unset variable, would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("must be a path, got ''")
    return Path(text)


def cell(text: str) -> str:
    """The type of a cell's name: what functions take for one (`functions/common/work_order.py`), but for blanks alone,
    which nobody could see in a table."""
    if not (text.isprintable() and text.strip() and len(text) <= LONGEST_CELL_CHARACTERS):
        rule = f"must be text of 1 to {LONGEST_CELL_CHARACTERS} printable characters, not all of them blanks"
        raise argparse.ArgumentTypeError(f"{rule}, got {text!r}")
    return text


def writable_file(*endings: str) -> Callable[[str], Path]:
    """The type of a file to write, with one of these endings, in a folder that exists."""

    def checked(text: str) -> Path:
        file = Path(text)
        if file.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f"must be a file that ends in {' or '.join(endings)}, got {text!r}")
        if file.is_dir() or not file.parent.is_dir():
            raise argparse.ArgumentTypeError(f"must be a file in a folder that exists, got {text!r}")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise argparse.ArgumentTypeError(f"must be a file that you may write, got {text!r}")
        return file

    return checked
