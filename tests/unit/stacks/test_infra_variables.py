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


def test_without_any_setting_each_variable_has_its_default(folder):
    assert values_in(folder) == {name: rule.default for name, rule in VARIABLES.items()}
    assert (infra_defaults({})["object_size_mb"], infra_defaults({})["sink"]) == (1024, None)


def test_an_experiment_that_is_a_kind_of_another_shares_what_that_has():
    assert (family("copy_host"), family("copy")) == (("copy_host", "copy"), ("copy", "copy"))


SOURCES = ("environment", "terraform.tfvars", "terraform.tfvars.json", "a.auto.tfvars", "b.auto.tfvars.json")


@pytest.mark.parametrize("last", range(len(SOURCES)))
def test_the_later_of_terraforms_sources_wins(folder, last):
    environ = {}
    for number, source in enumerate(SOURCES[: last + 1], start=10):
        if source == "environment":
            environ["size"] = str(number)
        else:
            (folder / source).write_text(json.dumps({"size": number}) if "json" in source else f"size = {number}\n")
    assert values_in(folder, **environ)["size"] == 10 + last


def test_other_files_and_variables_that_there_are_not_are_left_alone(folder):
    (folder / "mine.tfvars").write_text("size = 7\n")
    (folder / "x.auto.tfvars.bak").write_text("size = 8\n")
    (folder / "terraform.tfvars").write_text("stranger = 1 + 1\n")
    assert values_in(folder)["size"] == 1 and "stranger" not in values_in(folder)


def test_objects_and_lists_come_from_the_environment_as_hcl_and_a_string_as_it_is(folder):
    values = values_in(folder, pollers="{minimum=3,maximum=30}", zones='["c"]', tag="007")
    assert (values["pollers"], values["zones"], values["tag"]) == ({"minimum": 3, "maximum": 30}, ["c"], "007")


def test_null_means_the_default(folder):
    (folder / "terraform.tfvars").write_text("size = null\ntag = null\n")
    assert (values_in(folder)["size"], values_in(folder)["tag"]) == (1, None)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("terraform.tfvars", "size = 3\ntag = [1,,2]\n", "infra/terraform.tfvars, line 2: it isn't valid HCL"),
        ("terraform.tfvars", "size = 3\nzones = [\n", "infra/terraform.tfvars, line 2: it isn't valid HCL"),
        ("x.auto.tfvars.json", '{"size": 3,\n "tag": oops}', "infra/x.auto.tfvars.json, line 2: it isn't JSON"),
        (
            "terraform.tfvars.json",
            "[" * 100_000,
            "infra/terraform.tfvars.json: its lists or objects are nested too deeply",
        ),
        ("terraform.tfvars.json", "[1]", "infra/terraform.tfvars.json, line 1: it must be one JSON object"),
        ("terraform.tfvars", "size = 1024 * 2\n", "infra/terraform.tfvars: size: ${1024 * 2} is an expression"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_in_one_line(folder, name, text, words):
    (folder / name).write_text(text)
    with pytest.raises(UsageError) as refusal:
        values_in(folder)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_environment_variable_that_cannot_be_read_is_named(folder):
    with pytest.raises(UsageError, match=r"^TF_VAR_pollers: '\{minimum=3' isn't a valid value: "):
        values_in(folder, pollers="{minimum=3")
