"""An experiment asks one question, in the same words everywhere: in --help, in its report and in README's table."""

import re
from pathlib import Path

import pytest

from experiments import EXPERIMENTS

README = Path(__file__).resolve().parents[3] / "README.md"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_readme_asks_what_the_experiment_asks(name):
    asked = dict(re.findall(r"(?m)^\| \[(\w+)\]\(docs/\w+\.md\) \| (.+?) \|", README.read_text()))
    without_links = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", asked[name])
    assert without_links == EXPERIMENTS[name].question
