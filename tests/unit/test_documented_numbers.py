"""Numbers in README and on the experiments' pages agree with their sources in the product."""

import re

import pytest

from experiments import EXPERIMENTS
from stampede.cli.arguments import plan_of
from stampede.cli.command_line import build_parser
from stampede.planning.cost.estimates import estimate
from tests import drawn
from tests.commands import DOCUMENTS, ROOT

README = (ROOT / "README.md").read_text()
PAGES = {name: ROOT / "docs" / f"{name}.md" for name in EXPERIMENTS} | {
    "copy_host": ROOT / "docs" / "copy.md"
}
HALVES = {0: "", 1: "½"}


def table(text: str, heading: str) -> list[dict[str, str]]:
    """The rows of the first table of `text` that has the column `heading`, by column."""
    for match in re.finditer(r"(?m)^\|.*\|\n\| ---.*\|\n(?:\|.*\|\n)+", text):
        head, _, *rows = (
            [cell.strip() for cell in line.strip("|\n").split("|")]
            for line in match[0].splitlines()
        )
        if heading in head:
            return [dict(zip(head, row, strict=True)) for row in rows]
    raise AssertionError(f"no table with the column {heading}")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_pages_tables_of_runs_and_predictions_are_current(document, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = document.read_text()
    assert drawn.drawn(text) == text, "run python -m tests.drawn"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_times_and_costs_agree_with_the_stored_run_and_the_estimate(name):
    [row] = [row for row in table(README, "on AWS") if row["experiment"].startswith(f"[{name}]")]
    halves = round(drawn.measured()[name]["took_s"] / 30)
    assert row["locally"] == f"{halves // 2}{HALVES[halves % 2]} min"
    there = estimate(plan_of(build_parser().parse_args(["sweep", name, "--target", "aws"])))
    minutes, usd = there.total_s / 60, there.total_usd
    assert row["on AWS"] == (f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h")
    cost = f"{usd:.0f} USD" if usd >= 1 else f"{usd:.2f} USD"
    assert row["cost on AWS"] == cost
    assert re.search(rf"about\s{cost}", PAGES[name].read_text())


@pytest.mark.parametrize("name", ["download", "filesystem", "copy", "copy_host", "function"])
def test_a_page_has_the_time_that_its_sweep_takes(name):
    column = "in a sweep" if name in ("download", "filesystem", "function") else f"`{name}`"
    rows = {
        re.match(r"`(\w+)`", row["`--set`"])[1]: row[column]
        for row in table(PAGES[name].read_text(), column)
    }
    for target, matrix in EXPERIMENTS[name].matrices.items():
        for variable, values in (
            matrix.swept | {key: (value,) for key, value in matrix.fixed.items()}
        ).items():
            on_aws, _, locally = rows[variable].partition("; locally ")
            assert (target, variable, locally if target == "local" and locally else on_aws) == (
                target,
                variable,
                ", ".join(str(value).removeprefix(f"{ROOT}/") for value in values),
            )


def test_the_numbers_of_the_readme_agree_with_declarations_and_pins():
    matrix = EXPERIMENTS["download"].matrices["aws"].swept
    per_n, n = EXPERIMENTS["download"].messages_per_concurrency, matrix["concurrency_value"]
    pins = [
        re.search(pattern, (ROOT / file).read_text())[1]
        for file, pattern in (
            ("pyproject.toml", r'requires-python = ">=(.*)"'),
            ("stampede/emulator/go_build.py", r"install Go >= ([\d.]+)"),
            ("infra/terraform.tf", r'required_version = ">= (.*)"'),
        )
    ]
    for words in (
        f"{per_n * sum(n) * len(matrix['memory_size']):,} downloads of 1 GiB",
        f"{max(n) * per_n:,} messages",
        "Python {} or newer and Go {} or newer. Terraform ({} or newer)".format(*pins),
    ):
        assert words in " ".join(README.split())
