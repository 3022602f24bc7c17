"""An experiment asks one question, in the same words everywhere: in --help, in its report and in README's table."""

import re

import pytest

from experiments import EXPERIMENTS
from tests.commands import ROOT, without_links

README = ROOT / "README.md"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_readme_asks_what_the_experiment_asks(name):
    questions = dict(re.findall(r"(?m)^\| \[(\w+)\]\(docs/\w+\.md\) \| (.+?) \|", README.read_text()))
    assert without_links(questions[name]) == EXPERIMENTS[name].question
