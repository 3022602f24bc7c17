"""Types of command-line values: each refuses with the value and the rule."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path


def whole_number(text: str) -> int:
    """An integer of 0 or more."""
    return _integer(text, 0)


def positive_int(text: str) -> int:
    """An integer of 1 or more."""
    return _integer(text, 1)


def seconds(text: str) -> float:
    """A number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return value


def dollars(text: str) -> float:
    """An amount of US dollars, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be an amount of US dollars of 0 or more, got {text!r}")
    return value


def crash_percent(text: str) -> float:
    """A percentage of 0 to 50: beyond that hardly any message would ever be done."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 50:
        raise argparse.ArgumentTypeError(f"must be a percentage of 0 to 50, got {text!r}")
    return value


def writable_file(*endings: str) -> Callable[[str], Path]:
    """The type of a file to write, with one of these endings, in a folder that exists."""

    def checked(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f"must be a file that ends in {' or '.join(endings)}, got {text!r}")
        if path.is_dir() or not path.parent.is_dir():
            raise argparse.ArgumentTypeError(f"must be a file in a folder that exists, got {text!r}")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise argparse.ArgumentTypeError(f"must be a file that you may write, got {text!r}")
        return path

    return checked


def _integer(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of {least} or more, got {text!r}")
    return value
