"""String functions return what plain Python computes, for random text from all of Unicode."""

import base64
import hashlib
import urllib.parse

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stampede.insights import evaluate
from tests.unit.insights.download_log import FIRST_MS, event

PIECES = [
    *"aAzZ09 .-_~+%&/\\\"'`[]{}(),:;|*?^$#@!=<>\t\n\r\0\x0b\x0c\x1f\x7f\x85\xa0",
    *"äßÉñçİıſΣσςǆﬁŉΐ١२中文ᾈ\u0301\u200d\u2028\u3000\ufeff\ufffd😀🇩🇪",
    *(
        "%41",
        "%zz",
        "%C3%A9",
        "%c3",
        "aGk=",
        "ff",
        "f",
        "c3a9",
        "0x1F",
        "NaN",
        "null",
        "true",
        "[1,]",
    ),
]
TEXT = st.lists(
    st.sampled_from(PIECES) | st.characters(exclude_categories=("Cs",)), max_size=8
).map("".join)
PAIRS = st.tuples(TEXT, TEXT) | TEXT.map(lambda text: (text, text[:2]))
DIGITS = set("0123456789abcdefABCDEF")
WHITE = " \t\n\r"


def unquoted(text):
    try:
        broken = any(len(part) < 2 or not set(part[:2]) <= DIGITS for part in text.split("%")[1:])
        return None if broken else urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None


def of_hex(text):
    try:
        return bytes.fromhex(text).decode() if set(text) <= DIGITS else None
    except ValueError:
        return None


# A function of s -> the same in Python; t is another text.
SAME = {
    "strlen(s)": lambda s, t: len(s),
    "messageSize(s)": lambda s, t: len(s.encode()),
    "toupper(s)": lambda s, t: s.upper(),
    "tolower(s)": lambda s, t: s.lower(),
    "trim(s)": lambda s, t: s.strip(WHITE),
    "ltrim(s)": lambda s, t: s.lstrip(WHITE),
    "rtrim(s)": lambda s, t: s.rstrip(WHITE),
    "trim(s, t)": lambda s, t: s.strip(t) if t else s,
    "ltrim(s, t)": lambda s, t: s.lstrip(t) if t else s,
    "rtrim(s, t)": lambda s, t: s.rstrip(t) if t else s,
    "substr(s, 1, 2)": lambda s, t: s[1:3],
    "substr(s, 5)": lambda s, t: s[5:],
    "concat(s, t)": lambda s, t: s + t,
    "replace(s, t, 'é')": lambda s, t: s.replace(t, "é") if t else s,
    "strcontains(s, t)": lambda s, t: int(t in s),
    "startsWith(s, t)": lambda s, t: int(s.startswith(t)),
    "endsWith(s, t)": lambda s, t: int(s.endswith(t)),
    "split(s, 'a')[1]": lambda s, t: [*s.split("a"), None][1],
    "urlencode(s)": lambda s, t: urllib.parse.quote(s, safe="-_.~"),
    "urldecode(s)": lambda s, t: unquoted(s),
    "base64Encode(s)": lambda s, t: base64.b64encode(s.encode()).decode(),
    "base64Decode(base64Encode(s))": lambda s, t: s,
    "hexToAscii(s)": lambda s, t: of_hex(s),
    "md5(s)": lambda s, t: hashlib.md5(s.encode()).hexdigest(),
    "sha256(s)": lambda s, t: hashlib.sha256(s.encode()).hexdigest(),
    "s = t": lambda s, t: int(s == t),
}
QUERY = (
    "fields "
    + ", ".join(f"{call} as r{number}" for number, call in enumerate(SAME))
    + " | sort @timestamp asc"
)


@settings(phases=[Phase.generate])  # no shrinking: the failing item is named
@given(st.lists(PAIRS, min_size=20, max_size=40))
def test_string_functions_agree_with_python(pairs):
    events = [event({"s": s, "t": t}, FIRST_MS + place) for place, (s, t) in enumerate(pairs)]
    for (s, t), row in zip(pairs, evaluate(QUERY, events).rows, strict=True):
        for number, (call, same) in enumerate(SAME.items()):
            assert (call, s, t, row.get(f"r{number}")) == (call, s, t, same(s, t))
