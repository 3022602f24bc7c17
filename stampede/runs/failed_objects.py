"""The log lines that name objects which failed, and their rows in failed_objects.jsonl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stampede.runs import stored_json

FAILED_OBJECTS = "failed_objects.jsonl"
_BEGINNINGS = ('{"run_id"', '{"failed_objects"')  # the second in runs of before what identifies a line came first
_OF_LINE = ("cell", "seq", "attempt")
_OF_OBJECT = ("slice", "line", "source", "destination", "error_type", "error_message")


def failed_lines(events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines with failed objects among log events. One that was cut off is none: what it held will be missing."""
    for event in events:
        if not event["message"].startswith(_BEGINNINGS):
            continue
        try:
            line = stored_json.decoded(event["message"])
        except ValueError:
            continue
        if isinstance(line.get("failed_objects"), list) and all(name in line for name in ("run_id", *_OF_LINE)):
            yield line


def failed_rows(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row an object: which attempt of which message, where its row of the manifest is, and why it failed."""
    for line in lines:
        attempt = {name: line[name] for name in _OF_LINE}
        for failed in line["failed_objects"]:
            yield attempt | {name: failed.get(name) for name in _OF_OBJECT}
