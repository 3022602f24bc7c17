"""The workflow that runs on every push: what this repository can know of it."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def workflow() -> dict:
    return yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())


def test_it_runs_check_and_test_which_the_makefile_has(workflow):
    job = workflow["jobs"]["make"]
    assert job["strategy"]["matrix"]["target"] == ["check", "test"]
    assert job["steps"][-1] == {"run": "make ${{ matrix.target }}"}
    for target in job["strategy"]["matrix"]["target"]:
        assert re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text())


def test_it_may_only_read_and_names_a_major_version_of_every_action(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    actions = [step["uses"] for step in workflow["jobs"]["make"]["steps"] if "uses" in step]
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action)


def test_it_runs_the_oldest_python_that_the_package_promises(workflow):
    [version] = [
        step["with"]["python-version"] for step in workflow["jobs"]["make"]["steps"] if "python" in step.get("id", "")
    ]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"] == f">={version}"


def test_every_path_whose_content_names_a_cache_is_there(workflow):
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    named = {path for call in re.findall(r"hashFiles\(([^)]*)\)", text) for path in re.findall(r"'([^']+)'", call)}
    for step in workflow["jobs"]["make"]["steps"]:
        named |= set(step.get("with", {}).get("cache-dependency-path", "").split())
    assert len(named) >= 4
    assert [path for path in sorted(named) if not (ROOT / path).is_file()] == []
