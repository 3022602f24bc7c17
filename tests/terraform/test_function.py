"""What a user's own function would really be, after infra/tests/function.tftest.hcl and function_program.tftest.hcl
have run."""

import json
import zipfile

import pytest

from tests.terraform.deployed import deployed, statements

FUNCTION = "module.worker[0].aws_lambda_function.worker"
LAYER = "module.worker[0].aws_lambda_layer_version.beside_package[0]"


@pytest.fixture(scope="session")
def deployments(infra, mocking):
    return deployed(infra, mocking, "function")


def content(infra, resource):
    """The files of a zip, and whether each can be executed."""
    with zipfile.ZipFile(infra / resource["filename"]) as package:
        return {entry.filename: entry.external_attr >> 16 & 0o111 == 0o111 for entry in package.infolist()}


def test_a_managed_runtime_has_the_package_as_it_is_and_begins_with_the_proxy_of_a_layer(deployments, infra):
    resources = deployments["defaults"]
    function, layer = resources[FUNCTION], resources[LAYER]
    assert (function["runtime"], function["handler"]) == ("python3.12", "app.handler")
    assert content(infra, function).keys() == {"app.py", "payload.json"}
    assert content(infra, layer) == {"bootstrap": True}
    assert function["layers"] == [layer["arn"]]
    assert function["environment"][0]["variables"]["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/bootstrap"


def test_a_custom_runtime_is_the_proxy_and_has_the_package_as_a_layer(infra, mocking):
    runs = deployed(infra, mocking, "function_program")
    function, layer = runs["a_folder"][FUNCTION], runs["a_folder"][LAYER]
    with zipfile.ZipFile(infra / function["filename"]) as code:
        assert code.read("bootstrap") == b"built for arm64"
    assert content(infra, layer) == {"bootstrap": True}
    assert (function["runtime"], function["layers"]) == ("provided.al2023", [layer["arn"]])
    variables = function["environment"][0]["variables"]
    assert variables["EXPERIMENT"] == "function" and "AWS_LAMBDA_EXEC_WRAPPER" not in variables
    assert runs["a_zip"][LAYER]["filename"] == "tests/program.zip"


def test_the_function_has_the_users_environment_and_layers_beside_ours(deployments):
    resources = deployments["with_everything_that_is_the_users"]
    variables = resources[FUNCTION]["environment"][0]["variables"]
    assert {name: value for name, value in variables.items() if name.startswith(("STAMPEDE_", "GREETING"))} == {
        "GREETING": "hello",
        "STAMPEDE_PACKAGE": "thumbnail",
        "STAMPEDE_RUNTIME": "python3.13",
        "STAMPEDE_ARCHITECTURE": "arm64",
    }
    users = "arn:aws:lambda:us-east-1:123456789012:layer:numpy:3"
    assert resources[FUNCTION]["layers"] == [users, resources[LAYER]["arn"]]
    assert resources[FUNCTION]["reserved_concurrent_executions"] == 500


def test_the_role_may_take_messages_and_write_logs_and_do_what_the_policy_file_says(deployments, infra):
    policies = {
        run: statements(resources["module.worker[0].aws_iam_role_policy.worker"]["policy"])
        for run, resources in deployments.items()
    }
    own = json.loads((infra / "tests/policy.json").read_text())["Statement"]
    assert [statement["Sid"] for statement in policies["defaults"]] == ["TakeMessages", "WriteLogs"]
    assert policies["with_everything_that_is_the_users"][0] == own
    assert len(policies["with_everything_that_is_the_users"]) == 3
