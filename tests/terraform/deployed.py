"""What `terraform test` put up, with a provider that only answers with made-up ids.

Resources by run and address, outputs by run and name. Each file is run once in a process, as long as nothing changes.
"""

import functools
import json
import re
from pathlib import Path
from typing import Any

Resources = dict[str, dict[str, Any]]


def deployed(infra: Path, terraform: Any, name: str) -> dict[str, Resources]:
    """What infra/tests/<name>.tftest.hcl puts up: {run: {address: values}}."""
    return _resources(_states(infra, terraform, name))


def first_run_anew(infra: Path, terraform: Any, name: str) -> dict[str, dict[str, Any]]:
    """What the first run of infra/tests/<name>.tftest.hcl puts up after a change of what Terraform reads."""
    start, first, *_ = re.split(r'(?m)^(?=run ")', (infra / f"tests/{name}.tftest.hcl").read_text())
    file = infra / f"tests/{name}_anew.tftest.hcl"
    file.write_text(start + first)
    try:
        [resources] = _resources(_states.__wrapped__(infra, terraform, file.name.partition(".")[0])).values()
        return resources
    finally:
        file.unlink()


def outputs(infra: Path, terraform: Any, name: str, *runs: str) -> dict[str, dict[str, Any]]:
    """The outputs of `runs` of infra/tests/<name>.tftest.hcl: {run: {name: value}}."""
    states = _states(infra, terraform, name)
    return {run: {output: attributes["value"] for output, attributes in states[run]["outputs"].items()} for run in runs}


def statements(policy: str) -> list[dict]:
    """The statements of an IAM policy."""
    return json.loads(policy)["Statement"]


@functools.cache  # of all files that are run in one process: tests/conftest.py keeps them together
def _states(infra: Path, terraform: Any, name: str) -> dict[str, dict]:
    result = terraform(infra, "test", "-json", "-verbose", f"-filter=tests/{name}.tftest.hcl")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    wrong = [line["@message"] for line in lines if line["@level"] == "error"]
    assert (result.returncode, wrong) == (0, [])
    return {line["@testrun"]: _values(line["test_state"]) for line in lines if line["type"] == "test_state"}


def _values(state: dict) -> dict:
    """OpenTofu wraps what Terraform gives as it is."""
    return state.get("values", state)


def _resources(states: dict[str, dict]) -> dict[str, Resources]:
    return {run: _by_address(state["root_module"]) for run, state in states.items()}


def _by_address(module: dict) -> Resources:
    resources = {resource["address"]: resource["values"] for resource in module.get("resources", [])}
    for child in module.get("child_modules", []):
        resources |= _by_address(child)
    return resources
