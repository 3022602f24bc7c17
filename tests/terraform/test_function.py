"""What the user's own function would really put up, after infra/tests/function.tftest.hcl has run."""

import shutil
import zipfile

import pytest

from tests.terraform.conftest import ROOT
from tests.terraform.deployed import Resources, deployed, statements

MODULE = "module.worker[0]"
OWN = ["TakeMessages", "WriteLogs"]


@pytest.fixture(scope="session")
def deployments(infra, mocking) -> dict[str, Resources]:
    """The deployment of every run of function.tftest.hcl."""
    shutil.copytree(ROOT / "examples", infra.parent / "examples")
    return deployed(infra, mocking, "function")


def test_the_function_is_the_package_and_the_wrapper_a_layer_of_its_own(deployments, infra):
    resources = deployments["defaults"]
    function = resources[f"{MODULE}.aws_lambda_function.worker"]
    names = ("runtime", "handler", "architectures", "memory_size", "timeout", "reserved_concurrent_executions")
    assert [function[name] for name in names] == ["python3.12", "stampede_wrapper.handler", ["x86_64"], 1024, 30, 1]
    assert function["environment"][0]["variables"] == {
        "STAMPEDE_HANDLER": "app.handler",
        "STAMPEDE_PACKAGE": "thumbnail",
        "STAMPEDE_RUNTIME": "python3.12",
        "STAMPEDE_ARCHITECTURE": "x86_64",
        "CONCURRENCY_LIMIT": "1",
        "MEMORY_SIZE": "1024",
        "EXPERIMENT_TAG": "experiment 01",
        "BUCKET_NAME": "stampede-function-123456789012-us-east-1",
    }
    assert function["layers"] == [resources[f"{MODULE}.aws_lambda_layer_version.wrapper[0]"]["arn"]]
    with zipfile.ZipFile(infra / resources[f"{MODULE}.data.archive_file.code[0]"]["output_path"]) as package:
        assert sorted(package.namelist()) == ["app.py", "payload.json"]
    with zipfile.ZipFile(infra / resources[f"{MODULE}.data.archive_file.wrapper[0]"]["output_path"]) as layer:
        folders = {name.rpartition("/")[0] for name in layer.namelist()}
        assert ("python/stampede_wrapper.py" in layer.namelist(), folders) == (
            True,
            {"python", "stampede/common", "stampede/function"},
        )


def test_what_is_the_users_arrives_and_the_role_has_their_statements_and_no_others(deployments):
    usual, own = (
        statements(deployments[run][f"{MODULE}.aws_iam_role_policy.worker"]["policy"])
        for run in ("defaults", "with_everything_that_is_the_users")
    )
    assert [statement["Sid"] for statement in usual] == OWN
    table = "arn:aws:dynamodb:us-east-1:123456789012:table/users"
    assert own[0] == {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": table}
    assert [statement["Sid"] for statement in own[1:]] == OWN
    function = deployments["with_everything_that_is_the_users"][f"{MODULE}.aws_lambda_function.worker"]
    assert function["environment"][0]["variables"]["GREETING"] == "hello"
    assert function["layers"][0] == "arn:aws:lambda:us-east-1:123456789012:layer:numpy:3"
    assert function["reserved_concurrent_executions"] == 500


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ("package = null", "package = null: must be the path of a folder or of a .zip file"),
        ('package = "../nowhere"', "nothing is there"),
        ('policy_file = "tests/program.zip"', "must be the path of a JSON policy document"),
        ('environment = { AWS_REGION = "x" }', "must not set CONCURRENCY_LIMIT"),
        ('layers = ["numpy"]', "must be at most 4 ARNs"),
    ],
)
def test_what_lambda_would_refuse_later_is_refused_at_plan(deployments, planned_wrong, variables, words):
    assert any(words in error for error in planned_wrong("function", variables))
