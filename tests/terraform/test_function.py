"""What a user's own function would really be, after infra/tests/function.tftest.hcl has run."""

import json
import zipfile

import pytest

from tests.terraform.deployed import deployed, statements

FUNCTION = "module.worker[0].aws_lambda_function.worker"
LAYER = "module.worker[0].aws_lambda_layer_version.wrapper[0]"


@pytest.fixture(scope="session")
def deployments(infra, terraform):
    return deployed(infra, terraform, "function")


def test_the_package_is_deployed_as_it_is_and_the_wrapper_is_a_layer_with_modules_out_of_its_way(deployments, infra):
    resources = deployments["defaults"]
    function, layer = resources[FUNCTION], resources[LAYER]
    assert (function["runtime"], function["handler"]) == ("python3.12", "stampede_wrapper.handler")
    with zipfile.ZipFile(infra / function["filename"]) as package:
        assert sorted(package.namelist()) == ["app.py", "payload.json"]
    with zipfile.ZipFile(infra / layer["filename"]) as wrapper:
        names = wrapper.namelist()
    assert "python/stampede_wrapper.py" in names and "stampede/common/record.py" in names
    assert [name for name in names if not name.startswith("stampede/")] == ["python/stampede_wrapper.py"]
    assert function["layers"] == [layer["arn"]]


def test_the_function_has_the_users_environment_and_layers_beside_ours(deployments):
    resources = deployments["with_everything_that_is_the_users"]
    variables = resources[FUNCTION]["environment"][0]["variables"]
    assert {name: value for name, value in variables.items() if name.startswith(("STAMPEDE_", "GREETING"))} == {
        "GREETING": "hello",
        "STAMPEDE_HANDLER": "pkg/app.main",
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
