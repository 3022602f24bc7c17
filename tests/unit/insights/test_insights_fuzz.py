"""Any input either evaluates or gives an InsightsError: queries from the grammar, mutated saved queries, any file."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import EventsError, QueryError, evaluate
from tests.unit.insights.download_log import FIRST_MS, event, record, report
from tests.unit.insights.forms import AGGREGATE_FORMS, FORMS, filled

ROOT = Path(__file__).parents[3]
SAVED = [path.read_text() for path in sorted((ROOT / "queries").rglob("*.cwli"))]
CASES = [
    case["query"]
    for path in sorted((ROOT / "tests/data/insights").glob("*.json"))
    for case in json.loads(path.read_text())
]
# What only the engine below, or the SQL that is written for it, has words for.
ENGINE = ("Binder", "Parser Error", "Catalog", "INT32", "INT64", "stage_", "output_", "column_", "evaluator failed")
EVENTS = [
    event(record(), FIRST_MS, logStream="s"),
    event(report("r", 12.5, 128, 64), FIRST_MS + 1),
    event('{"a": 1, "b": {"c": "x"}, "l": [1, {"d": 2}], "ip": "10.0.0.1", "s": "k=v"}', FIRST_MS + 2),
    event("plain", FIRST_MS + 3),
]

NAMES = st.sampled_from(
    ["a", "b.c", "l.1.d", "ip", "s", "none", "@timestamp", "@message", "@duration", "`b.c`", "x", "m"]
)
LITERALS = st.sampled_from(["1", "0", "2.5", "1e300", "'x'", '"10"', "''", "'a*b'"])
PERIODS = ["5m", "1h", "300s", "1mo", "7d", "1q", "1w", "3y", "5M", "0s"]
CALLS = [*FORMS, "frobnicate({})"]
CALLS += [
    call.format(period) for call in ("bin({})", "datefloor({{}}, {})", "dateceil({{}}, {})") for period in PERIODS
]
PARSES = ["parse 'a*' as x", "parse /(?<x>[a-z]+)/", "parse s logfmt as m", "parse csv as x, m", "parse b.c 'x'"]
PARSES += ["parse /([a-z])(1|\\s)?/ as x, m", "parse s /(?<x>.)/ as x", "parse /(a)/ as x, m", "parse /a/ multi"]


def expressions():
    """Expressions of the grammar, most of them well formed and many of them with a meaning."""

    def larger(inner):
        arguments = st.lists(inner, min_size=1, max_size=3)
        return st.tuples(st.sampled_from(CALLS), arguments).map(lambda parts: filled(parts[0], *parts[1]))

    return st.recursive(NAMES | LITERALS | st.just("now()"), larger, max_leaves=6)


def conditions():
    simple = st.one_of(
        st.tuples(expressions(), st.sampled_from(["=", "!=", "<", ">"]), expressions()).map(" ".join),
        st.tuples(expressions(), st.sampled_from(["like /x/", "not like 'x'", "=~ /(?i)[0-9]+/", "in [1, 'x']"])).map(
            " ".join
        ),
        expressions().map(lambda expression: f"ispresent({expression})"),
    )
    return st.recursive(
        simple,
        lambda inner: (
            st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map("".join)
            | inner.map(lambda condition: f"not ({condition})")
        ),
        max_leaves=3,
    )


def commands():
    items = st.lists(
        st.tuples(expressions(), st.sampled_from(["", " as x", " as m"])).map("".join), min_size=1, max_size=3
    )
    aggregates = st.tuples(st.sampled_from(AGGREGATE_FORMS), expressions()).map(lambda parts: filled(*parts))
    aggregates |= st.tuples(expressions(), st.integers(0, 100)).map(lambda parts: f"pct({parts[0]}, {parts[1]})")
    keys = st.lists(expressions(), max_size=2).map(lambda names: f" by {', '.join(names)}" if names else "")
    return st.one_of(
        items.map(lambda names: "fields " + ", ".join(names)),
        items.map(lambda names: "display " + ", ".join(names)),
        conditions().map("filter {}".format),
        conditions().map("where {}".format),
        st.tuples(st.lists(aggregates, min_size=1, max_size=3), keys).map(lambda p: f"stats {', '.join(p[0])}{p[1]}"),
        st.tuples(aggregates, expressions(), keys).map(lambda p: f"stats {p[0]} as x, x + {p[1]} as y, -y as z{p[2]}"),
        st.tuples(st.sampled_from(["", "by "]), expressions(), st.sampled_from(["", " asc", " desc"])).map(
            lambda parts: f"sort {''.join(parts)}"
        ),
        st.integers(0, 20).map("limit {}".format),
        NAMES.map("dedup {}".format),
        st.sampled_from(PARSES),
        st.just("fields jsonParse(@message) as m | filter ispresent(m.b.c) | display m.l[1].d"),
    )


def answers(query, events=EVENTS):
    """Evaluates; an error must be a QueryError of one line at a place in the query, which moves as the query does."""
    try:
        result = evaluate(query, events, now_s=FIRST_MS / 1000)
    except QueryError as error:
        assert 1 <= error.line <= query.count("\n") + 1
        assert error.column >= 1
        assert "\n" not in str(error)
        assert not [word for word in ENGINE if word in str(error) and word not in query], query
        with pytest.raises(QueryError) as moved:
            evaluate("# below\n" + query, events, now_s=FIRST_MS / 1000)
        assert (moved.value.line, moved.value.column) == (error.line + 1, error.column), query
        return
    assert all(set(row) <= set(result.columns) for row in result.rows)
    assert len(result.as_strings()) == len(result.as_service()) == len(result.rows)


@given(st.lists(commands(), min_size=1, max_size=4).map("\n| ".join))
def test_any_query_of_the_grammar_evaluates_or_is_refused(query):
    answers(query)


SPLINTERS = ["(", ")", "|", ",", '"', "'", "/", "`", "#", "[", "]", "*", "=", " as ", " by ", "1e999", "é", "\x00"]
SPLINTERS += [
    "2147483647",
    "-1",
    "1e300",
    "9007199254740993",
    "0",
    "9" * 400,
    "{previous}",
    "column_1",
    "''",
    "\\",
    "~",
]
SPLINTERS += [
    "[[:alpha:](]",
    "(?<",
    "(?<x>",
    "\\(",
    "{1001}",
    "\\pN",
    "\\C",
    "(?i)",
    "$1",
    "not ",
    " | ",
    ".0",
    "@",
    "bin(",
]


# Numbers and texts at the edges of what SQL's own types hold, and the places where they may stand.
EDGES = ["0", "-1", "2147483647", "2147483648", "9223372036854775807", "18446744073709551616", "1e300", "1e-300", "0.5"]
EDGES += [
    "'2147483647'",
    "'-9223372036854775808'",
    "'1e400'",
    "'nan'",
    "''",
    "'{previous}'",
    "'%'",
    "'(?<'",
    r"'\\(?<'",
]
LITERAL = re.compile(r"\b\d+(\.\d+)?\b|'[^'\n]*'|\"[^\"\n]*\"|\b[a-z]\w*\b(?= *[,)])")


@st.composite
def at_the_edge(draw):
    """A query in which one or two numbers, texts or fields have been replaced."""
    text = draw(st.sampled_from(SAVED) | st.sampled_from(CASES))
    for _ in range(draw(st.integers(1, 2))):
        if places := [match.span() for match in LITERAL.finditer(text)]:
            start, end = draw(st.sampled_from(places))
            text = text[:start] + draw(st.sampled_from(EDGES)) + text[end:]
    return text


@st.composite
def mutated(draw):
    """A query with a few pieces cut, doubled, moved or replaced."""
    text = draw(st.sampled_from(SAVED) | st.sampled_from(CASES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 25)))
        pieces = ["", text[start:end] * 2, *SPLINTERS]
        text = text[:start] + draw(st.sampled_from(pieces)) + text[end:]
    return text


@given(mutated() | at_the_edge())
def test_a_mutated_query_evaluates_or_is_refused(query):
    answers(query)


@pytest.fixture(scope="module")
def log_file(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "log.jsonl"


@given(st.binary(max_size=80) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_as_a_file_are_read_or_refused(log_file, content):
    log_file.write_bytes(content)
    try:
        evaluate("fields @message, a", log_file)
    except EventsError as error:
        assert "\n" not in str(error)
