"""The line formats that `parse` knows by name: logfmt and CSV.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Parse.html, which
names the formats without details. Decided here:

* logfmt: `key=value` pairs separated by white space; a value in double quotes may contain spaces,
  and a backslash there escapes the next character; words without `=` are ignored; of a repeated key
  the last counts. A line without a pair has no map.
* CSV: RFC 4180 with comma and double quote, for one line. White space belongs to the value.
"""

import csv
import json
import re

_PAIR = re.compile(r'([^\s="]+)=("(?:\\.|[^"\\])*"|[^\s"]*)(?=\s|$)')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def logfmt_map(text: str) -> str | None:
    """The pairs of a logfmt line as a JSON object, in text; None if there are none."""
    pairs = {}
    for key, value in _PAIR.findall(text):
        pairs[key] = _ESCAPE.sub(r"\1", value[1:-1]) if value.startswith('"') else value
    return json.dumps(pairs, ensure_ascii=False) if pairs else None


def csv_values(text: str) -> list[str] | None:
    """The values of a CSV line, in order; None if its quotes don't match or it has
    several lines."""
    try:
        rows = list(csv.reader([text.rstrip("\r\n")], strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None
