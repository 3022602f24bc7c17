"""Reads files of one JSON object per line, and says what it had to leave out."""

import json
from pathlib import Path
from typing import Any


def read(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Read `path` as JSON lines.

    Returns the objects with their 1-based line numbers, and one warning per line that isn't a JSON object. A
    last line without a newline that doesn't parse was torn by a crash in mid-write; its warning says so.
    Raises OSError.
    """
    rows: list[tuple[int, dict[str, Any]]] = []
    warnings: list[str] = []
    data = path.read_bytes()
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:  # covers JSONDecodeError and UnicodeDecodeError
            torn = number == len(lines)
            what = "the last line is torn (the writer was interrupted)" if torn else "not JSON"
            warnings.append(f"{path.name}, line {number}: {what}; left out.")
            continue
        if isinstance(value, dict):
            rows.append((number, value))
        else:
            warnings.append(f"{path.name}, line {number}: not a JSON object; left out.")
    return rows, warnings
