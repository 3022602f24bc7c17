"""What `terraform test` put up, with a provider that only answers with made-up ids: resources by
run and address.

Each file is run once in a process, as long as nothing changes.
"""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Resources = dict[str, dict[str, Any]]
MADE_UP = re.compile("[a-z0-9]{8}")
# What other attributes say too, and what changes with every line of a function or a query: it has
# tests of its own.
LEFT_OUT = {"tags_all", "source_code_hash", "query_string"}


def deployed(infra: Path, terraform: Any, name: str) -> dict[str, Resources]:
    """What infra/tests/<name>.tftest.hcl puts up: {run: {address: values}}."""
    return {
        run: _by_address(state["root_module"])
        for run, state in _states(infra, terraform, name).items()
    }


def summary(infra: Path, terraform: Any, name: str) -> dict[str, Resources]:
    """`deployed` and the outputs in a form to record: the first run whole, of each other one what
    is different in it.

    What isn't set is left out, and a made-up id is the resource and attribute that it is of.
    """
    words = "".join(
        path.read_text()
        for pattern in ("*.tf", "*.json", "tests/*.hcl")
        for path in infra.rglob(pattern)
    )
    runs = {}
    for run, state in _states(infra, terraform, name).items():
        resources = _by_address(state["root_module"])
        made_up = [
            (value, f"<{address}.{attribute}>")
            for address, values in resources.items()
            for attribute, value in values.items()
            if isinstance(value, str) and MADE_UP.fullmatch(value) and value not in words
        ]
        # Whose id it is: of the resource that has it as `id` or `arn`, else of the first that has
        # it.
        made_up.reverse()
        ids = dict(sorted(made_up, key=lambda pair: pair[1].endswith((".id>", ".arn>"))))
        own = {
            address: {
                attribute: value
                for attribute, value in values.items()
                if attribute not in LEFT_OUT and ids.get(str(value)) != f"<{address}.{attribute}>"
            }
            for address, values in resources.items()
            if "data.archive_file." not in address
        }
        own["outputs"] = {name: output["value"] for name, output in state["outputs"].items()}
        runs[run] = {address: _written(values, ids, words) for address, values in own.items()}
    [first, *others] = runs
    return {first: runs[first]} | {run: _differences(runs[first], runs[run]) for run in others}


def _written(value: Any, ids: Mapping[str, str], words: str) -> Any:
    if isinstance(value, dict):
        entries = {name: _written(part, ids, words) for name, part in value.items()}
        return {
            name: part for name, part in entries.items() if part not in (None, "", [], {}, False)
        }
    if isinstance(value, list):
        parts = [_written(part, ids, words) for part in value]
        return (
            sorted(parts) if any(str(part).startswith("<") for part in parts) else parts
        )  # ids are in their own order
    if not isinstance(value, str):
        return value
    if value.startswith(('{"', '["')):
        return _written(json.loads(value), ids, words)
    is_made_up = MADE_UP.fullmatch(value) and value not in words
    return ids.get(value, "" if is_made_up else value)


def _differences(first: Resources, other: Resources) -> Resources:
    def names(*keys: Iterable[str]) -> list[str]:
        return sorted(set().union(*keys))

    changes = {
        address: {
            name: other[address].get(name)
            for name in names(first.get(address, {}), other[address])
            if other[address].get(name) != first.get(address, {}).get(name)
        }
        for address in other
    }
    gone = {address: {"gone": True} for address in first if address not in other}
    return {address: values for address, values in (changes | gone).items() if values}


@functools.cache  # of all files that are run in one process: tests/conftest.py keeps them together
def _states(infra: Path, terraform: Any, name: str) -> dict[str, dict]:
    result = terraform(infra, "test", "-json", "-verbose", f"-filter=tests/{name}.tftest.hcl")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    wrong = [line["@message"] for line in lines if line["@level"] == "error"]
    assert (result.returncode, wrong) == (0, [])
    return {
        line["@testrun"]: _values(line["test_state"])
        for line in lines
        if line["type"] == "test_state"
    }


def _values(state: dict) -> dict:
    """OpenTofu wraps what Terraform gives as it is."""
    return state.get("values", state)


def _by_address(module: dict) -> Resources:
    resources = {
        resource["address"]: resource["values"] for resource in module.get("resources", [])
    }
    for child in module.get("child_modules", []):
        resources |= _by_address(child)
    return resources
