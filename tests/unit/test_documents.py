"""What README, CONTRIBUTING and docs/ point at is there, and what they tell to type is what
Stampede takes."""

import argparse
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.cli.arguments import plan_of
from stampede.cli.command_line import VERBS, build_parser
from stampede.experiment import DataObject
from stampede.stacks import own_object
from tests.commands import DOCUMENTS, ROOT, every_command

PAGES = [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "experiments/README.md"]
TYPED = [command.words[1:] for command in every_command() if command.words[0] == "stampede"]


@pytest.fixture(params=PAGES, ids=lambda path: path.name)
def page(request) -> Path:
    return request.param


def anchors(document: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"(?m)^#+ (.*)$", document.read_text())
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_within_the_repository_leads_to_a_file_and_a_heading_of_it(page):
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"


@cache
def options_of(verb: str) -> set[str]:
    [verbs] = [
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return set(verbs.choices[verb]._option_string_actions)


def test_every_make_target_verb_option_and_variable_that_is_named_is_there(page):
    text = page.read_text()
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())
    assert set(" ".join(re.findall(r"(?m)(?:`|^)make((?:\s[a-z-]+)+)", text)).split()) <= set(
        targets
    )
    for command in re.findall(r"`(?:\.venv/bin/)?stampede\s([^`]+)`", text):
        verb, *words = shlex.split(command)
        if verb in VERBS:
            assert {word for word in words if word.startswith("--")} <= options_of(verb), command
    declared = "".join(path.read_text() for path in (ROOT / "infra").glob("variables*.tf"))
    known = {axis.variable for experiment in EXPERIMENTS.values() for axis in experiment.axes}
    known |= {*re.findall(r'(?m)^variable "(\w+)"', declared), "NAME", "VARIABLE", "KEY", "object"}
    assert set(re.findall(r"(?:-var|--set|--order)[ =]'?(\w+)=", text)) <= known


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_every_command_line_in_a_block_is_one_that_stampede_takes(words, monkeypatch):
    somebodys = DataObject("k", 5, etag='"a"', bucket="my-bucket")
    monkeypatch.setattr(own_object, "of_plan", lambda option, experiment, cells: somebodys)
    arguments = build_parser().parse_args(words)
    if arguments.verb in ("sweep", "doctor", "simulate"):
        assert plan_of(arguments).cells


def test_every_folder_on_the_map_is_there():
    folders = re.findall(r"(?m)^\| `([\w/]+/)` \|", (ROOT / "CONTRIBUTING.md").read_text())
    assert len(folders) >= 8
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
