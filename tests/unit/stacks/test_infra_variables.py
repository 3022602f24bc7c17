"""Variables of every file, set by the environment and by *.tfvars; what can't be read is named."""

import json

import pytest

from stampede.errors import UsageError
from stampede.stacks.infra_variables import family, infra_defaults
from stampede.variable_rules import Rule

VARIABLES = {
    "size": Rule(type="number", default=1),
    "pollers": Rule(type="object", default={"minimum": 2, "maximum": 20}),
    "zones": Rule(type="list", default=["a", "b"]),
    "tag": Rule(),
}


@pytest.fixture
def folder(tmp_path):
    """A folder of Terraform's."""
    infra = tmp_path / "infra"
    infra.mkdir()
    return infra


def values_in(folder, **environ):
    """What VARIABLES are set to there."""
    return infra_defaults({f"TF_VAR_{name}": text for name, text in environ.items()}, folder, VARIABLES)


SOURCES = ("environment", "terraform.tfvars", "terraform.tfvars.json", "a.auto.tfvars", "b.auto.tfvars.json")


@pytest.mark.parametrize("last", range(len(SOURCES)))
def test_the_later_of_terraforms_sources_wins(folder, last):
    (folder / "mine.tfvars").write_text("size = 7\n")  # one that Terraform doesn't read
    environ = {}
    for number, source in enumerate(SOURCES[: last + 1], start=10):
        if source == "environment":
            environ["size"] = str(number)
        else:
            (folder / source).write_text(json.dumps({"size": number}) if "json" in source else f"size = {number}\n")
    assert values_in(folder, **environ) == {name: rule.default for name, rule in VARIABLES.items()} | {
        "size": 10 + last
    }


def test_a_string_is_taken_as_it_is_null_is_the_default_and_a_strangers_value_is_left_alone(folder):
    (folder / "terraform.tfvars").write_text("size = null\nstranger = 1 + 1\n")
    values = values_in(folder, size="5", pollers="{minimum=3,maximum=30}", zones='["c"]', tag="007")
    assert values == {"size": 1, "pollers": {"minimum": 3, "maximum": 30}, "zones": ["c"], "tag": "007"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("terraform.tfvars", b"size = 3\nzones = [\n", "infra/terraform.tfvars: line 2: it isn't valid HCL"),
        ("terraform.tfvars", b"size = 1024 * 2\n", "infra/terraform.tfvars: ${1024 * 2} is an expression"),
        ("terraform.tfvars", b"\xff", "infra/terraform.tfvars: "),
        ("x.auto.tfvars.json", b'{"size": 3,\n "tag": oops}', "infra/x.auto.tfvars.json: .*line 2"),
        ("terraform.tfvars.json", b"[" * 100_000, "infra/terraform.tfvars.json: .*nested too deeply"),
        ("terraform.tfvars.json", b"[1]", "infra/terraform.tfvars.json: it must be one JSON object"),
        ("", b"{minimum=3", "TF_VAR_pollers: .*isn't valid HCL"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(folder, name, text, words):
    environ = {} if name else {"pollers": text.decode()}
    if name:
        (folder / name).write_bytes(text)
    with pytest.raises(UsageError, match=words.replace("$", "[$]").replace("* 2", "[*] 2")) as refusal:
        values_in(folder, **environ)
    assert "\n" not in str(refusal.value)


def test_an_experiment_that_is_a_kind_of_another_shares_what_that_has():
    assert (family("copy_host"), family("copy")) == (("copy_host", "copy"), ("copy", "copy"))
