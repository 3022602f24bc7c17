"""Date formats: Java's DateTimeFormatter patterns for `parseDate` and strftime's for `formatDate`.

Source: "Datetime functions" of the CloudWatch Logs user guide, which names the two notations; their
letters are defined in
https://docs.oracle.com/javase/8/docs/api/java/time/format/DateTimeFormatter.html and POSIX
strftime. Letters that depend on a language, a calendar or a field width are refused. Undocumented,
decided here: the time zone is UTC unless there is an offset; without a time it is midnight; text
that doesn't match, or isn't a date, is missing.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# What each run of a Java letter, of the required length, takes from the text.
_FIELDS = {
    "yyyy": r"(?P<year>[0-9]{4})",
    "uuuu": r"(?P<year>[0-9]{4})",
    "MM": r"(?P<month>[0-9]{2})",
    "dd": r"(?P<day>[0-9]{2})",
    "HH": r"(?P<hour>[0-9]{2})",
    "mm": r"(?P<minute>[0-9]{2})",
    "ss": r"(?P<second>[0-9]{2})",
    "XXX": r"(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})",
    "XX": r"(?P<offset>Z|[+-][0-9]{4})",
    "Z": r"(?P<offset>[+-][0-9]{4})",
    "xxx": r"(?P<offset>[+-][0-9]{2}:[0-9]{2})",
    "xx": r"(?P<offset>[+-][0-9]{4})",
}
_PIECE = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)
_NEEDED = ("year", "month", "day")
_TIMES = ("hour", "minute", "second", "fraction")
_RESERVED = "[]{}#"

# strftime's directives that mean the same everywhere, as DuckDB writes them.
_DIRECTIVES = {name: f"%{name}" for name in "YmdHMSyjIpaAbBuw%"}
_DIRECTIVES |= {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "z": "+0000"}


class DateFormatError(ValueError):
    """An unsupported format; the message says which part, and what is supported."""


@lru_cache(256)
def parse_pattern(java: str) -> re.Pattern[str]:
    """The regular expression of a Java pattern such as `yyyy-MM-dd'T'HH:mm:ss.SSSXXX`.
    Raises DateFormatError."""
    pieces = [match.group() for match in _PIECE.finditer(java)]
    try:
        pattern = re.compile("".join(map(_taken, pieces)))
    except re.error:
        raise DateFormatError("the format names a part of the date twice") from None
    missing = [name for name in _NEEDED if name not in pattern.groupindex]
    if missing:
        raise DateFormatError(f"the format lacks the {missing[0]}; it needs yyyy, MM and dd")
    present = [name in pattern.groupindex for name in _TIMES]
    if present != sorted(present, reverse=True):
        raise DateFormatError("the format skips part of the time; use HH, then mm, then ss, then S")
    return pattern


def _taken(piece: str) -> str:
    """The regular expression for a quoted text, a run of a letter, or another character."""
    if piece == "''":
        return "'"
    if piece.startswith("'"):
        if len(piece) < 2:
            raise DateFormatError("a ' in the format is never closed; write '' for one in the text")
        return re.escape(piece[1:-1].replace("''", "'"))
    if piece in _FIELDS:
        return _FIELDS[piece]
    if piece.startswith("S") and len(piece) <= 9:
        return rf"(?P<fraction>[0-9]{{{len(piece)}}})"
    if piece[0].isalpha() and piece[0].isascii():
        known = "yyyy MM dd HH mm ss SSS XXX XX Z"
        raise DateFormatError(
            f"{piece} in the format isn't supported; known are {known}, and text between '"
        )
    if piece in _RESERVED:
        raise DateFormatError(f"{piece} is reserved in a format; write '{piece}'")
    return re.escape(piece)


@lru_cache(65_536)
def parse_date(text: str, java: str) -> int | None:
    """Milliseconds since 1970 of a date in the Java pattern (UTC without an offset); None if it
    doesn't match."""
    match = parse_pattern(java).fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict()
    numbers = [int(parts.get(name) or 0) for name in (*_NEEDED, "hour", "minute", "second")]
    milliseconds = int((parts.get("fraction") or "0").ljust(3, "0")[:3])
    try:
        moment = datetime(*numbers, tzinfo=_zone(parts.get("offset") or "Z")) + timedelta(
            milliseconds=milliseconds
        )
        return (moment - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return None


def _zone(offset: str) -> timezone:
    if offset == "Z":
        return UTC
    sign = -1 if offset[0] == "-" else 1
    hours, minutes = int(offset[1:3]), int(offset[-2:])
    if hours > 18 or minutes > 59 or (hours == 18 and minutes):
        raise ValueError("beyond Java's greatest offset")
    return timezone(sign * timedelta(hours=hours, minutes=minutes))


def strftime_format(written: str) -> str:
    """DuckDB's equivalent of a strftime format, for times in UTC. Raises DateFormatError."""
    if "%" not in written:
        raise DateFormatError("the format has no %; write a strftime format, as in %Y-%m-%d")

    def directive(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in _DIRECTIVES:
            known = " ".join(f"%{letter}" for letter in _DIRECTIVES)
            raise DateFormatError(f"%{name} in the format isn't supported; known are {known}")
        return _DIRECTIVES[name]

    return re.sub(r"%(.|$)", directive, written, flags=re.DOTALL)
