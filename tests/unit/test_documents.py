"""What README, CONTRIBUTING and docs/ point at is there: a map that shows rooms which have moved is worse than none."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_folder_on_the_map_is_there(name):
    first_columns = re.findall(r"(?m)^\| (.+?) \|", (ROOT / name).read_text())
    folders = [folder for column in first_columns for folder in re.findall(r"`([\w/]+/)(?:<\w+>/)?`", column)]
    assert len(folders) >= 8
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
