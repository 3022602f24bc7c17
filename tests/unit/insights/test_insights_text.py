"""String functions as plain Python computes them, over random text from all of Unicode."""

import base64
import hashlib
import random
import urllib.parse

import pytest

from stampede.insights import evaluate
from tests.unit.insights.download_log import FIRST_MS, event

_PIECES = [
    *"aAzZ09 .-_~+%&/\\\"'`[]{}(),:;|*?^$#@!=<>\t\n\r\0\x0b\x0c\x1f\x7f\x85\xa0",
    *"äßÉñçİıſΣσςǆﬁŉΐ١२中文ᾈ\u0301\u200d\u2028\u3000\ufeff\ufffd😀🇩🇪",
    *("%41", "%zz", "%C3%A9", "%c3", "aGk=", "ff", "0x1F", "NaN", "null", "true", "[1,]", "👨‍👩‍👧"),
]
_DIGITS = set("0123456789abcdefABCDEF")
_WHITE = " \t\n\r"


def _texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    made = ["".join(draw.choices(_PIECES, k=draw.randrange(9))) for _ in range(count)]
    planes = [chr(draw.choice([draw.randrange(1, 0xD800), draw.randrange(0xE000, 0x110000)])) for _ in range(count)]
    return [*made, *("x".join(draw.choices(planes, k=draw.randrange(1, 5))) for _ in range(count // 2))]


def _unquoted(text: str) -> str | None:
    try:
        broken = any(len(part) < 2 or not set(part[:2]) <= _DIGITS for part in text.split("%")[1:])
        return None if broken else urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None


def _of_hex(text: str) -> str | None:
    if len(text) % 2 or not set(text) <= _DIGITS:
        return None
    try:
        return bytes.fromhex(text).decode()
    except UnicodeDecodeError:
        return None


# function of s -> the same in Python; t is another text.
_SAME = {
    "strlen(s)": lambda s, t: len(s),
    "messageSize(s)": lambda s, t: len(s.encode()),
    "toupper(s)": lambda s, t: s.upper(),
    "tolower(s)": lambda s, t: s.lower(),
    "trim(s)": lambda s, t: s.strip(_WHITE),
    "ltrim(s)": lambda s, t: s.lstrip(_WHITE),
    "rtrim(s)": lambda s, t: s.rstrip(_WHITE),
    "trim(s, t)": lambda s, t: s.strip(t) if t else s,
    "ltrim(s, t)": lambda s, t: s.lstrip(t) if t else s,
    "rtrim(s, t)": lambda s, t: s.rstrip(t) if t else s,
    "substr(s, 1)": lambda s, t: s[1:],
    "substr(s, 1, 2)": lambda s, t: s[1:3],
    "substr(s, 5)": lambda s, t: s[5:],
    "concat(s, t)": lambda s, t: s + t,
    "replace(s, t, 'é')": lambda s, t: s.replace(t, "é") if t else s,
    "strcontains(s, t)": lambda s, t: int(t in s),
    "startsWith(s, t)": lambda s, t: int(s.startswith(t)),
    "endsWith(s, t)": lambda s, t: int(s.endswith(t)),
    "isempty(s)": lambda s, t: int(s == ""),
    "jsonArraySize(split(s, 'a'))": lambda s, t: s.count("a") + 1,
    "split(s, 'a')[1]": lambda s, t: [*s.split("a"), None][1],
    "urlencode(s)": lambda s, t: urllib.parse.quote(s, safe="-_.~"),
    "urldecode(s)": lambda s, t: _unquoted(s),
    "urldecode(urlencode(s))": lambda s, t: s,
    "base64Encode(s)": lambda s, t: base64.b64encode(s.encode()).decode(),
    "base64Decode(base64Encode(s))": lambda s, t: s,
    "hexToAscii(s)": lambda s, t: _of_hex(s),
    "md5(s)": lambda s, t: hashlib.md5(s.encode()).hexdigest(),
    "sha256(s)": lambda s, t: hashlib.sha256(s.encode()).hexdigest(),
    "s = t": lambda s, t: int(s == t),
}


@pytest.fixture(scope="module")
def pairs(seed):
    first, second = _texts(300, seed), _texts(300, seed + 1)
    alike = [*((text, text[:2]) for text in first), *((text, "") for text in first[:50])]
    return [*zip(first, second, strict=True), *alike]


@pytest.mark.hypothesis
@pytest.mark.parametrize("call", _SAME)
def test_a_string_function_is_the_one_of_python(call, pairs):
    events = [event({"s": s, "t": t}, FIRST_MS + n) for n, (s, t) in enumerate(pairs)]
    rows = evaluate(f"fields {call} as r | sort @timestamp asc | display r", events).rows
    for (s, t), row in zip(pairs, rows, strict=True):
        assert (s, t, row.get("r")) == (s, t, _SAME[call](s, t))
