"""Finds the line that makes a file of log events unreadable, so that the error can name it.

It must accept every line that DuckDB accepts, or it would name the wrong line: message, logStream
and log may be any JSON value, a timestamp may have a fraction or quotes, and commas before a
closing bracket are allowed.
"""

import codecs
import gzip
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from stampede.insights.errors import EventsError
from stampede.insights.events.questions import ask
from stampede.insights.events.source import (
    BAD_INGESTION_TIME,
    BAD_TIMESTAMP,
    BYTE_ORDER_MARK,
    LONGEST_LINE_BYTES,
    NEEDS_LOOK,
    NO_MESSAGE,
    UNREADABLE_PARQUET,
    Source,
    form,
    read_parquet,
)
from stampede.insights.values import EARLIEST_MS, LATEST_MS

_OPEN = {"none": open, "gzip": gzip.open}
_FORM_OF_ENDING = {".gz": "gzip", ".parquet": "Parquet", ".zst": "zstd"}
_READ = ("timestamp", "message", "logStream", "log", "ingestionTime")
_TOO_LONG = f"longer than {LONGEST_LINE_BYTES >> 20} MiB; a message in CloudWatch has at most 1 MiB"
_BUFFER_BYTES = 2 * LONGEST_LINE_BYTES  # DuckDB's: no longer line can be read anywhere in a file
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
# A string, or a non-finite number, of which DuckDB accepts more spellings than Python.
_NOT_FINITE = re.compile(r'("(?:[^"\\]|\\.)*")|-?(?i:nan|inf(?:inity)?)')
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def locate(paths: Iterable[Path]) -> EventsError | None:
    """The error for the first bad line in the files, naming file and line, or for a damaged Parquet
    file; None if everything is readable.

    Skips zstd files, which only DuckDB can read here. Reports a line that is too long only if
    nothing else is wrong: whether DuckDB accepts it depends on its position in the file.
    """
    too_long = None
    for path in paths:
        kind = form(path)
        if kind == "parquet" and not _is_whole(path):
            return EventsError(UNREADABLE_PARQUET.format(path))
        opener = _OPEN.get(kind)
        if opener is None:
            continue
        number = 0
        try:
            with opener(path, "rb") as file:
                for number, line in enumerate(_lines(file), start=1):
                    if number == 1 and line.startswith((codecs.BOM_UTF8, *_UTF_16)):
                        return EventsError(BYTE_ORDER_MARK.format(path))
                    if len(line) > LONGEST_LINE_BYTES and too_long is None:
                        too_long = EventsError(f"{path}, line {number}: {_TOO_LONG}")
                    if len(line) > _BUFFER_BYTES:
                        return too_long
                    if line.strip() and (reason := _reason(line)):
                        return EventsError(
                            f"{path}, line {number}: {reason}{_other_form(path, number)}"
                        )
        except OSError as error:
            return EventsError(
                f"{path}, after line {number}: the rest of the file can't be read ({error})"
            )
    return too_long


def _is_whole(parquet: Path) -> bool:
    """Whether every value can be read."""
    try:
        ask(f"max(hash(columns)) FROM {read_parquet(parquet)} AS columns")
    except duckdb.Error:
        return False
    return True


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The file's lines. Of one that is longer than DuckDB's buffer, only the beginning is read."""
    return iter(lambda: file.readline(_BUFFER_BYTES + 1), b"")


def _other_form(path: Path, number: int) -> str:
    """An addition to the error if the first line is bad and the file's name promises
    another format."""
    promised = _FORM_OF_ENDING.get(path.suffix.lower(), "")
    if number > 1 or promised.lower() in ("", form(path)):
        return ""
    return f" (despite its name the file isn't {promised})"


def needs_look(error: duckdb.Error) -> bool:
    """Whether a statement over a Source failed because its files' times must be checked first."""
    return NEEDS_LOOK in str(error)


def looked_at(source: Source, connection: duckdb.DuckDBPyConnection) -> Source:
    """The same Source, after checking that no time is true or false. Raises EventsError if
    one is."""
    for path, statement in source.looks:
        try:
            boolean_time = connection.execute(statement).fetchone()
        except duckdb.Error:
            boolean_time = None  # an unreadable line; the next statement reports it
        if boolean_time:
            raise locate([path]) or EventsError(
                f"{path}: true and false are not times; {BAD_TIMESTAMP}"
            )
    return replace(source, relation=source.after_look or source.relation)


def _reason(line: bytes) -> str | None:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return "not UTF-8; each line must be one JSON object in UTF-8"
    try:
        event = _loaded(text)
        if _SURROGATE.search(text):
            json.dumps(event, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return (
            "Malformed JSON (half of a surrogate pair); each line must be one JSON object in UTF-8"
        )
    except RecursionError:
        return _malformed(text)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at character {error.pos + 1}"
        if broken := _malformed(text, where):
            return broken
        plain = _NOT_FINITE.sub(
            lambda match: match[1] or "NaN", ask("CAST(json(?) AS VARCHAR)", text)
        )
        event = _loaded(plain)
    return _of_event(event)


def _loaded(text: str) -> Any:
    """The JSON value. Whole numbers too large for a time become infinite: Python refuses to parse
    thousands of digits."""
    return json.loads(
        text,
        object_pairs_hook=_Pairs,
        parse_int=lambda word: int(word) if len(word) < 40 else math.inf,
    )


def _of_event(event: Any) -> str | None:
    if not isinstance(event, _Pairs):
        return "not a JSON object; each line must be one, with timestamp and message"
    for name in _READ:
        if event.times(name) > 1:
            return f"the key {name} appears twice; a line may have it only once"
    values = dict(event)
    if values.get("message") is None:
        return NO_MESSAGE
    if not _is_time(values.get("timestamp"), EARLIEST_MS, LATEST_MS):
        return BAD_TIMESTAMP
    ingestion = values.get("ingestionTime")
    if ingestion is not None and not _is_time(ingestion, -(2**63), 2**63 - 1):
        return BAD_INGESTION_TIME
    return None


class _Pairs(list):
    """The pairs of a JSON object; a dictionary would hide duplicate keys."""

    def times(self, name: str) -> int:
        return sum(key == name for key, _ in self)


def _is_time(value: Any, earliest: int, latest: int) -> bool:
    if isinstance(value, str):
        if _WHOLE_NUMBER.fullmatch(value):
            value = int(value)
        else:
            value = ask("TRY(json_transform_strict(?, '\"BIGINT\"'))", json.dumps(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and earliest <= round(value) <= latest


def _malformed(text: str, where: str = "") -> str | None:
    """Why DuckDB doesn't accept a line as JSON; None if it does."""
    if ask("json_valid(?)", text):
        return None
    return f"Malformed JSON ({where or 'nested too deeply'}); each line must be one JSON object"
