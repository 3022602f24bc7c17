"""A query that can't be evaluated exactly is refused with place and advice, before any event
is read.

In refused.txt an arrow below the query points to the place that the message names, with a word of
the message; a `fix` is the query that follows the advice.
"""

import re

import pytest

from stampede.insights import QueryError, check, evaluate
from stampede.insights.expressions.functions.table import UNSUPPORTED
from stampede.insights.language.refusals import UNSUPPORTED_COMMANDS
from tests.unit.insights.cases import FOLDER

# Too long, or with invisible characters: query, line, column, word.
UNWRITABLE = {
    "space": ("fields a |\u00a0sort a", 1, 11, "plain space"),
    "mark": ("\ufefffields a", 1, 1, "byte order mark"),
    "zero": ("fields a\0", 1, 9, "U+0000"),
    "end": ("filter a =\n\n", 1, 11, "the query ends"),
    "below a comment": (
        "# " + "x" * 500 + "\nfields a\n| filter a = 1\n    and b === 2",
        4,
        11,
        "one =",
    ),
    "stats": ("stats count(*) as n" + "\n| stats max(n) as n" * 10, 11, 3, "at most 10 stats"),
    "functions": ("fields " + "abs(" * 60 + "a" + ")" * 60, 1, 168, "deeper than 40"),
    "a sum": ("fields " + "a + " * 41 + "a as b", 1, 8, "deeper than 40"),
    "parentheses": (
        "fields a as b | display " + "(" * 4000 + "a" + ")" * 4000,
        1,
        220,
        "too deeply",
    ),
    "signs": ("filter " + "not " * 2000 + "a = 1", 1, 800, "too deeply"),
    "characters": ("filter a = 1 | " * 1500 + "limit 5", 1, 10_001, "at most 10,000 characters"),
    "filters": ("filter a=1|" * 401 + "limit 5", 1, 4410, "400 steps"),
    "digits": ("fields a | limit " + "9" * 5000, 1, 18, "5000 digits"),
}


@pytest.mark.parametrize(
    "written", (FOLDER / "refused.txt").read_text(encoding="utf-8").strip().split("\n\n")
)
def test_a_refusal_points_to_the_place_and_its_fix_compiles(written):
    lines = written.split("\n")
    [line] = [number for number, text in enumerate(lines) if re.match(r" *\^ ", text)]
    blank, _, word = lines[line].partition("^ ")
    fixes = [text.removeprefix("fix: ") for text in lines if text.startswith("fix: ")]
    query = "\n".join([*lines[:line], *lines[line + 1 : len(lines) - len(fixes)]])
    assert_refused(query, line, len(blank) + 1, word)
    for fix in fixes:
        check(fix)


@pytest.mark.parametrize("what", UNWRITABLE)
def test_long_queries_and_invisible_characters_are_refused_at_their_place(what):
    assert_refused(*UNWRITABLE[what])


def assert_refused(query, line, column, word):
    with pytest.raises(QueryError) as caught:
        check(query)
    message = str(caught.value)
    assert word in message
    assert (caught.value.line, caught.value.column) == (line, column), message
    assert message.startswith(f"line {line}, column {column}: ")
    assert "\n" not in message and len(message) < 400


def test_unsupported_commands_and_functions_are_refused_by_name():
    for command in UNSUPPORTED_COMMANDS:
        assert_refused(
            f"fields a\n| {command} a", 2, 3, f"the command {command} is not supported: "
        )
    for function, message in UNSUPPORTED.items():
        assert_refused(f"fields {function}(a)", 1, 8, message)


def test_many_aliases_share_a_stage_and_concat_takes_thousands_of_arguments():
    check("fields " + ", ".join(f"a + {number} as b{number}" for number in range(410)))
    events = [{"timestamp": 1, "message": '{"a": 1}'}]
    [row] = evaluate(f"fields concat({'a,' * 2000}'x') as r", events).rows
    assert row["r"] == "1" * 2000 + "x"


def test_a_query_is_refused_before_the_events_are_read():
    with pytest.raises(QueryError):
        evaluate("fields abs(", "/no/such/file.jsonl")
