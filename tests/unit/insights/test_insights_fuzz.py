"""Any input is evaluated, or refused at its place: every form with every kind of argument, damaged
versions of others' queries, any file."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import EventsError, QueryError, check, evaluate
from tests.unit.insights.cases import CASES
from tests.unit.insights.download_log import FIRST_MS, event, record, report
from tests.unit.insights.forms import AGGREGATE_FORMS, FORMS, filled

SAVED = [
    path.read_text() for path in sorted((Path(__file__).parents[3] / "queries").rglob("*.cwli"))
]
QUERIES = SAVED + [case["query"] for case in CASES.values()]
# Words that only the engine, or the SQL written for it, uses.
ENGINE = (
    "Binder",
    "Parser Error",
    "Catalog",
    "INT32",
    "INT64",
    "stage_",
    "output_",
    "column_",
    "evaluator failed",
)
EVENTS = [
    event(record(), FIRST_MS, logStream="s"),
    event(report("r", 12.5, 128), FIRST_MS + 1),
    event(
        '{"a": 1, "b": {"c": "x"}, "l": [1, {"d": 2}], "ip": "10.0.0.1", "s": "k=v"}', FIRST_MS + 2
    ),
    event("plain", FIRST_MS + 3),
]
# Of every kind, a value from the events, and values that the engine computes at bind time.
ARGUMENTS = """a|@message|bin(5m)|strlen(a)|(a = 1)|'10'|1|9007199254740993|now()|(1 = 2)
    |jsonParse('[1]')|jsonParse(1)[0]""".replace("\n    ", "").split("|")
COMMANDS = [
    "filter f",
    "sort f desc",
    "dedup f",
    "stats count(*) by f",
    "limit 1 | sort f",
    "unnest f into x",
    "expand f",
    "parse f 'a*' as x",
    "parse f /(?<x>a)/ multi",
    "parse f logfmt as x",
    "parse f csv as x",
    "json field=f 'a' as x",
    "display f, f.a, f[0]",
    "filter f in [1, 'x']",
]
# Numbers and texts at the limits of SQL's own types, then characters that break a text.
EDGES = r"""0 -1 2147483648 9223372036854775807 18446744073709551616 9007199254740993
    1e300 1e-300 0.5 5m 3y 0s '' 'nan'
    '-9223372036854775808' '1e400' '%' '(?<' '\\(?<' '{previous}' now() {previous}
    column_1 ( ) | , " ' / ` # [ ] * =
    as by not 1e999 é \ ~ @ .0 bin( (?< (?<x> [[:alpha:](] {1001} \pN \C (?i) $1 /a/"""
PIECES = [
    "",
    "\0",
    *EDGES.split(),
    *(filled(form, "a", "@timestamp", "'10'") for form in FORMS + AGGREGATE_FORMS),
]
OPERAND = re.compile(r"\b\d+(\.\d+)?\b|'[^'\n]*'|\"[^\"\n]*\"|\b[a-z]\w*\b(?= *[,)])")


@pytest.mark.parametrize(
    ("command", "form"),
    [*(("fields", form) for form in FORMS), *(("stats", form) for form in AGGREGATE_FORMS)],
)
def test_a_form_is_evaluated_or_refused_whatever_its_arguments(command, form):
    accepted = []
    for argument in ARGUMENTS:
        titled = f"{filled(form, argument)} as x{len(accepted)}"
        with suppress(QueryError):
            check(f"{command} {titled}")
            accepted.append(titled)
    assert evaluate(f"{command} {', '.join(accepted)}", EVENTS).rows


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_evaluated_or_refused_whatever_its_field(command):
    for argument in ARGUMENTS:
        with suppress(QueryError):
            evaluate(f"fields {argument} as f | {command}", EVENTS)


@st.composite
def damaged(draw):
    """A query in which operands, or a few characters anywhere, were replaced, cut or doubled."""
    text = draw(st.sampled_from(QUERIES))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 25)))
        operands = [match.span() for match in OPERAND.finditer(text)]
        start, end = draw(st.sampled_from([(start, end), *operands]))
        piece = draw(st.sampled_from([*PIECES, text[start:end] * 2]))
        text = text[:start] + piece + text[end:]
    return text


@given(damaged() | st.text(max_size=40))
def test_a_damaged_query_is_evaluated_or_refused_at_its_place(query):
    try:
        result = evaluate(query, EVENTS, now_s=FIRST_MS / 1000)
    except QueryError as error:
        assert 1 <= error.line <= query.count("\n") + 1 and error.column >= 1
        assert "\n" not in str(error)
        assert not [word for word in ENGINE if word in str(error) and word not in query]
        return
    assert all(set(row) <= set(result.columns) for row in result.rows)
    assert len(result.as_strings()) == len(result.as_service()) == len(result.rows)


@pytest.fixture(scope="module")
def log_file(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "log.jsonl"


@given(
    st.binary(max_size=80)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_as_a_file_are_read_or_refused(log_file, content):
    log_file.write_bytes(content)
    try:
        evaluate("fields @message, a", log_file)
    except EventsError as error:
        assert "\n" not in str(error)
