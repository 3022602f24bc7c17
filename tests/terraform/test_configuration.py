"""The Terraform files are formatted and valid, and refuse bad values clearly."""

import itertools
import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stampede.variable_rules import RULES, Rule

ROOT = Path(__file__).resolve().parents[2]


def test_every_file_is_formatted(terraform):
    for folder in ("infra", "stampede/emulator/local_override"):
        result = terraform(ROOT / folder, "fmt", "-check", "-recursive", "-diff")
        assert (result.returncode, result.stdout) == (0, "")


def test_the_configuration_is_valid(infra, terraform):
    result = terraform(infra, "validate", "-json")

    assert json.loads(result.stdout)["diagnostics"] == []
    assert result.returncode == 0


def test_log_deliveries_are_changed_in_turn():
    text = (ROOT / "infra/modules/access_log/main.tf").read_text()
    blocks = re.findall(
        r'(?ms)^resource "(aws_cloudwatch_log_delivery\w*)" "(\w+)" (\{$.*?^\}$)', text
    )
    assert len(blocks) == 5 and not any("for_each" in body for _, _, body in blocks)
    for (kind, name, _), (_, _, after) in itertools.pairwise(blocks):
        assert f"{kind}.{name}" in after


WRITTEN = {
    run[1]: run[0]
    for run in re.finditer(
        r'(?ms)^run "(\w+)" \{$.*?^\}$', (ROOT / "infra/tests/refusals.tftest.hcl").read_text()
    )
}


def _bad_values(rule: Rule) -> list[Any]:
    """A value outside of the choices, or values beyond each bound and a fraction."""
    if rule.choices:
        [first, *_] = rule.choices
        return [f"{first}_x" if isinstance(first, str) else max(rule.choices) + 1]
    bounds = [rule.least - 1, rule.most + 1, max(rule.least, 0) + 0.5]
    return [] if math.isinf(rule.least) else [value for value in bounds if not math.isinf(value)]


def _broken_rules() -> Iterator[tuple[str, Any, Rule]]:
    """Each variable's bad values, with the rule that they break."""
    for name, rule in RULES.items():
        yield from ((name, value, rule) for value in _bad_values(rule))
        least = {part: attribute.least for part, attribute in rule.attributes.items()}
        for part, attribute in rule.attributes.items():
            for value in _bad_values(attribute):
                yield name, least | {part: value}, attribute


BROKEN = {f"{name}_{number}": (name, *how) for number, (name, *how) in enumerate(_broken_rules())}


def _locals_of_variables() -> str:
    """The locals of infra/ that depend on variables alone, as one block."""
    text = "".join(path.read_text() for path in sorted((ROOT / "infra").glob("*.tf")))
    blocks = "".join(re.findall(r"(?ms)^locals \{$(.*?)^\}$", text))
    entries = dict(re.findall(r"(?ms)^  (\w+) += (.*?)(?=^  \w+ += |\Z)", blocks))

    def is_of_variables(entry: str) -> bool:
        names = re.findall(r"\blocal\.(\w+)", entry)
        return not re.search(r"\b(module|data)\.", entry) and all(
            is_of_variables(entries[name]) for name in names
        )

    kept = [f"  {name} = {entry}" for name, entry in entries.items() if is_of_variables(entry)]
    return "".join(["locals {\n", *kept, "}\n"])


@pytest.fixture(scope="session")
def refusals(terraform, tmp_path_factory) -> dict[str, list[str]]:
    """The errors of each run of refusals.tftest.hcl and BROKEN, with their places: {run: errors}.
    They use only variables and locals, so that no run waits for the provider."""
    folder = tmp_path_factory.mktemp("messages")
    for pattern in ("variables*.tf", "*.json"):
        for path in (ROOT / "infra").glob(pattern):
            shutil.copy(path, folder)
    (folder / "locals.tf").write_text(_locals_of_variables())
    (folder / "tests").mkdir()
    # Without expected failures, so that the errors are printed.
    runs = {
        name: re.sub(r"(?s)\n  expect_failures = \[.*?\]\n", "\n", run)
        for name, run in WRITTEN.items()
    }
    for run, (name, value, _) in BROKEN.items():
        variables = f"  variables {{\n    {name} = {json.dumps(value)}\n  }}\n"
        runs[run] = f'run "{run}" {{\n  command = plan\n{variables}}}\n'
    for name, run in runs.items():
        # One file each: Terraform skips the runs of a file after an error.
        (folder / f"tests/{name}.tftest.hcl").write_text(run)
    assert terraform(folder, "init", "-input=false").returncode == 0
    errors = {name: [] for name in runs}
    for line in map(json.loads, terraform(folder, "test", "-json").stdout.splitlines()):
        if line["type"] == "diagnostic":
            assert line["diagnostic"]["summary"] == "Invalid value for variable", line
            errors[line["@testrun"]].append(line["diagnostic"]["detail"])
    return errors


@pytest.mark.parametrize("run", WRITTEN)
def test_a_bad_value_alone_is_refused_with_name_value_and_rule_in_one_line(refusals, run):
    expected = set(re.findall(r"(?m)^    var\.(\w+),?$", WRITTEN[run]))
    messages = [error.partition("\n\n")[0] for error in refusals[run]]
    said = r'(\w+) = (?:".*"|\{.*?\}|\[.*?\]|[^ ]+): .*\b(?:must|needs|excludes)\b.*\.'
    parts = [re.fullmatch(said, message) for message in messages]
    assert {part and part[1] for part in parts} == expected != set(), messages


@pytest.mark.parametrize("run", BROKEN)
def test_terraform_and_python_refuse_the_same_values_in_the_same_words(refusals, run):
    name, value, rule = BROKEN[run]
    messages = {error.partition("\n\n")[0].replace(" = 360 ", " ") for error in refusals[run]}
    written = json.dumps(value, separators=(",", ":"), sort_keys=True)
    assert f"{name} = {written}: {rule.rule}{'; ' if rule.fix else ''}{rule.fix}." in messages
    assert not RULES[name].allows(value)


def test_a_run_breaks_every_rule_of_every_variable(refusals):
    rules = {
        f"{path.name}:{number}"
        for path in (ROOT / "infra").glob("*.tf")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line == "  validation {"
    }
    said = "".join(itertools.chain.from_iterable(refusals.values()))
    assert set(re.findall(r"validation rule at (\S+\.tf:\d+)", said)) == rules


@pytest.mark.parametrize(
    ("lost", "method", "message"),
    [
        (
            "transfer/build",
            "go_stream",
            r"\w+ = .*functions/.+: must be built .*`make functions`\.",
        ),
        ("download/build", "crt", r"\w+ = .*functions/.+: must be built .*`make functions`\."),
        ("download/handler.py", "stream", ".*must hold download/handler.py.*"),
        ("download/handler.py", "go_stream", ""),  # the program has no such file
    ],
)
def test_a_missing_file_that_the_method_needs_is_refused_by_name(
    infra, planned_wrong, lost, method, message
):
    path = infra.parent / "functions" / lost
    away = path.rename(infra.parent / "away")
    try:
        errors = planned_wrong("download", f'method = "{method}"')
    finally:
        away.rename(path)
    assert len(errors) == bool(message) and all(re.fullmatch(message, error) for error in errors)
