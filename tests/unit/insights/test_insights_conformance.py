"""Runs the cases of tests/data/insights, and sees that they and the document name all that the
evaluator knows."""

import re
from pathlib import Path

import pytest

from stampede.insights import QueryError, evaluate
from stampede.insights.expressions.compiler import KNOWN_FUNCTIONS
from stampede.insights.expressions.functions.table import UNSUPPORTED
from stampede.insights.language.names import spelled
from stampede.insights.language.refusals import COMMANDS, UNSUPPORTED_COMMANDS
from tests.unit.insights.cases import CASES

EVALUATED = " ".join(case["query"].lower() for case in CASES.values() if "rows" in case)
DOCUMENT = (Path(__file__).parents[3] / "docs" / "insights.md").read_text(encoding="utf-8")
_, SUPPORTED, RESTS_ON, REFUSED = re.split(
    "## What is supported|## What each command and function rests on|## What is refused",
    DOCUMENT.split("## Decisions")[0],
)


@pytest.mark.parametrize("name", CASES)
def test_a_case_holds(name):
    case = CASES[name]
    assert case["rests_on"]
    if "error" in case:
        with pytest.raises(QueryError) as caught:
            evaluate(case["query"], case["events"])
        assert case["error"] in str(caught.value)
        return
    result = evaluate(case["query"], case["events"])
    assert result.rows == case["rows"]
    assert result.columns == case.get("columns", result.columns)
    if "strings" in case:
        assert result.as_strings() == case["strings"]
    if "notes" in case:
        assert all(words in note for words, note in zip(case["notes"], result.notes, strict=True))


def test_a_case_and_the_document_have_every_command_and_function():
    for function in KNOWN_FUNCTIONS:
        assert f"{function}(" in EVALUATED
        assert re.search(rf"(?<!\w){spelled(function)}(?!\w)", SUPPORTED), function
    for command in COMMANDS:
        assert re.search(rf"(^|\| *|\n){command}\b", EVALUATED)
        assert f"`{command}`" in SUPPORTED


@pytest.mark.parametrize("name", [*COMMANDS, *sorted(KNOWN_FUNCTIONS)])
def test_one_row_of_the_document_names_the_page_that_a_command_or_function_rests_on(name):
    [row] = [
        row.split(" | ")
        for row in RESTS_ON.splitlines()
        if f"`{spelled(name)}`" in row.split(" | ")[0]
    ]
    assert re.match(r"CWL_QuerySyntax-[\w-]+|not found on a page: ", row[1])


def test_the_document_has_everything_that_is_refused_by_name():
    absent = [
        name
        for name in (*UNSUPPORTED, *UNSUPPORTED_COMMANDS)
        if not re.search(rf"(?i)\b{name}\b", REFUSED)
    ]
    assert absent == []
