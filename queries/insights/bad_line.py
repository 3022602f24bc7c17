"""Finds the line that made a file of log events unreadable, so that the error can name it."""

import codecs
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from queries.insights.errors import EventsError
from queries.insights.events import BAD_TIMESTAMP, NO_MESSAGE, form
from queries.insights.values import EARLIEST_MS, LATEST_MS

_OPEN = {"none": open, "gzip": gzip.open}
_TEXTS = ("message", "logStream", "log")


def locate(paths: Iterable[Path]) -> EventsError | None:
    """The error of the first bad line in the files, naming file and line; None where every line reads well.

    Parquet and zstd files are passed over: nothing but DuckDB reads them here.
    """
    for path in paths:
        opener = _OPEN.get(form(path))
        if opener is None:
            continue
        number = 0
        try:
            with opener(path, "rb") as file:
                for number, line in enumerate(file, start=1):
                    if number == 1 and line.startswith(codecs.BOM_UTF8):
                        return EventsError(f"{path}: begins with a byte order mark; save it as UTF-8 without one")
                    if line.strip() and (reason := _reason(line)):
                        return EventsError(f"{path}, line {number}: {reason}")
        except (OSError, EOFError) as error:
            return EventsError(f"{path}, after line {number}: the file can't be read on ({error})")
    return None


def _reason(line: bytes) -> str | None:
    try:
        event = json.loads(line)
    except UnicodeDecodeError:
        return "not UTF-8; each line is one JSON object in UTF-8"
    except RecursionError:
        return "Malformed JSON (nested too deeply)"
    except json.JSONDecodeError as error:
        return f"Malformed JSON ({error.msg} at character {error.pos + 1}); each line is one JSON object"
    if not isinstance(event, dict):
        return "not a JSON object; each line is one, with timestamp and message"
    if event.get("message") is None:
        return NO_MESSAGE
    for name in _TEXTS:
        if event.get(name) is not None and not isinstance(event[name], str):
            return f"{name} is not a string"
    if not _is_time(event.get("timestamp")):
        return BAD_TIMESTAMP
    return None


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and EARLIEST_MS <= value <= LATEST_MS
