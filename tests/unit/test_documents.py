"""What README, CONTRIBUTING and docs/ point at is there: a map that shows rooms which have moved is worse than none."""

import re
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from loader.command_line import VERBS

ROOT = Path(__file__).resolve().parents[2]
# The name of its first column, and its rows.
TABLE = r"(?m)^\| (\w+) \|.*\n\| ---.*\n((?:\|.*\n)+)"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_within_the_repository_leads_somewhere(document):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_target_that_is_named_is_one_of_the_makefile(document):
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())
    named = re.findall(r"(?m)(?:`|^)make\s([a-z-]+)", document.read_text())
    assert [target for target in named if target not in targets] == []


def test_every_folder_on_the_map_is_there():
    first_columns = re.findall(r"(?m)^\| (.+?) \|", (ROOT / "CONTRIBUTING.md").read_text())
    folders = [folder for column in first_columns for folder in re.findall(r"`([\w/]+/)(?:<\w+>/)?`", column)]
    assert len(folders) >= 8
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_the_readme_is_short_and_its_tables_have_every_experiment_every_verb_and_only_variables_that_there_are():
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") < 200
    columns = {head: re.findall(r"(?m)^\| (.+?) \|", rows) for head, rows in re.findall(TABLE, text)}
    assert [re.match(r"\[(\w+)\]", cell)[1] for cell in columns["experiment"]] == list(EXPERIMENTS)
    assert {cell.strip("`") for cell in columns["verb"]} == set(VERBS)
    named = {name for cell in columns["variable"] for name in re.findall(r"`(\w+)`", cell)}
    declared = "".join(path.read_text() for path in (ROOT / "infra").glob("variables*.tf"))
    assert named <= set(re.findall(r'(?m)^variable "(\w+)"', declared))
