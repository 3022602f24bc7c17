"""The Terraform files as they stand: formatted, valid, the contract's variables and outputs, clear
refusals."""

import json
import math
import re
import shutil
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stampede.variable_rules import RULES, Rule

ROOT = Path(__file__).resolve().parents[2]

PUBLISHED_DEFAULTS = {
    "s3_bucket_name": None,  # required there, optional here
    "s3_file_name": "sample_large_file.dat",
    "experiment_tag": "experiment 01",
    "concurrency_value": 1,
}
OUTPUTS = """
    experiment region account_id prefix bucket_name object_key queue_name queue_url
    dead_letter_queue_url function_name log_group_name memory_size concurrency_value
    experiment_tag object_size_mb ephemeral_storage_mb timeout_s visibility_timeout_s
    max_receive_count maximum_concurrency provisioned_pollers architecture method sink
    range_parallel range_part_mb existing_bucket requester_pays storage read_method cache
    large_file_mb small_files subnet_count throughput_mode placing_function_name
    destination_bucket_name source_prefix destination_prefix from_manifest key_plan object_count
    key_order host_environment instance_ids instance_type package handler runtime batch_size
    batching_window_s operation placement express_bucket_name zone_id athena_workgroup_name
    athena_database_name scan_limit_mb query_limit_s access_log_group_name worker_role_name
"""


def test_every_file_is_formatted(terraform):
    for folder in ("infra", "stampede/emulator/local_override"):
        result = terraform(ROOT / folder, "fmt", "-check", "-recursive", "-diff")
        assert (result.returncode, result.stdout) == (0, "")


def test_the_configuration_is_valid(infra, terraform):
    result = terraform(infra, "validate", "-json")

    assert json.loads(result.stdout)["diagnostics"] == []
    assert result.returncode == 0


def test_the_local_overrides_fit_the_configuration(copy_of_the_tree, terraform):
    folder = copy_of_the_tree("overridden")
    shutil.copytree(ROOT / "stampede/emulator/local_override", folder, dirs_exist_ok=True)
    assert terraform(folder, "init", "-backend=false", "-input=false").returncode == 0

    result = terraform(folder, "validate", "-json")
    assert json.loads(result.stdout)["diagnostics"] == []


def test_the_published_variables_keep_their_names_and_defaults():
    blocks = _blocks("variable")

    for name, default in PUBLISHED_DEFAULTS.items():
        written = re.search(r"(?m)^  default     = (.+)$", blocks[name])[1]
        assert json.loads(written) == default


def test_every_variable_has_a_type_a_description_a_default_and_a_rule():
    for name, block in _blocks("variable").items():
        keys = re.findall(r"(?m)^  (type|description|default|validation)\b", block)
        assert keys[:4] == ["type", "description", "default", "validation"], name


def test_the_outputs_are_the_contracts():
    assert set(_blocks("output")) == set(OUTPUTS.split())


def test_changes_of_log_deliveries_wait_for_each_other():
    text = (ROOT / "infra/modules/access_log/main.tf").read_text()
    blocks = re.findall(
        r'(?ms)^resource "(aws_cloudwatch_log_delivery\w*)" "(\w+)" (\{$.*?^\}$)', text
    )
    assert len(blocks) == 5 and not any("for_each" in body for _, _, body in blocks)
    for (kind, name, _), (_, _, after) in pairwise(blocks):
        assert f"{kind}.{name}" in after


def _blocks(kind: str) -> dict[str, str]:
    """{name: text} of the blocks of one kind in every file of infra/, as Terraform and the loader
    read them."""
    return {
        re.match(rf'{kind} "(\w+)"', block)[1]: block
        for path in sorted((ROOT / "infra").glob("*.tf"))
        for block in re.split(rf'(?m)^(?={kind} ")', path.read_text())
        if block.startswith(kind)
    }


# Their rules look at other variables, too: where one of those breaks its own, Terraform doesn't
# come to them.
LOOKED_AT_LAST = {
    "architecture",
    "batch_size",
    "ephemeral_storage_mb",
    "maximum_concurrency",
    "memory_size",
    "object_count",
    "provisioned_pollers",
    "runtime",
    "sink",
    "storage",
    "visibility_timeout_s",
}


def _written_runs() -> dict[str, str]:
    text = (ROOT / "infra/tests/refusals.tftest.hcl").read_text()
    return {match[2]: match[1] for match in re.finditer(r'(?ms)^(run "(\w+)" \{$.*?^\}$)', text)}


def _bad_values(rule: Rule) -> dict[str, Any]:
    """A value beyond each bound of `rule`, one between whole numbers, or one that isn't among the
    choices."""
    if rule.choices:
        return {
            "another": f"{rule.choices[0]}_x"
            if isinstance(rule.choices[0], str)
            else max(rule.choices) + 1
        }
    if not rule.attributes:
        bounds = {
            "small": rule.least - 1,
            "large": rule.most + 1,
            "fraction": max(rule.least, 0) + 0.5,
        }
        return {kind: value for kind, value in bounds.items() if not math.isinf(value)}
    least = {name: attribute.least for name, attribute in rule.attributes.items()}
    return {
        f"{kind}_{name}": least | {name: value}
        for name, attribute in rule.attributes.items()
        for kind, value in _bad_values(attribute).items()
    }


def _broken_rules() -> dict[str, dict[str, Any]]:
    """{run: {variable: value}}: every bound and every choice of infra/rules*.json broken, in as few
    runs as can be."""
    runs: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, rule in RULES.items():
        is_in_words_alone = not (rule.choices or rule.attributes or math.isfinite(rule.least))
        if not (rule.matches or rule.never or is_in_words_alone):
            for kind, value in _bad_values(rule).items():
                runs[f"{kind}_{'last' if name in LOOKED_AT_LAST else 'first'}"][name] = value
    return runs


BROKEN_RULES = _broken_rules()


def _refusal_runs() -> dict[str, str]:
    """The runs of refusals.tftest.hcl, and those that break the rules that are numbers and
    choices."""
    runs = _written_runs()
    for run, values in BROKEN_RULES.items():
        assignments = "".join(
            f"    {name} = {json.dumps(value)}\n" for name, value in values.items()
        )
        failures = "".join(f"    var.{name},\n" for name in values)
        runs[run] = (
            f'run "{run}" {{\n  command = plan\n\n  variables {{\n{assignments}  }}\n\n'
            f"  expect_failures = [\n{failures}  ]\n}}"
        )
    return runs


def _pure_locals() -> str:
    """The locals of infra/ that are made of variables alone, as one block."""
    blocks = [
        block
        for path in sorted((ROOT / "infra").glob("*.tf"))
        for block in re.findall(r"(?ms)^locals \{$(.*?)^\}$", path.read_text())
    ]
    entries = {
        re.match(r"  (\w+)", entry)[1]: entry
        for block in blocks
        for entry in re.split(r"(?m)^(?=  \w+ += )", block)[1:]
    }
    excluded = {name for name, entry in entries.items() if re.search(r"\b(module|data)\.", entry)}
    while (
        more := {
            name
            for name, entry in entries.items()
            if excluded & set(re.findall(r"\blocal\.(\w+)", entry))
        }
        - excluded
    ):
        excluded |= more
    return "".join(
        ["locals {\n", *(entry for name, entry in entries.items() if name not in excluded), "}\n"]
    )


@pytest.fixture(scope="session")
def refusals(terraform, tmp_path_factory) -> dict[str, list[dict]]:
    """Every run of `_refusal_runs` without its expect_failures, so that the errors show: {run:
    errors}.

    Over the variables and what is made of them alone: without the resources no run has to wait for
    the provider.
    """
    folder = tmp_path_factory.mktemp("messages")
    for pattern in ("variables*.tf", "*.json"):
        for path in (ROOT / "infra").glob(pattern):
            shutil.copy(path, folder)
    (folder / "locals.tf").write_text(_pure_locals())
    (folder / "tests").mkdir()
    for name, run in _refusal_runs().items():
        # A file each: Terraform skips what follows an error in the same file.
        laid_bare = re.sub(r"\n  expect_failures = \[.*?\]\n", "\n", run, flags=re.DOTALL)
        (folder / f"tests/{name}.tftest.hcl").write_text(laid_bare)
    assert terraform(folder, "init", "-input=false").returncode == 0
    result = terraform(folder, "test", "-json")
    errors = {name: [] for name in _refusal_runs()}
    for line in map(json.loads, result.stdout.splitlines()):
        if line["type"] == "diagnostic":
            errors[line["@testrun"]].append(line["diagnostic"])
    return errors


@pytest.mark.parametrize("run", _refusal_runs())
def test_a_bad_value_alone_is_refused_with_name_value_and_rule_in_one_line(refusals, run):
    expected = set(re.findall(r"(?m)^    var\.(\w+),?$", _refusal_runs()[run]))
    messages = [error["detail"].partition("\n\n")[0] for error in refusals[run]]
    parts = [
        re.fullmatch(r'(\w+) = (?:".*"|\{.*?\}|\[.*?\]|[^ ]+): (.+\.)', message)
        for message in messages
    ]
    assert {error["summary"] for error in refusals[run]} == {"Invalid value for variable"}
    assert {name for name, _ in (part.groups() for part in parts)} == expected != set()
    assert all(re.search(r"\bmust\b|\bneeds\b|\bexcludes\b", part[2]) for part in parts), messages


@pytest.mark.parametrize("run", BROKEN_RULES)
def test_terraform_refuses_what_python_refuses_in_the_same_words(refusals, run):
    messages = {
        error["detail"].partition("\n\n")[0].replace(" = 360 ", " ") for error in refusals[run]
    }
    for name, value in BROKEN_RULES[run].items():
        parts = [(rule, value[part]) for part, rule in RULES[name].attributes.items()] or [
            (RULES[name], value)
        ]
        [rule] = [rule for rule, part in parts if not rule.allows(part)]
        written = json.dumps(value, separators=(",", ":"), sort_keys=True)
        assert f"{name} = {written}: {rule.rule}{'; ' if rule.fix else ''}{rule.fix}." in messages


def test_every_rule_of_every_variable_is_broken_by_some_run(refusals):
    rules = {
        f"{path.name}:{number}"
        for path in (ROOT / "infra").glob("*.tf")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line == "  validation {"
    }

    broken = {
        re.search(r"validation rule at (\S+\.tf:\d+)", error["detail"])[1]
        for errors in refusals.values()
        for error in errors
    }
    assert broken == rules


def _failed_plans(folder: Path, mocking, *methods: str) -> dict[str, str]:
    """Plan with each method in a copy of infra/; return what was wrong, by method."""
    # OpenTofu makes values up already when it plans, so a plan needs what is made up there to look
    # like AWS's.
    mocks = (folder / "tests/download.tftest.hcl").read_text().partition("\nrun ")[0]
    for path in (folder / "tests").glob("*.tftest.hcl"):
        path.unlink()
    for method in methods:
        (folder / f"tests/{method}.tftest.hcl").write_text(
            f'{mocks}\n\nrun "{method}" {{\n  command = plan\n  variables {{ method = "{method}" '
            f"}}\n}}\n"
        )
    assert mocking(folder, "init", "-backend=false", "-input=false").returncode == 0
    lines = map(json.loads, mocking(folder, "test", "-json").stdout.splitlines())
    return {
        line["@testrun"]: line["diagnostic"]["detail"]
        for line in lines
        if line["type"] == "diagnostic"
    }


def test_what_has_to_be_built_before_is_asked_for_in_one_line(copy_of_the_tree, mocking):
    folder = copy_of_the_tree("unbuilt")
    shutil.rmtree(folder.parent / "functions/transfer/build")
    shutil.rmtree(folder.parent / "functions/download/build")
    failures = _failed_plans(folder, mocking, "go_stream", "crt")
    assert set(failures) == {"go_stream", "crt"}
    for detail in failures.values():
        assert re.fullmatch(
            r"\w+ = .*functions/.+: must be built before; run `make functions`\.", detail
        ), detail


def test_a_function_without_its_handler_is_refused_by_the_files_name(copy_of_the_tree, mocking):
    folder = copy_of_the_tree("headless")
    (folder.parent / "functions/download/handler.py").unlink()
    failures = _failed_plans(folder, mocking, "stream", "go_stream")
    assert set(failures) == {"stream"}, failures  # the Go program has no such file
    assert "must hold download/handler.py" in failures["stream"]
