"""The loader reads the same values of variables as Terraform, from the environment and files."""

import json

import pytest

from stampede.stacks import hcl
from stampede.stacks.infra_variables import infra_defaults
from stampede.variable_rules import Rule

DECLARED = """
variable "size" {
  type     = number
  default  = 1
  nullable = false
}

variable "tag" {
  type    = string
  default = "a tag"
}

variable "pollers" {
  type = object({
    minimum = number
    maximum = number
  })
  default = null
}
"""
VARIABLES = {
    "size": Rule(type="number", default=1),
    "tag": Rule(default="a tag"),
    "pollers": Rule(type="object"),
}
CASES = {
    "nothing": ({}, {}),
    "the environment": (
        {"size": "1e1", "tag": "null", "pollers": '{"minimum": 2, "maximum": 3}'},
        {},
    ),
    "a file over the environment": (
        {"size": "10"},
        {"terraform.tfvars": 'size = 20 # twenty\ntag = "a $${b} \\u00e9"\n'},
    ),
    "JSON over HCL": (
        {},
        {"terraform.tfvars": "size = 20\n", "terraform.tfvars.json": '{"size": 30, "tag": "${b}"}'},
    ),
    "automatic files in the order of their names": (
        {},
        {
            "terraform.tfvars.json": '{"size": 30}',
            "b.auto.tfvars": "size = 40\npollers = {\n  minimum = 2\n  maximum = 50\n}\n",
            "a.auto.tfvars.json": '{"size": 50, "pollers": null}',
        },
    ),
    "a forbidden null": (
        {},
        {"terraform.tfvars": "size = null\n", "x.tfvars": "size = 9\n"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_loader_reads_the_values_that_terraform_uses(terraform, tmp_path, case):
    environ, files = CASES[case]
    environ = {f"TF_VAR_{name}": text for name, text in environ.items()}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    values = infra_defaults(environ, tmp_path, VARIABLES)
    assert list(values.values()) == taken(terraform, tmp_path, **environ)


@pytest.mark.parametrize("pollers", ["{minimum=2,maximum=50}", '{"minimum": 2, "maximum": 50}'])
def test_terraform_accepts_an_object_as_the_loader_writes_it(terraform, tmp_path, pollers):
    flag = f"-var=pollers={hcl.text_of(hcl.value(pollers))}"
    assert taken(terraform, tmp_path, flag)[2] == {"minimum": 2, "maximum": 50}


def taken(terraform, folder, *flags, **environ):
    """[size, tag, pollers] in Terraform, from an apply of one output."""
    output = 'output "all" {\n  value = [var.size, var.tag, var.pollers]\n}\n'
    (folder / "main.tf").write_text(DECLARED + output)
    apply = ["apply", "-auto-approve", "-input=false", "-json", *flags]
    applied = terraform(folder, *apply, **environ)
    assert applied.returncode == 0, applied.stdout
    lines = map(json.loads, applied.stdout.splitlines())
    # printed for the plan and for the apply
    [*_, outputs] = [line["outputs"] for line in lines if line["type"] == "outputs"]
    return outputs["all"]["value"]
