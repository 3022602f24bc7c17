"""The documentation and the conformance cases name everything that the evaluator knows, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from stampede.insights.expressions.compiler import KNOWN_FUNCTIONS
from stampede.insights.expressions.functions.table import UNSUPPORTED
from stampede.insights.language.names import spelled
from stampede.insights.language.refusals import COMMANDS, UNSUPPORTED_COMMANDS

ROOT = Path(__file__).parents[3]
CASES = [
    case
    for path in sorted((ROOT / "tests" / "data" / "insights").glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]
EVALUATED = " ".join(case["query"].lower() for case in CASES if "rows" in case)
DOCUMENT = (ROOT / "docs" / "insights.md").read_text(encoding="utf-8")
SUPPORTED = DOCUMENT.split("## What is supported")[1].split("## What each command and function rests on")[0]
RESTS_ON = DOCUMENT.split("## What each command and function rests on")[1].split("## What is refused")[0]
REFUSED = DOCUMENT.split("## What is refused")[1].split("## Decisions")[0]


@pytest.mark.parametrize("function", sorted(KNOWN_FUNCTIONS))
def test_every_function_is_in_a_conformance_case_and_in_the_document(function):
    assert f"{function}(" in EVALUATED
    assert re.search(rf"(?<!\w){spelled(function)}(?!\w)", SUPPORTED)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_a_conformance_case_and_in_the_document(command):
    assert re.search(rf"(^|\| *|\n){command}\b", EVALUATED)
    assert f"`{command}`" in SUPPORTED


@pytest.mark.parametrize("name", [*COMMANDS, *sorted(KNOWN_FUNCTIONS)])
def test_one_row_names_the_page_that_a_command_or_function_rests_on(name):
    rows = [row.split(" | ") for row in RESTS_ON.splitlines() if f"`{spelled(name)}`" in row.split(" | ")[0]]
    assert len(rows) == 1, f"{name} stands in {len(rows)} rows of docs/insights.md"
    assert re.match(r"CWL_QuerySyntax-[\w-]+|not found on a page: ", rows[0][1])


def test_the_pages_were_read_on_a_date():
    assert re.search(r"all read on 20\d\d-\d\d-\d\d\.", RESTS_ON)


@pytest.mark.parametrize("name", sorted({*UNSUPPORTED, *UNSUPPORTED_COMMANDS}))
def test_everything_refused_by_name_is_in_the_document(name):
    assert re.search(rf"(?<!\w){name}(?!\w)", REFUSED, re.IGNORECASE)


def test_every_conformance_case_has_a_name_of_its_own_and_a_section():
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
    assert all(case["rests_on"] for case in CASES)
