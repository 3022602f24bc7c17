"""The resources that `terraform test` creates, by run and address, with a mocked provider's made-up
ids.

Each test file runs once in a process.
"""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Resources = dict[str, dict[str, Any]]
MADE_UP = re.compile("[a-z0-9]{8}")
# Attributes that repeat others, or that change with each line of a function or a query, which have
# their own tests.
LEFT_OUT = {"tags_all", "source_code_hash", "query_string"}


def deployed(infra: Path, terraform: Any, name: str) -> dict[str, Resources]:
    """The resources of infra/tests/<name>.tftest.hcl: {run: {address: values}}."""
    return {
        run: _by_address(state["root_module"])
        for run, state in _states(infra, terraform, name).items()
    }


def summary(infra: Path, terraform: Any, name: str) -> dict[str, Resources]:
    """`deployed` and the outputs in a form to record: the whole first run, and the differences of
    the other runs from it.

    Unset values are left out, and a made-up id becomes its resource and attribute.
    """
    patterns = ("*.tf", "*.json", "tests/*.hcl")
    words = "".join(path.read_text() for pattern in patterns for path in infra.rglob(pattern))
    runs = {}
    for run, state in _states(infra, terraform, name).items():
        resources = _by_address(state["root_module"])
        made_up = [
            (value, f"<{address}.{attribute}>")
            for address, values in resources.items()
            for attribute, value in values.items()
            if isinstance(value, str) and MADE_UP.fullmatch(value) and value not in words
        ]
        # An id belongs to the resource that has it as `id` or `arn`, or else to the first with it.
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
        unset = (None, "", [], {}, False)
        return {name: part for name, part in entries.items() if part not in unset}
    if isinstance(value, list):
        parts = [_written(part, ids, words) for part in value]
        has_ids = any(str(part).startswith("<") for part in parts)
        return sorted(parts) if has_ids else parts  # the order of made-up ids is random
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


@functools.cache  # tests/conftest.py runs all tests of a file in one process
def _states(infra: Path, terraform: Any, name: str) -> dict[str, dict]:
    result = terraform(infra, "test", "-json", "-verbose", f"-filter=tests/{name}.tftest.hcl")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    wrong = [line["@message"] for line in lines if line["@level"] == "error"]
    assert (result.returncode, wrong) == (0, [])
    states = [line for line in lines if line["type"] == "test_state"]
    return {line["@testrun"]: _values(line["test_state"]) for line in states}


def _values(state: dict) -> dict:
    """The values of a state, which OpenTofu wraps and Terraform doesn't."""
    return state.get("values", state)


def _by_address(module: dict) -> Resources:
    own = module.get("resources", [])
    resources = {resource["address"]: resource["values"] for resource in own}
    for child in module.get("child_modules", []):
        resources |= _by_address(child)
    return resources
