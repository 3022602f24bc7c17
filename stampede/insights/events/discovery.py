"""The fields that the service discovers in a log event, as SQL over the stored events.

Only fields that the query names are extracted, all JSON fields at once. Source:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_AnalyzeLogData-discoverable-fields.html

* System fields: @timestamp @ingestionTime @message @logStream @log, and @ptr, which is opaque on
  the service and here the event's place in its source.
* Lambda START, END and REPORT lines: @type @requestId, and from REPORT lines @duration
  @billedDuration @initDuration (ms), @memorySize @maxMemoryUsed (bytes, a megabyte being 1,000,000
  bytes), @xrayTraceId @xraySegmentId. @requestId also comes from lines that the runtimes write for
  a request: a time in UTC, optionally after a level in brackets, and the id; or "RequestId: " and
  the id ("Log function output", Lambda developer guide). Whether Lambda's JSON lines have any of
  these isn't documented: a query that names such a field is refused if no event has it.
* The columns of VPC flow logs and Route 53 query logs, described in `vended_lines`.
* JSON (RFC 8259): `a.b.0.c` is element `c` of the first item of `b` of `a`; keys may contain dots
  themselves. A key that begins with @ gets another @. In a line that isn't JSON as a whole, the
  first JSON object in it counts. Of duplicate keys the first counts.

Of a JSON line with more than 200 fields the service discovers 200; here they are the first in the
order of the line, counting each string, number, boolean and null, also in lists. The page gives the
number, not the order.
"""

import difflib
import json
import re
from collections.abc import Callable

import duckdb

from stampede.insights.events.source import Source
from stampede.insights.events.strict_json import is_lax_message
from stampede.insights.events.vended_lines import FORMATS, NEEDS_FORMATS, branches
from stampede.insights.language import syntax
from stampede.insights.language.syntax import refusal
from stampede.insights.values import Kind, Value, pointer, sql_string
from stampede.phrases import counted

_SYSTEM = {
    "@timestamp": Value("event_ms", Kind.TIMESTAMP, column=True),
    "@ingestionTime": Value("ingestion_ms", Kind.TIMESTAMP, column=True),
    "@message": Value("message", Kind.TEXT, column=True),
    "@logStream": Value("log_stream", Kind.TEXT, column=True),
    "@log": Value("log_group", Kind.TEXT, column=True),
}
_POINTER = "@ptr"


def _report(label: str, unit: str, factor: str = "") -> str:
    number = rf"regexp_extract(message, '{label}: ([0-9.]+) {unit}', 1)"
    return (
        f"CASE WHEN starts_with(message, 'REPORT RequestId: ') THEN TRY_CAST({number} AS "
        f"DOUBLE){factor} END"
    )


def _xray(label: str) -> str:
    value = rf"nullif(regexp_extract(message, '\s{label}: (\S+)', 1), '')"
    return f"CASE WHEN starts_with(message, 'REPORT RequestId: ') THEN {value} END"


_IS_PLATFORM_LINE = "regexp_matches(message, '^(START|END|REPORT) RequestId: ')"
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_REQUEST = rf"^(?:RequestId: |(?:\[[A-Za-z]+\]\s+)?[0-9-]{{10}}T[0-9:.]+Z\s+)({_UUID})(?:\s|$)"
_IS_JSON_PLATFORM_LINE = (
    "starts_with(message, '{') AND contains(message, '\"platform.')"
    r""" AND regexp_matches(message, '"type"\s*:\s*"platform\.[A-Za-z]+"')"""
)
_LAMBDA = {
    "@type": (f"CASE WHEN {_IS_PLATFORM_LINE} THEN split_part(message, ' ', 1) END", Kind.TEXT),
    "@requestId": (
        rf"nullif(CASE WHEN {_IS_PLATFORM_LINE} THEN regexp_extract(message, 'RequestId: (\S+)', 1)"
        rf" WHEN NOT starts_with(message, '{{') THEN regexp_extract(message, '{_REQUEST}', 1)"
        " END, '')",
        Kind.TEXT,
    ),
    "@duration": (_report(r"^REPORT RequestId: \S+\s+Duration", "ms"), Kind.NUMBER),
    "@billedDuration": (_report(r"\sBilled Duration", "ms"), Kind.NUMBER),
    "@initDuration": (_report(r"\sInit Duration", "ms"), Kind.NUMBER),
    "@xrayTraceId": (_xray("XRAY TraceId"), Kind.TEXT),
    "@xraySegmentId": (_xray("SegmentId"), Kind.TEXT),
    "@memorySize": (_report(r"\sMemory Size", "MB", " * 1000000"), Kind.NUMBER),
    "@maxMemoryUsed": (_report(r"\sMax Memory Used", "MB", " * 1000000"), Kind.NUMBER),
}
# Lines in another format of the same service: their fields, SQL that recognises them, and what they
# look like.
_OTHERS = [
    (known.fields, f"NOT {known.is_this()} AND {known.is_another()}", known.others_look_like())
    for known in FORMATS
]
_OTHERS += [
    (
        [*_LAMBDA],
        _IS_JSON_PLATFORM_LINE,
        "Lambda's in JSON; name their own fields, as in record.metrics.durationMs",
    )
]
_LAMBDA[_POINTER] = ("to_base64(unhex(lpad(to_hex(ordinal), 16, '0')))", Kind.TEXT)
FIELDS = (*_SYSTEM, *_LAMBDA)
_MOST_PARTS = 6  # of a dotted name for which every reading is tried: 32
MOST_FIELDS = 200
# True of every line with more fields, and cheap for most lines: a comma follows each field but the
# last, and a field takes two bytes in a list (`1,`) and five elsewhere (`"":1,`).
_MAY_HAVE_MORE = (
    f"(strlen(message) > {2 * MOST_FIELDS} AND (strlen(message) > {5 * MOST_FIELDS} OR "
    "contains(message, '[')) AND strlen(message) - strlen(replace(message, ',', '')) >= "
    f"{MOST_FIELDS})"
)
_NEEDS_FIRST_FIELDS = "a line needs insights_first_fields"
_NOTE = (
    f"a line has more than {MOST_FIELDS} fields: the service finds only the first {MOST_FIELDS}, "
    "and so does this evaluator; read the others with parse or jsonParse(@message)"
)
_NEEDS_FRAGMENTS = "a line needs insights_fragment"

# SQL of a field over the raw events, or a function that builds it from the SQL of each JSON path.
Extraction = str | Callable[[list[str]], str]


class Discovery:
    """Collects the fields that a query names, then writes the SQL that extracts them from
    the events."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._columns: dict[str, tuple[Extraction, Value]] = {}
        self._names: dict[str, syntax.Name] = {}
        self._refuse_others = True

    def field(self, name: syntax.Name) -> Value:
        """The column of a field. Raises QueryError for an @ name that the service
        doesn't generate."""
        if name.text in _SYSTEM:
            return _SYSTEM[name.text]
        if name.text not in self._columns:
            sql, kind = self._extraction(name)
            self._names[name.text] = name
            column = Value(f"found_{len(self._columns) + 1}", kind, column=True)
            self._columns[name.text] = (sql, column)
        return self._columns[name.text][1]

    def sql(
        self, source: Source, numbered: bool, fragments: bool, first_fields: bool
    ) -> tuple[str, str]:
        """Two stages: the events of `source` with the raw JSON elements, and the requested columns.

        `numbered` adds the column `ordinal`, the event's place in its source. The statement fails
        at the first line that needs one of these, and a function recognises each failure: without
        `fragments`, a line that isn't a JSON object but may contain one (`needs_fragments`);
        without `first_fields`, a line that may have more fields than are discovered
        (`needs_first_fields`); before `check_formats`, a line that it must check (`needs_formats`).
        """
        ordinal = elements = ""
        if numbered or _POINTER in self._columns:
            ordinal = ", row_number() OVER () AS ordinal"
        sought = [path for path in self._paths if path not in source.pointers]
        place = {path: number for number, path in enumerate(sought, start=1)}
        if sought:
            extraction = _json(sought, fragments, first_fields, self._refuse_others)
            elements = f", {extraction} AS elements"
        texts = [
            f"insights_scalar({source.pointers.get(path) or f'elements[{place[path]}]'})"
            for path in self._paths
        ]
        columns = "".join(
            f", {sql(texts) if callable(sql) else self._guarded(name, sql)} AS {value.sql}"
            for name, (sql, value) in self._columns.items()
        )
        fields = f"SELECT *{' EXCLUDE (elements)' if elements else ''}{columns} FROM raw"
        return f"SELECT *{ordinal}{elements} FROM {source.relation}", fields

    def _guarded(self, name: str, sql: str) -> str:
        """A field of Lambda's text lines; before `check_formats` it fails at Lambda's JSON lines,
        see `needs_formats`."""
        if name == _POINTER or not self._refuse_others:
            return sql
        return f"CASE WHEN {_IS_JSON_PLATFORM_LINE} THEN error('{NEEDS_FORMATS}') ELSE {sql} END"

    def check_formats(self, source: Source, connection: duckdb.DuckDBPyConnection) -> None:
        """Checks lines of a known service that seem to be in another format, such as custom
        flow logs.

        Raises QueryError if the query names a field of that service and no event has it; otherwise
        these lines lack the field, as on the service. Needs the functions of `REREAD`.
        """
        self._refuse_others = False
        raw, with_fields = self.sql(source, numbered=False, fragments=True, first_fields=True)
        for fields, is_another, look_like in _OTHERS:
            names = [name for text, name in self._names.items() if text in fields]
            counts = "".join(f", count({self._columns[name.text][1].sql})" for name in names)
            selected = f"count(*) FILTER ({is_another}){counts}"
            statement = (
                f"WITH raw AS ({raw}), found AS ({with_fields}) SELECT {selected} FROM found"
            )
            other, *present = connection.execute(statement).fetchone() if names else (0,)
            absent = [name for name, count in zip(names, present, strict=True) if not count]
            if other and absent:
                lines = counted(other, "line looks", "lines look")
                message = f"no event has {absent[0].text}, and {lines} like {look_like}"
                raise refusal(absent[0].span, message)

    def _extraction(self, name: syntax.Name) -> tuple[Extraction, Kind]:
        text, steps = name.head or name.text, name.steps
        if text in _LAMBDA and not steps:
            return _LAMBDA[text]
        if any(isinstance(step, int) for step in steps):
            message = (
                "[...] works only on a list from jsonParse; write an element of a discovered list "
                f"as {text}.0"
            )
            raise refusal(name.span, message)
        if text.startswith("@@"):
            text = text[1:]
        elif text.startswith("@"):
            message = f"{text} isn't a discovered field; {_nearest(text)}"
            raise refusal(name.span, message)
        pointers = [pointer([*keys, *steps]) for keys in _groupings(text.split("."))]
        places = [self._place(pointer) for pointer in pointers]

        def sql(texts: list[str]) -> str:
            parts = [texts[place] for place in places]
            return parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"

        return sql, Kind.DYNAMIC

    def _place(self, pointer: str) -> int:
        if pointer not in self._paths:
            self._paths.append(pointer)
        return self._paths.index(pointer)


def _groupings(parts: list[str]) -> list[list[str]]:
    """The keys, from the outside in, that a dotted name may mean: `a.b` is b of a, or the
    key a.b."""
    if len(parts) > _MOST_PARTS:
        return [parts, [".".join(parts)]]
    groupings = [[parts[0]]]
    for part in parts[1:]:
        longer = []
        for keys in groupings:
            longer += [[*keys, part], [*keys[:-1], f"{keys[-1]}.{part}"]]
        groupings = longer
    return groupings


def _nearest(text: str) -> str:
    """A hint: the discovered field that is probably meant, or else all of them."""
    if text.split(".")[0] == "@entity":
        return (
            "exported events don't include their entity; use @log and @logStream to see where an "
            "event comes from"
        )
    close = difflib.get_close_matches(
        text.lower(), [name.lower() for name in FIELDS], n=1, cutoff=0.75
    )
    meant = next((name for name in FIELDS if [name.lower()] == close), None)
    return f"did you mean {meant}?" if meant else f"known are {', '.join(FIELDS)}"


def _json(paths: list[str], fragments: bool, first_fields: bool, refuse_others: bool) -> str:
    """One extraction for all paths, a list of JSON texts; maps, lists and null give none.

    With `fragments` it uses TRY: a line that merely looks like JSON has no fields.
    """
    extraction = _whole_or_within(paths, fragments, first_fields, refuse_others)
    if first_fields:
        return extraction
    return f"CASE WHEN {_MAY_HAVE_MORE} THEN error('{_NEEDS_FIRST_FIELDS}') ELSE {extraction} END"


def _whole_or_within(
    paths: list[str], fragments: bool, first_fields: bool, refuse_others: bool
) -> str:
    listed = f"[{', '.join(map(sql_string, paths))}]"

    def values(text: str) -> str:
        if first_fields:
            text = f"CASE WHEN {_MAY_HAVE_MORE} THEN insights_first_fields({text}) ELSE {text} END"
        return f"json_value({text}, {listed})"

    lines = branches(paths, refuse_others)
    if not fragments:
        needs = f"error('{_NEEDS_FRAGMENTS}')"
        whole = f"CASE WHEN {is_lax_message()} THEN {needs} ELSE {values('message')} END"
        return (
            f"CASE WHEN starts_with(message, '{{') THEN {whole}{lines} WHEN contains(message, "
            f"'{{') THEN {needs} END"
        )
    whole = f"CASE WHEN NOT {is_lax_message()} THEN TRY({values('message')}) END"
    within = f"TRY({values('insights_fragment(message)')})"
    return (
        f"CASE WHEN starts_with(message, '{{') THEN coalesce({whole}, {within}){lines}"
        f" WHEN contains(message, '{{') THEN {within} END"
    )


def needs_fragments(reason: str) -> bool:
    """Whether DuckDB's message says that a statement without fragments met a line that
    needs them."""
    return _NEEDS_FRAGMENTS in reason or ("Malformed JSON" in reason and " in file " not in reason)


def needs_first_fields(reason: str) -> bool:
    """Whether DuckDB's message says that a line may have more fields than are discovered."""
    return _NEEDS_FIRST_FIELDS in reason


def notes_of_fields(source: Source, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """A note if a line has more fields than are discovered; needs `REREAD`."""
    cut = (
        f"{_MAY_HAVE_MORE} AND insights_first_fields(insights_fragment(message)) <> "
        "insights_fragment(message)"
    )
    cut_line = connection.execute(f"SELECT 1 FROM {source.relation} WHERE {cut} LIMIT 1").fetchone()
    return [_NOTE] if cut_line else []


def needs_formats(reason: str) -> bool:
    """Whether DuckDB's message says that `check_formats` must run first."""
    return NEEDS_FORMATS in reason


def pointer_texts(pointers: list[str]) -> str:
    """SQL of the list of values at the pointers, over a relation with `message`; needs `REREAD`."""
    return _json(pointers, fragments=True, first_fields=True, refuse_others=False)


def first_fragment(message: str) -> str | None:
    """The first JSON object inside a line, as text; None if there is none."""
    start = message.find("{")
    while start >= 0:
        try:
            end = _DECODER.raw_decode(message, start)[1]
            return message[start:end]
        except (json.JSONDecodeError, _NotJsonError, RecursionError):
            start = message.find("{", start + 1)
    return None


def first_fields(text: str) -> str:
    """The text of a JSON map up to the last discovered field, with open brackets closed; any other
    text unchanged."""
    try:
        _DECODER.decode(text)
    except (json.JSONDecodeError, _NotJsonError, RecursionError):
        return text
    closing: list[str] = []
    count, is_key, cut = 0, False, text
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in ("{", "["):
            closing.append("}" if mark == "{" else "]")
            is_key = mark == "{"
        elif mark in ("}", "]"):
            closing.pop()
        elif mark in (",", ":"):
            is_key = mark == "," and closing[-1] == "}"
        elif not is_key:
            count += 1
            if count == MOST_FIELDS:
                cut = text[: token.end()] + "".join(reversed(closing))
            elif count > MOST_FIELDS:
                return cut
    return text


# The functions needed to reread lines.
REREAD = {"insights_fragment", "insights_first_fields"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class _NotJsonError(Exception):
    """A number that isn't JSON."""


def _no_number(written: str) -> None:
    raise _NotJsonError(written)


# Numbers don't matter here, and Python refuses to parse thousands of digits.
_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_int=str, parse_float=str)
