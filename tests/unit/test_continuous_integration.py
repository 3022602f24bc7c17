"""The workflows that run on every push and every night: what this repository can know of them."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github/workflows").iterdir())


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request) -> Path:
    return request.param


@pytest.fixture
def workflow(file) -> dict:
    return yaml.safe_load(file.read_text())


@pytest.fixture
def steps(workflow) -> list[dict]:
    [job] = workflow["jobs"].values()
    return job["steps"]


def named(file: str) -> dict:
    return yaml.safe_load((ROOT / ".github/workflows" / file).read_text())


def test_a_push_runs_check_and_test_which_the_makefile_has():
    job = named("ci.yml")["jobs"]["make"]
    assert job["strategy"]["matrix"]["target"] == ["check", "test"]
    assert job["steps"][-1] == {"run": "make ${{ matrix.target }}"}
    for target in job["strategy"]["matrix"]["target"]:
        assert re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text())


def test_every_night_property_tests_run_at_random():
    workflow = named("fuzz.yml")
    assert "schedule" in workflow[True]  # YAML 1.1 reads `on` as a boolean
    assert workflow["jobs"]["fuzz"]["steps"][-1] == {"run": "make fuzz"}
    assert re.search(r"(?m)^fuzz:", (ROOT / "Makefile").read_text())


def test_it_may_only_read_and_keeps_no_credentials(workflow, steps):
    assert workflow["permissions"] == {"contents": "read"}
    [checkout] = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["persist-credentials"] is False


def test_every_action_is_pinned_by_the_digest_of_its_commit_beside_its_version(file):
    actions = re.findall(r"\buses:\s*(.+)", file.read_text())
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_it_runs_the_oldest_python_that_the_package_promises(steps):
    [version] = [step["with"]["python-version"] for step in steps if "python" in step.get("id", "")]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"] == f">={version}"


def test_every_path_whose_content_names_a_cache_is_there(file, steps):
    calls = re.findall(r"hashFiles\(([^)]*)\)", file.read_text())
    paths = {path for call in calls for path in re.findall(r"'([^']+)'", call)}
    for step in steps:
        paths |= set(step.get("with", {}).get("cache-dependency-path", "").split())
    assert len(paths) >= 2
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []
