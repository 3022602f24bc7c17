"""The whole life of the stack on the embedded AWS, with real Terraform: apply, plan again, change, destroy."""

import pytest

from tests.terraform.applied import CHANGED, UNCHANGED, Stack, applied_stack

# What the embedded AWS has nothing for is left out there: S3's access logs are asked for, and nothing delivers them.
VARIABLES = {"object_size_mb": 1, "ephemeral_storage_mb": 512, "timeout_s": 5, "server_side_proof": "true"}


@pytest.fixture(scope="module")
def applied(copy_of_the_tree, terraform, tmp_path_factory) -> Stack:
    """The stack with one function at a time, on an embedded AWS of its own."""
    folder = copy_of_the_tree("applied")
    with applied_stack(folder, terraform, tmp_path_factory.mktemp("emulator"), VARIABLES) as stack:
        yield stack


def test_the_concurrency_changes_and_leaves_an_empty_plan(applied):
    assert applied.plan(concurrency_value=5) == CHANGED
    applied.terraform("apply", "-auto-approve", concurrency_value=5)

    reserved = applied.client("lambda").get_function_concurrency(FunctionName="stampede-download")
    assert reserved["ReservedConcurrentExecutions"] == 5
    assert applied.plan(concurrency_value=5) == UNCHANGED


def test_destroy_leaves_nothing_although_the_bucket_is_full(applied):
    bucket = "stampede-download-000000000000-us-east-1"
    s3 = applied.client("s3")
    for number in range(3):
        s3.put_object(Bucket=bucket, Key=f"left/{number}.dat", Body=b"x")
    s3.create_multipart_upload(Bucket=bucket, Key="cut-off.dat")
    assert all(applied.left().values())

    assert applied.destroy().returncode == 0
    assert applied.left() == {name: [] for name in applied.left()}
