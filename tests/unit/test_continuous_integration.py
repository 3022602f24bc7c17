"""The workflows that run on every push and every night: what this repository can know of them."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github/workflows"


@pytest.fixture(params=sorted(FOLDER.iterdir()), ids=lambda file: file.stem)
def text(request) -> str:
    return request.param.read_text()


def test_a_push_runs_check_and_test_and_a_night_the_property_tests_which_the_makefile_has():
    [push], [night] = (yaml.safe_load((FOLDER / f"{name}.yml").read_text())["jobs"].values() for name in ("ci", "fuzz"))
    assert push["strategy"]["matrix"]["target"] == ["check", "test"]
    assert [job["steps"][-1] for job in (push, night)] == [{"run": "make ${{ matrix.target }}"}, {"run": "make fuzz"}]
    assert {"check", "test", "fuzz"} <= {*re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text())}


def test_it_may_only_read_keeps_no_credentials_and_pins_every_action_by_its_commit(text):
    workflow = yaml.safe_load(text)
    [job] = workflow["jobs"].values()
    [checkout] = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert (workflow["permissions"], checkout["with"]["persist-credentials"]) == ({"contents": "read"}, False)
    actions = re.findall(r"\buses:\s*(.+)", text)
    assert [it for it in actions if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", it)] == []


def test_it_runs_the_oldest_python_that_the_package_promises(text):
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert re.findall(r'python-version: "(.+)"', text) == [oldest]
