"""The rules of infra's variables, in words and as Python reads them; tests/terraform asks Terraform about the same."""

import re

import pytest

from stampede.checkout import INFRA
from stampede.stacks import hcl
from stampede.stacks.infra_variables import declared
from stampede.variable_rules import RULES, Rule

BOUNDED = {name: rule for name, rule in RULES.items() if rule.rule} | {
    f"{name}.{attribute}": rule for name, of in RULES.items() for attribute, rule in of.attributes.items()
}


@pytest.mark.parametrize("name", BOUNDED)
def test_a_rule_in_words_has_the_numbers_and_the_choices_that_it_is_checked_by(name):
    rule = BOUNDED[name]
    bounds = [bound for bound in (rule.least, rule.most, rule.longest) if abs(bound) != float("inf")]
    words = set(re.findall(r"[\w.-]*\w", rule.rule))
    assert {str(value) for value in (*bounds, *rule.choices)} <= words
    assert "must be" in rule.rule and not rule.rule.endswith(".")  # Terraform's messages end in one


def test_a_description_names_the_bounds_of_the_rule():
    text = "".join(path.read_text() for path in INFRA.glob("variables*.tf"))
    descriptions = dict(re.findall(r'(?ms)^variable "(\w+)" \{.*?^  description = "(.*?)"$', text))
    for name, rule in RULES.items():
        bounds = [bound for bound in (rule.least, rule.most) if abs(bound) != float("inf")]
        assert all(f"{bound}" in descriptions[name] for bound in bounds), name


def test_every_rule_is_of_a_variable_in_the_file_that_goes_with_its_own():
    for name, variable in declared().items():
        text = (INFRA / f"rules{'_' if variable.experiment else ''}{variable.experiment}.json").read_text()
        assert (f'  "{name}": {{' in text) == (variable.type != "bool"), name
    assert RULES.keys() <= declared().keys()


def test_every_default_keeps_its_rule():
    for name, rule in RULES.items():
        default = declared()[name].default
        assert default is None or rule.allows(default), name


@pytest.mark.parametrize(
    ("rule", "allowed", "refused"),
    [
        (Rule(least=1, most=3), (1, 3, 2.0), (0, 4, 1.5)),
        (Rule(least=1), (1, 10**9), (0,)),
        (Rule(choices=("keep", "drop"), null_means=("copy",)), ("keep", "copy"), ("Keep", "", 1)),
        (Rule(matches="^[a-z-]+$", never="^xn--", longest=5), ("a-b", "abcde"), ("", "A", "a\n", "xn--a", "abcdef")),
    ],
)
def test_a_value_keeps_a_rule_or_breaks_it(rule, allowed, refused):
    assert all(map(rule.allows, allowed)) and not any(map(rule.allows, refused))


def test_a_text_that_terraforms_tests_have_accepted_or_refused_is_so_without_terraform():
    checked = 0
    for run in hcl.read((INFRA / "tests/refusals.tftest.hcl").read_text())["run"]:
        for body in run.values():
            refused = " ".join(map(str, body["expect_failures"]))
            for name, written in body["variables"][0].items():
                if name in RULES and "%{" not in str(written):
                    breaks = not RULES[name].allows(value := hcl.plain(written))
                    assert not breaks or f"var.{name}" in refused, (run, value)
                    checked += breaks and isinstance(value, str)
    assert checked > 15
