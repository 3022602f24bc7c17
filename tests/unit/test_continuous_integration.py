"""The workflows for every push and every night, as far as this repository can check them."""

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


def test_a_workflow_may_only_read_keeps_no_credentials_and_pins_actions_by_commit(text):
    workflow = yaml.safe_load(text)
    [job] = workflow["jobs"].values()
    [checkout] = [
        step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert workflow["permissions"] == {"contents": "read"}
    assert checkout["with"]["persist-credentials"] is False
    assert unpinned(text) == []


WEEKLY = ROOT / "docs" / "weekly.yml"


def test_the_example_of_a_weekly_sweep_pins_its_actions_and_stays_within_a_budget():
    text = WEEKLY.read_text()
    assert unpinned(text) == []
    [sweep] = re.findall(r"- run: \S+/stampede (sweep .*)", text)
    arguments = build_parser().parse_args(sweep.split())
    assert arguments.target == "aws" and arguments.budget_usd and len(plan_of(arguments).cells) == 2


def test_the_example_reports_the_last_twelve_runs_and_stores_them_before_it_fails(
    tmp_path, monkeypatch
):
    """The last step in a shell, with programs that only print their arguments."""
    monkeypatch.chdir(tmp_path)
    [job] = yaml.safe_load(WEEKLY.read_text())["jobs"].values()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for name, status in (("stampede", 3), ("aws", 0)):
        program = tmp_path / ".venv/bin" / name
        program.write_text(f'#!/bin/sh\necho "$@" >> calls\nexit {status}\n')
        program.chmod(0o755)
    for day in range(10, 24):
        (tmp_path / f"results/202611{day}T000000Z").mkdir(parents=True)
    done = subprocess.run(
        ["bash", "-e", "-c", job["steps"][-1]["run"]],
        env={"PATH": f"{tmp_path}/.venv/bin:/usr/bin:/bin", "RUNS": "s3://my-bucket"},
        timeout=20,
    )
    report, stored = (tmp_path / "calls").read_text().splitlines()
    assert (done.returncode, stored) == (3, "s3 sync results s3://my-bucket")
    called = build_parser().parse_args(report.split())
    assert (called.fail_on, len(called.runs)) == ("slower", 12)
    assert called.runs[-1] == "results/20261123T000000Z"
