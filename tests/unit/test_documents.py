"""What README, CONTRIBUTING and docs/ point at is there: a map that shows rooms which have moved is worse than none."""

import argparse
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.cli.arguments import plan_of
from stampede.cli.command_line import VERBS, build_parser
from tests.commands import every_command

ROOT = Path(__file__).resolve().parents[2]
DECLARED = set(
    re.findall(r'(?m)^variable "(\w+)"', "".join(path.read_text() for path in (ROOT / "infra").glob("variables*.tf")))
)
# Where a message of a program may be written.
SOURCES = ("experiments", "functions", "loader", "stampede")
# The name of its first column, and its rows.
TABLE = r"(?m)^\| (\w+) \|.*\n\| ---.*\n((?:\|.*\n)+)"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def anchors(document: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"(?m)^#+ (.*)$", document.read_text())
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_within_the_repository_leads_to_a_file_and_a_heading_of_it(document):
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", document.read_text()):
        target = document.parent / file if file else document
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_target_that_is_named_is_one_of_the_makefile(document):
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())
    named = " ".join(re.findall(r"(?m)(?:`|^)make((?:\s[a-z-]+)+)", document.read_text())).split()
    assert [target for target in named if target not in targets] == []


TYPED = [command.words[1:] for command in every_command() if command.words[0] == "stampede"]


@cache
def options_of(verb: str) -> set[str]:
    [verbs] = [action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return set(verbs.choices[verb]._option_string_actions)


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_every_command_line_in_a_block_is_one_that_stampede_takes(words):
    arguments = build_parser().parse_args(words)
    if arguments.verb in ("sweep", "doctor", "simulate"):
        assert plan_of(arguments).cells


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_verb_and_option_that_is_named_within_a_text_is_one_of_stampede(document):
    for text in re.findall(r"`(?:\.venv/bin/)?stampede\s([^`]+)`", document.read_text()):
        verb, *words = shlex.split(text)
        if not verb.startswith(("-", "...")):
            assert {word for word in words if word.startswith("--")} <= options_of(verb), text


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_variable_that_is_set_is_one_of_infra_or_of_a_message(document):
    text = document.read_text()
    setting_names = re.findall(r"(?:-var|--set|--order)[ =]'?(\w+)=", text)
    of_messages = {axis.variable for experiment in EXPERIMENTS.values() for axis in experiment.axes}
    assert set(setting_names) <= DECLARED | of_messages | {"NAME", "VARIABLE", "KEY"}


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
    assert named <= DECLARED


@cache
def source_words() -> str:
    """What programs may print, with one space between words: strings joined, quotes and backticks left out."""
    files = [path for folder in SOURCES for suffix in ("*.py", "*.go") for path in (ROOT / folder).rglob(suffix)]
    files += [ROOT / "Makefile", *(ROOT / "infra").rglob("*.tf")]
    return bare(re.sub(r'"\s*\n\s*(?:\+ )?f?"', "", "".join(path.read_text() for path in files)))


def bare(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[`'\"\\]", "", text))


def test_every_message_that_is_explained_is_one_that_a_program_prints():
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    unknown = []
    for _, rows in re.findall(r"(?m)^(\|.*message \|).*\n\| ---.*\n((?:\|.*\n)+)", text):
        for message in re.findall(r"`([^`]+)`", "".join(row[: row.rindex(" | ")] for row in rows.splitlines())):
            words = bare(message).split()
            threes = [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]
            threes = [three for three in threes if not re.search(r"\.\.\.|\d|[A-Z]{4}", three)]
            in_source = sum(three.strip(" ;:,.()") in source_words() for three in threes)
            if len(threes) > 1 and in_source < 0.7 * len(threes):
                unknown.append(message)
    assert unknown == []
