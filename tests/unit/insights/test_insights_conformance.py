"""Runs the cases of tests/data/insights, and checks that they and the document name every command
and function."""

import re
from pathlib import Path

import pytest

from stampede.insights import QueryError, evaluate
from stampede.insights.expressions.compiler import KNOWN_FUNCTIONS
from stampede.insights.expressions.functions.table import UNSUPPORTED
from stampede.insights.language.names import spelled
from stampede.insights.language.refusals import COMMANDS, UNSUPPORTED_COMMANDS
from tests.unit.insights.cases import CASES

# A command follows a pipe or the beginning.
EVALUATED = "|" + "|".join(case["query"].lower() for case in CASES.values() if "rows" in case)
DOCUMENT = (Path(__file__).parents[3] / "docs" / "insights.md").read_text(encoding="utf-8")
SUPPORTED, REFUSED = DOCUMENT.split("## Decisions")[0].split("## What is refused")


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


def test_cases_and_document_name_every_command_and_function():
    for function in KNOWN_FUNCTIONS:
        assert f"{function}(" in EVALUATED
        assert f"`{spelled(function)}`" in SUPPORTED, function
    for command in COMMANDS:
        assert re.search(rf"\|\s*{command}\b", EVALUATED)
        assert f"`{command}`" in SUPPORTED, command
    for name in (*UNSUPPORTED, *UNSUPPORTED_COMMANDS):
        assert re.search(rf"(?i)\b{name}\b", REFUSED), name
