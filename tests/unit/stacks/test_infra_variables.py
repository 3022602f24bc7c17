"""Variables of every file, set by the environment and by *.tfvars; what can't be read is named."""

import json

import pytest

from stampede.errors import UsageError
from stampede.stacks.infra_variables import INFRA, declared, family, infra_defaults


@pytest.fixture
def folder(tmp_path):
    """A Terraform folder whose variables stand in two files and have defaults of several lines."""
    infra = tmp_path / "infra"
    infra.mkdir()
    (infra / "variables.tf").write_text('variable "size" {\n  type = number\n  default = 1\n  nullable = false\n}\n')
    (infra / "variables_more.tf").write_text("""
variable "pollers" {
  type = object({
    minimum = number
    maximum = number
  })
  default = {
    minimum = 2 # the least there is
    maximum = 20
  }
}

variable "tag" {
  type    = string
  default = <<-EOT
    two
    lines
  EOT
}

variable "zones" {
  type    = list(string)
  default = ["a", "b"]
}

variable "no_default" {
  type = string
}
""")
    (infra / "outputs.tf").write_text('output "variable" {\n  value = "none"\n}\n')
    return infra


def test_defaults_of_several_lines_in_any_file_are_read(folder):
    assert infra_defaults({}, folder) == {
        "size": 1,
        "pollers": {"minimum": 2, "maximum": 20},
        "tag": "two\nlines",
        "zones": ["a", "b"],
        "no_default": None,
    }


def test_the_variables_of_infra_are_those_of_terraform_with_their_types():
    variables = declared()
    assert {"s3_bucket_name", "memory_size", "provisioned_pollers"} <= variables.keys()
    assert (variables["object_size_mb"].type, variables["object_size_mb"].default) == ("number", 1024)
    assert variables["provisioned_pollers"].type.startswith("object(")
    assert (variables["object_size_mb"].nullable, variables["sink"].nullable) == (False, True)


def test_an_experiment_that_is_a_kind_of_another_shares_what_that_has():
    assert (family("copy_host"), family("copy")) == (("copy_host", "copy"), ("copy", "copy"))


SOURCES = ("environment", "terraform.tfvars", "terraform.tfvars.json", "a.auto.tfvars", "b.auto.tfvars.json")


@pytest.mark.parametrize("last", range(len(SOURCES)))
def test_the_later_of_terraforms_sources_wins(folder, last):
    environ = {}
    for number, source in enumerate(SOURCES[: last + 1], start=10):
        if source == "environment":
            environ["TF_VAR_size"] = str(number)
        else:
            (folder / source).write_text(json.dumps({"size": number}) if "json" in source else f"size = {number}\n")
    assert infra_defaults(environ, folder)["size"] == 10 + last


def test_other_files_are_not_read(folder):
    (folder / "mine.tfvars").write_text("size = 7\n")
    (folder / "x.auto.tfvars.bak").write_text("size = 8\n")
    assert infra_defaults({}, folder)["size"] == 1


def test_objects_and_lists_come_from_the_environment_as_hcl_and_a_string_as_it_is(folder):
    environ = {"TF_VAR_pollers": "{minimum=3,maximum=30}", "TF_VAR_zones": '["c"]', "TF_VAR_tag": "007"}
    values = infra_defaults(environ, folder)
    assert (values["pollers"], values["zones"], values["tag"]) == ({"minimum": 3, "maximum": 30}, ["c"], "007")


def test_null_means_the_default_where_null_is_not_allowed(folder):
    (folder / "terraform.tfvars").write_text("size = null\npollers = null\n")
    assert (infra_defaults({}, folder)["size"], infra_defaults({}, folder)["pollers"]) == (1, None)


def test_a_value_for_a_variable_that_there_is_not_is_left_alone(folder):
    (folder / "terraform.tfvars").write_text("stranger = 1 + 1\nsize = 3\n")
    assert "stranger" not in infra_defaults({}, folder)


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
        infra_defaults({}, folder)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_environment_variable_that_cannot_be_read_is_named(folder):
    with pytest.raises(UsageError, match=r"^TF_VAR_pollers: '\{minimum=3' isn't a valid value: "):
        infra_defaults({"TF_VAR_pollers": "{minimum=3"}, folder)


def test_the_folder_is_read_once_whether_it_is_named_or_not():
    assert declared() is declared(INFRA)
