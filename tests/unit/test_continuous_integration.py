"""The workflows that run on every push and every night: what this repository can know of them."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from stampede.cli.arguments import plan_of
from stampede.cli.command_line import build_parser

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github/workflows"


def unpinned(text: str) -> list[str]:
    actions = re.findall(r"\buses:\s*(.+)", text)
    return [
        it
        for it in actions
        if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", it)
    ]


@pytest.fixture(params=sorted(FOLDER.iterdir()), ids=lambda file: file.stem)
def text(request) -> str:
    return request.param.read_text()


def test_a_push_runs_check_and_test_and_a_night_the_property_tests_which_the_makefile_has():
    [push], [night] = (
        yaml.safe_load((FOLDER / f"{name}.yml").read_text())["jobs"].values()
        for name in ("ci", "fuzz")
    )
    assert push["strategy"]["matrix"]["target"] == ["check", "test"]
    assert [job["steps"][-1] for job in (push, night)] == [
        {"run": "make ${{ matrix.target }}"},
        {"run": "make fuzz"},
    ]
    assert {"check", "test", "fuzz"} <= {
        *re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text())
    }


def test_it_may_only_read_keeps_no_credentials_and_pins_every_action_by_its_commit(text):
    workflow = yaml.safe_load(text)
    [job] = workflow["jobs"].values()
    [checkout] = [
        step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert (workflow["permissions"], checkout["with"]["persist-credentials"]) == (
        {"contents": "read"},
        False,
    )
    assert unpinned(text) == []


WEEKLY = ROOT / "docs" / "weekly.yml"


def test_the_example_of_a_weekly_sweep_pins_its_actions_and_stays_within_a_budget():
    text = WEEKLY.read_text()
    assert unpinned(text) == []
    [sweep] = re.findall(r"- run: \S+/stampede (sweep .*)", text)
    arguments = build_parser().parse_args(sweep.split())
    assert arguments.target == "aws" and arguments.budget_usd and len(plan_of(arguments).cells) == 2


@pytest.mark.parametrize(("count", "reported"), [(2, 0), (14, 12)])
def test_the_example_reports_the_last_twelve_runs_and_stores_them_before_it_fails(
    tmp_path, monkeypatch, count, reported
):
    """Its last step in a shell, with programs that only say how they were called."""
    monkeypatch.chdir(tmp_path)
    [job] = yaml.safe_load(WEEKLY.read_text())["jobs"].values()
    for name, status in ((".venv/bin/stampede", 3), ("bin/aws", 0)):
        program = tmp_path / name
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\necho "$0" "$@" >> calls\nexit {status}\n')
        program.chmod(0o755)
    for number in range(count):
        (tmp_path / f"results/202611{number + 10}T000000Z").mkdir(parents=True)
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "RUNS": "s3://my-bucket"}
    done = subprocess.run(
        ["bash", "-e", "-c", job["steps"][-1]["run"]], env=environment, timeout=20
    )
    *report, stored = (tmp_path / "calls").read_text().splitlines()
    assert (done.returncode, stored.split()[1:]) == (
        3 if reported else 0,
        ["s3", "sync", "results", "s3://my-bucket"],
    )
    for line in report:
        called = build_parser().parse_args(line.split()[1:])
        assert (called.fail_on, called.runs[-1]) == ("slower", f"results/202611{count + 9}T000000Z")
    assert [len(line.split("results/")) - 2 for line in report] == ([reported] if reported else [])
