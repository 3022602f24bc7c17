"""Reads the JSON files of a results folder: strictly for a run that goes on, tolerantly for the
report, which names what it left out."""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

# Nested lists and objects: many more than a run's files have, few enough for any program that shows
# them.
MOST_LEVELS = 200
_MESSAGE: dict[str, tuple[type, ...]] = {"cell": (str,), "seq": (int,)}
_SENT = {**_MESSAGE, "sent_at_ms": (int,)}
LARGEST = 2**63 - 1
_WORDS = {str: "a text", int: "a whole number", type(None): "null"}
# By file, the required fields of a line, each with its allowed types.
LINES: dict[str, dict[str, tuple[type, ...]]] = {
    "sent.jsonl": _SENT,
    "unanswered.jsonl": _SENT,
    "records.jsonl": {**_MESSAGE, "status": (str,)},
    # A dead letter that isn't a work order has no coordinates.
    "dead_letters.jsonl": {
        "cell": (str, type(None)),
        "seq": (int, type(None)),
        "message_id": (str,),
    },
    "failed_objects.jsonl": _MESSAGE,
}


class NotAFile(ValueError):
    """A folder, a pipe, a device or a link is in the place of a run's file."""


def opened(path: Path, flags: int = os.O_RDONLY, mode: str = "rb") -> Any:
    """Open a file of a run's folder, which may come from somebody else: follows no link, and waits
    for no pipe. Raises OSError, NotAFile."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        # a link, or a folder or pipe opened for writing
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise NotAFile(f"{path} isn't a file") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFile(f"{path} isn't a file")
    return os.fdopen(descriptor, mode)


def value(path: Path, kind: type = object) -> Any:
    """The content of a JSON file. Raises OSError, NotAFile, and ValueError if it isn't JSON of that
    kind."""
    with opened(path) as file:
        stored = decoded(file.read())
    if _is_deeper(stored, MOST_LEVELS):
        raise ValueError("it is nested too deeply")
    if not isinstance(stored, kind):
        raise ValueError(
            f"it contains a JSON {type(stored).__name__} where a {kind.__name__} is needed"
        )
    return stored


def _is_deeper(value: Any, levels: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in parts)


def value_or_warning(
    path: Path, kind: type, warnings: list[str], *, is_optional: bool = False
) -> Any:
    """The content of a JSON file; None, with a warning, if it is missing or unusable. An optional
    file may be missing without one."""
    try:
        return value(path, kind)
    except FileNotFoundError:
        if not is_optional:
            warnings.append(f"{path.name} is missing.")
    except (OSError, ValueError) as error:
        warnings.append(f"{path.name} can't be read: {error}")
    return None


def rows(
    path: Path,
    warnings: list[str] | None = None,
    fault_of: Callable[[dict[str, Any]], str] = lambda row: "",
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON-lines file, one by one, with their 1-based line numbers.

    An invalid line, by its JSON or by `fault_of`, is left out with a warning in `warnings`. Without
    that list it raises ValueError; but a last line without a newline, torn by a crash during a
    write, is silently left out, because the next writer cuts it off. Raises OSError, NotAFile.
    """
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            is_torn = not line.endswith(b"\n")
            if line.isspace() or (is_torn and warnings is None):
                continue
            try:
                row = decoded(line)
                fault = fault_of(row) if isinstance(row, dict) else "not a JSON object"
            except ValueError:  # covers JSONDecodeError and UnicodeDecodeError
                incomplete = "the last line is incomplete (the writer was interrupted)"
                fault = incomplete if is_torn else "not JSON"
            if not fault:
                yield number, row
            elif warnings is None:
                raise ValueError(f"line {number}: {fault}")
            else:
                warnings.append(f"{path.name}, line {number}: {fault}; left out.")


def decoded(line: str | bytes) -> Any:
    """A line as json.loads reads it, in a third of the time: json reads only what msgspec refuses,
    such as NaN. Half a surrogate pair, which no file can contain, is "?". Raises ValueError."""
    try:
        try:
            return msgspec.json.decode(line)
        except ValueError:
            value = json.loads(line if isinstance(line, str) else line.decode())
            return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def rule_of(name: str) -> str:
    """The required fields of a line of the file `name`, in words."""
    needed = (
        f"{key} ({' or '.join(_WORDS[kind] for kind in kinds)})"
        for key, kinds in LINES[name].items()
    )
    return f"must have {', '.join(needed)}"


def fault_of(name: str) -> Callable[[Mapping[str, Any]], str]:
    """A function that returns the fault of a line of the file `name`; "" without one."""
    needed = LINES.get(name, {})

    def fault(row: Mapping[str, Any]) -> str:
        values = {key: row.get(key, ...) for key in needed}
        is_valid = all(type(values[key]) in kinds for key, kinds in needed.items())
        is_small = all(abs(value) <= LARGEST for value in values.values() if type(value) is int)
        return "" if is_valid and is_small else rule_of(name)

    return fault


def typed(value: Any, kind: Any) -> Any:
    """`value`, read from JSON, converted to `kind`. Raises ValueError, naming the wrong part."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        fault, _, part = str(error).partition(" - at `$")
        name = part.strip("`.")
        raise ValueError(f"{name}: {fault[0].lower()}{fault[1:]}" if name else fault) from None
