"""A number in README and on an experiment's page stands in one place of the product; here the two are compared."""

import csv
import re
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from experiments.parameters import known_parameters
from stampede.cli.arguments import plan_of
from stampede.cli.command_line import build_parser, main
from stampede.emulator import go_build
from stampede.planning.cost.estimates import estimate
from stampede.planning.rules import UNRESERVED
from tests import measured
from tests.commands import DOCUMENTS, ROOT

README = (ROOT / "README.md").read_text()
PAGES = {name: ROOT / "docs" / f"{name}.md" for name in EXPERIMENTS} | {"copy_host": ROOT / "docs" / "copy.md"}
HALVES = {0: "", 1: "½"}


def table(text: str, heading: str) -> list[dict[str, str]]:
    """The rows of the first table of `text` that has the column `heading`, by column."""
    for match in re.finditer(r"(?m)^\|.*\|\n\| ---.*\|\n(?:\|.*\|\n)+", text):
        head, _, *rows = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in match[0].splitlines())
        if heading in head:
            return [dict(zip(head, row, strict=True)) for row in rows]
    raise AssertionError(f"no table with the column {heading}")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_excerpts_of_measured_tables_are_those_of_the_stored_runs(document):
    for _, experiment, pattern, shown in measured.EXCERPT.findall(document.read_text()):
        assert shown == measured.excerpt(measured.read()[experiment]["table"], pattern)


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        ([], 'FOLDERS: none given; name folders of runs: FOLDERS="results/A results/B"'),
        (["nix"], "/nix isn't the folder of a finished run; name one of those in results/"),
        (["begun"], "/begun isn't the folder of a finished run; name one of those in results/"),
        (["torn"], "/torn/run.json is damaged ("),
    ],
)
def test_measured_tables_and_pictures_are_made_of_finished_runs_alone(folders, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"whole": '{"finished_at": "2026"}', "begun": '{"finished_at": null}', "torn": "{"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(text)
    assert measured.run_folders(["whole"]) == [tmp_path / "whole"]
    with pytest.raises(SystemExit) as ended:
        measured.run_folders(folders)
    assert str(ended.value.code).startswith("FOLDERS: ") and words in ended.value.code


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_times_and_costs_are_those_of_the_stored_run_and_of_the_estimate(name):
    [row] = [row for row in table(README, "on AWS") if row["experiment"].startswith(f"[{name}]")]
    halves = round(measured.read()[name]["took_s"] / 30)
    assert row["locally"] == f"{halves // 2}{HALVES[halves % 2]} min"
    there = estimate(plan_of(build_parser().parse_args(["sweep", name, "--target", "aws"])))
    minutes, usd = there.total_s / 60, there.total_usd
    assert row["on AWS"] == (f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h")
    cost = f"{usd:.0f} USD" if usd >= 1 else f"{usd:.2f} USD"
    assert row["cost on AWS"] == cost
    assert re.search(rf"about\s{cost}", PAGES[name].read_text())


@pytest.mark.parametrize("name", ["download", "filesystem", "copy", "copy_host", "function"])
def test_what_a_sweep_takes_is_what_its_page_says(name):
    column = "in a sweep" if name in ("download", "filesystem", "function") else f"`{name}`"
    rows = {re.match(r"`(\w+)`", row["`--set`"])[1]: row[column] for row in table(PAGES[name].read_text(), column)}
    for target, matrix in EXPERIMENTS[name].matrices.items():
        for variable, values in (matrix.swept | {key: (value,) for key, value in matrix.fixed.items()}).items():
            on_aws, _, locally = rows[variable].partition("; locally ")
            assert (target, variable, locally if target == "local" and locally else on_aws) == (
                target,
                variable,
                ", ".join(str(value).removeprefix(f"{ROOT}/") for value in values),
            )


def published_numbers(name: str) -> set[str]:
    """Every figure of the tables behind an experiment, as a page may write it: with thousands, or rounded."""
    numbers: set[float] = set()
    for published in EXPERIMENTS[name].published:
        file = ROOT / "experiments" / name / "published" / f"{published.file}.csv"
        rows = list(csv.DictReader(file.open()))
        numbers |= {float(value) for row in rows for value in row.values() if re.fullmatch(r"[\d.]+", value)}
        if name == "express":
            numbers |= {round(float(row["standard"]) / float(row["express"]), 2) for row in rows}
    return {f"{number:,.{digits}f}" for number in numbers for digits in (0, 1, 2)}


@pytest.mark.parametrize("name", [name for name, experiment in EXPERIMENTS.items() if experiment.published])
def test_the_published_tables_have_no_figure_that_the_stored_ones_lack(name):
    section = re.search(r"(?ms)^## The published results?\n(.*?)^## ", PAGES[name].read_text())[1]
    shown = [cell.strip() for line in re.findall(r"(?m)^\|(.*)\|$", section) for cell in line.split("|")]
    figures = {match[1] for cell in shown if (match := re.fullmatch(r"([\d,]+\.\d+)(?: s| USD)?", cell))}
    known = set().union(*(published_numbers(experiment) for experiment, page in PAGES.items() if page == PAGES[name]))
    assert figures, section
    assert figures <= known


def test_the_numbers_of_the_readme_are_those_of_declaration_model_and_pins():
    matrix = EXPERIMENTS["download"].matrices["aws"].swept
    per_n = EXPERIMENTS["download"].messages_per_concurrency
    n = max(matrix["concurrency_value"])
    downloads = per_n * sum(matrix["concurrency_value"]) * len(matrix["memory_size"])
    assert f"{downloads:,} downloads of 1 GiB" in README
    assert f"{n * per_n:,} messages" in README
    assert f"{UNRESERVED} must stay unreserved, so N = {n} needs an account limit of {n + UNRESERVED}" in README
    ramps = [int(known_parameters("download")[name]) for name in ("provisioned_per_minute", "sqs_per_minute")]
    assert f"{ramps[0]:,} more functions a minute instead of {ramps[1]}" in README
    python = re.search(r'requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text())[1]
    terraform = re.search(r'required_version = ">= (.*)"', (ROOT / "infra" / "terraform.tf").read_text())[1]
    go = re.search(r"install Go >= ([\d.]+)", Path(go_build.__file__).read_text())[1]
    assert f"Python {python} or newer and Go {go} or newer. Terraform ({terraform} or newer)" in README


def test_the_predictions_of_the_page_are_those_that_simulate_prints(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["simulate", "download"]) == 0
    printed = {line.rstrip() for text in capsys.readouterr() for line in text.splitlines()}
    [shown] = re.findall(r"(?m)^```\n([^`]*^─+\n[^`]*)", (ROOT / "docs" / "simulate.md").read_text())
    assert [line for line in shown.splitlines() if line.rstrip() not in printed] == []
