"""What is compiled binds in the engine, and has there the type of its kind, whatever the arguments
are."""

from contextlib import suppress

import pytest

from stampede.insights import QueryError
from stampede.insights.commands.compilation import compile_query
from stampede.insights.evaluation import connect
from stampede.insights.events.source import open_events
from stampede.insights.expressions.compiler import KNOWN_FUNCTIONS
from stampede.insights.expressions.functions.python_functions import register
from stampede.insights.language.parsing import parse
from stampede.insights.values import Kind
from tests.unit.insights.download_log import event
from tests.unit.insights.forms import AGGREGATE_FORMS, FORMS, filled

# Of every kind one that only the events tell, and those that the engine computes while it binds.
ARGUMENTS = [
    "a",
    "@message",
    "bin(5m)",
    "strlen(a)",
    "(a = 1)",
    "'10'",
    "1",
    "9007199254740993",
    "now()",
    "(1 = 2)",
]
ARGUMENTS += ["jsonParse('[1]')", "jsonParse(1)[0]"]
COMMANDS = [
    "filter f",
    "sort f desc",
    "dedup f",
    "stats count(*) by f",
    "limit 1 | sort f",
    "unnest f into x",
    "expand f",
]
COMMANDS += [
    "parse f 'a*' as x",
    "parse f /(?<x>a)/ multi",
    "parse f logfmt as x",
    "parse f csv as x",
]
COMMANDS += ["json field=f 'a' as x", "display f, f.a, f[0]", "filter f in [1, 'x']"]
TYPES = {Kind.INTEGER: {"BIGINT"}, Kind.TIMESTAMP: {"BIGINT"}, Kind.BOOLEAN: {"BOOLEAN"}}
TYPES[Kind.NUMBER] = {"DOUBLE", "VARCHAR"}  # text where it may be an integer that no double holds


@pytest.fixture(scope="module")
def bound():
    """Binds a query, which reads no event: the kind and the engine's type of each column."""
    with connect() as connection:
        source = open_events([event("")], connection)

        def bind(query):
            pipeline = compile_query(parse(query), now_s=0)
            register(pipeline.python_functions, connection)
            statement, outputs = pipeline.sql(source, fragments=False, first_fields=False)
            types = [row[1] for row in connection.execute(f"DESCRIBE {statement}").fetchall()]
            # the last is the place
            return [(kind, type_) for (_, kind), type_ in zip(outputs, types, strict=False)]

        yield bind


def accepted(command, expressions):
    """Those of the expressions that the command doesn't refuse, each with an alias."""
    kept = []
    for expression in expressions:
        titled = f"{expression} as x{len(kept)}"
        with suppress(QueryError):
            compile_query(parse(f"{command} {titled}"), now_s=0)
            kept.append(titled)
    return kept


@pytest.mark.parametrize(
    ("command", "form"),
    [*(("fields", form) for form in FORMS), *(("stats", form) for form in AGGREGATE_FORMS)],
)
def test_a_column_is_of_the_type_of_its_kind_whatever_the_arguments_are(command, form, bound):
    kept = accepted(command, [filled(form, argument) for argument in ARGUMENTS])
    assert kept
    for titled, (kind, type_) in zip(kept, bound(f"{command} {', '.join(kept)}"), strict=True):
        assert type_ in TYPES.get(kind, {"VARCHAR"}), titled


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_binds_whatever_its_field_is(command, bound):
    queries = [f"fields {argument} as f | {command}" for argument in ARGUMENTS]
    tried = 0
    for query in queries:
        with suppress(QueryError):
            bound(query)
            tried += 1
    assert tried


def test_every_function_is_tried():
    written = " ".join([*FORMS, *AGGREGATE_FORMS, *ARGUMENTS]).lower()
    assert [name for name in KNOWN_FUNCTIONS if f"{name}(" not in written] == []
