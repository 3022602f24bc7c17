"""Types of command-line values: each refuses with the value and the rule."""

from __future__ import annotations

import argparse


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


def _integer(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of {least} or more, got {text!r}")
    return value
