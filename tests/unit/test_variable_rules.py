"""The rules of infra's variables, in words and in Python; tests/terraform compares Terraform."""

import re

import pytest

from stampede.checkout import INFRA
from stampede.stacks import hcl
from stampede.variable_rules import RULES, Rule

BOUNDED = {name: rule for name, rule in RULES.items() if rule.rule} | {
    f"{name}.{attribute}": rule
    for name, of in RULES.items()
    for attribute, rule in of.attributes.items()
}


@pytest.mark.parametrize("name", BOUNDED)
def test_a_rule_in_words_has_the_numbers_and_choices_of_its_check(name):
    rule = BOUNDED[name]
    bounds = [
        bound for bound in (rule.least, rule.most, rule.longest) if abs(bound) != float("inf")
    ]
    words = set(re.findall(r"[\w.-]*\w", rule.rule))
    assert {str(value) for value in (*bounds, *rule.choices)} <= words
    assert "must be" in rule.rule and not rule.rule.endswith(".")  # Terraform adds the period


def test_types_and_defaults_agree_with_terraforms_variables():
    for path in INFRA.glob("variables*.tf"):
        for block in hcl.read(path.read_text())["variable"]:
            [(name, body)] = block.items()
            rule = RULES[name.strip('"')]
            assert rule.type == re.match(r"(?:\$\{)?(\w+)", body["type"])[1], name
            assert rule.default == hcl.plain(body.get("default")), name
            assert rule.allows(rule.default), name
            assert hcl.plain(body.get("nullable", True)) == (rule.default is None), name
            assert rule.experiment == path.stem.partition("variables_")[2], name
    declared = "".join(path.read_text() for path in INFRA.glob("*.tf"))
    assert set(re.findall(r'(?m)^variable "(\w+)"', declared)) == RULES.keys()


NUMBER = {"type": "number", "rule": "must be 1 to 3"}
POLLERS = RULES["provisioned_pollers"]


@pytest.mark.parametrize(
    ("rule", "allowed", "refused"),
    [
        (Rule(**NUMBER, least=1, most=3), (1, 3, 2.0, None), (0, 4, 1.5, True, "2")),
        (Rule(choices=("keep", "drop"), null_means=("copy",)), ("keep", "copy"), ("Keep", "", 1)),
        (
            Rule(matches="^[a-z-]+$", never="^xn--", longest=5),
            ("a-b", "abcde"),
            ("", "A", "a\n", "xn--a", "abcdef"),
        ),
        (
            Rule(type="list", matches="^[a-z]$"),
            ([], ["a", "b"]),
            ("a", ["a", "B"], [1], {"a": "b"}),
        ),
        (Rule(type="map", matches="^[a-z]$"), ({}, {"a": "B"}), ("a", {"B": "a"}, ["a"])),
        (
            POLLERS,
            ({"minimum": 2, "maximum": 2}, None),
            (5, {"minimum": 2}, {"minimum": 2, "maximum": 2.5}),
        ),
    ],
)
def test_a_value_keeps_a_rule_or_breaks_it(rule, allowed, refused):
    assert all(map(rule.allows, allowed)) and not any(map(rule.allows, refused))
    assert all(", got " in rule.refusal(value) for value in refused)
    assert "secret" not in RULES["environment"].refusal({"AWS_REGION": "secret"})


@pytest.mark.parametrize(
    ("rule", "written", "value"),
    [
        (Rule(type="number"), "1024", 1024),
        (Rule(type="bool"), "true", True),
        (Rule(), "007", "007"),
        (Rule(type="number"), "many", "many"),
    ],
)
def test_a_value_is_converted_as_terraform_does(rule, written, value):
    assert rule.typed(written) == value and type(rule.typed(written)) is type(value)


def test_python_accepts_and_refuses_the_same_texts_as_terraforms_tests():
    checked = 0
    for run in hcl.read((INFRA / "tests/refusals.tftest.hcl").read_text())["run"]:
        for body in run.values():
            refused = " ".join(map(str, body["expect_failures"]))
            for name, written in body["variables"][0].items():
                if name in RULES and "%{" not in str(written):
                    breaks = RULES[name].refusal(value := RULES[name].typed(hcl.plain(written)))
                    assert not breaks or f"var.{name}" in refused, (run, value)
                    checked += bool(breaks) and isinstance(value, str)
    assert checked > 15
