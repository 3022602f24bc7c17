"""Reads files of one JSON object per line, and says what it had to leave out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SCAN = json.JSONDecoder().scan_once
_BLANKS = " \t\r\n"


def read(path: Path, warnings: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of `path` with their 1-based line numbers, one after the other.

    Appends one warning per line that isn't a JSON object. A last line without a newline that doesn't parse was torn by
    a crash in mid-write; its warning says so. Raises OSError.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = _decoded(line.decode())
            except ValueError:  # covers JSONDecodeError and UnicodeDecodeError
                torn = not line.endswith(b"\n")
                what = "the last line is incomplete (the writer was interrupted)" if torn else "not JSON"
                warnings.append(f"{path.name}, line {number}: {what}; left out.")
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                warnings.append(f"{path.name}, line {number}: not a JSON object; left out.")


def _decoded(text: str) -> Any:
    """The value of a line; json.loads takes twice as long. Raises ValueError."""
    text = text.strip(_BLANKS)
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        raise ValueError("no value") from None
    if end != len(text):
        raise ValueError("more than one value")
    return value
