"""Converts values between HCL, of which JSON values are a part, and Python.

Only literal values are read: anything that Terraform would evaluate (a reference, a function,
arithmetic) is refused. python-hcl2 is imported on first use, because its grammar takes a tenth of a
second and few verbs need it.
"""

from __future__ import annotations

import json
import re
from typing import Any

# A text in quotes, or a character.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|.', re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_TEMPLATE = re.compile(r"(?<!\$)\$\{|(?<!%)%\{")


class HclError(ValueError):
    """The text isn't HCL, or has more than literal values."""


def read(text: str) -> dict[str, Any]:
    """Blocks and attributes of an HCL file in python-hcl2's form, which `plain` converts. Raises
    HclError."""
    import hcl2
    from hcl2.utils import SerializationOptions
    from lark.exceptions import LarkError, UnexpectedInput

    options = SerializationOptions(with_comments=False, preserve_heredocs=False)
    try:
        return hcl2.loads(
            text if text.endswith("\n") else f"{text}\n", serialization_options=options
        )
    except UnexpectedInput as error:
        last = text.rstrip().count("\n") + 1
        raise HclError(f"line {min(error.line, last)}: it isn't valid HCL") from None
    except (LarkError, RecursionError):
        raise HclError("it isn't valid HCL") from None


def value(text: str) -> Any:
    """The Python value of one HCL or JSON value. Raises HclError."""
    return plain(read(f"value = {text}")["value"])


def plain(parsed: Any) -> Any:
    """The Python value of an attribute from `read`. Raises HclError for an expression."""
    if isinstance(parsed, dict):
        return {
            plain(key) if key.startswith('"') else _literal(key): plain(value)
            for key, value in parsed.items()
        }
    if isinstance(parsed, list):
        return [plain(value) for value in parsed]
    if not isinstance(parsed, str):
        return parsed
    if not parsed.startswith('"'):
        return _number(parsed)
    from hcl2.utils import process_escape_sequences

    if _TEMPLATE.search(parsed):
        raise HclError(f"{parsed} is an expression; write the value itself")
    return process_escape_sequences(parsed[1:-1]).replace("$${", "${").replace("%%{", "%{")


def text_of(value: Any) -> str:
    """A value as in `-var NAME=...` and in a cell's name: short, without spaces, a text without
    quotes."""
    return value if isinstance(value, str) else _nested(value)


def split(text: str) -> list[str]:
    """The values of `v1,v2,...`; commas within braces, brackets and quotes don't separate."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "{[") - (token in "}]")
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def _nested(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (
            f"{key if _NAME.fullmatch(key) else _nested(key)}={_nested(item)}"
            for key, item in value.items()
        )
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_nested, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
    return json.dumps(value)


def _literal(name: str) -> str:
    if not _NAME.fullmatch(name) and not name.isdigit():
        raise HclError(f"the key {name} is an expression; write the key itself")
    return name


def _number(word: str) -> float:
    """A number with an exponent, which python-hcl2 leaves unconverted: ${1e3} for 1000."""
    try:
        number = float(word.removeprefix("${").removesuffix("}"))
    except ValueError:
        raise HclError(f"{word} is an expression; write the value itself") from None
    return int(number) if number.is_integer() else number
