"""The modules of bucket and queue, as they are for AWS, applied to LocalStack by Terraform and the real provider.

MiniStack has its own overrides and tests (tests/terraform, tests/emulator). moto enforces the policies, which deny
whatever doesn't come by TLS: nothing could be read there again.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from stampede.emulator import providers, stack
from tests.localstack import starting

MODULES = Path(__file__).resolve().parents[2] / "infra/modules"
NAME = "stampede-modules"
ROOT = f"""
provider "aws" {{
  region                      = "{starting.REGION}"
  s3_use_path_style           = true # <bucket>.127.0.0.1 resolves nowhere
  skip_metadata_api_check     = true
  skip_credentials_validation = true
}}

module "bucket" {{
  source      = "./modules/bucket"
  name        = "{NAME}"
  partition   = "aws"
  expire_days = 3
}}

module "queue" {{
  source               = "./modules/queue"
  name                 = "{NAME}"
  arn_prefix           = "arn:aws:sqs:{starting.REGION}:000000000000"
  visibility_timeout_s = 360
  max_receive_count    = 5
}}

output "queue" {{
  value = module.queue
}}
"""
UNCHANGED = 0  # the exit status of `plan -detailed-exitcode`

pytestmark = pytest.mark.skipif(starting.PYTHON is None, reason="`make test-localstack` sets LocalStack up")


@pytest.fixture(scope="module")
def localstack(tmp_path_factory):
    """A LocalStack in which nothing else is made."""
    with starting.started("localstack", tmp_path_factory.mktemp("localstack")) as running:
        yield running


@pytest.fixture(scope="module")
def terraform(localstack, tmp_path_factory):
    """Terraform in a folder with the two modules, applied; its endpoint is LocalStack."""
    folder = tmp_path_factory.mktemp("modules")
    for name in ("bucket", "queue"):
        shutil.copytree(MODULES / name, folder / "modules" / name)
    (folder / "main.tf").write_text(ROOT)
    environment, binary = stack.environment(localstack.access), providers.terraform_binary()

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [binary, f"-chdir={folder}", *arguments, "-no-color"]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500, check=False)

    for arguments in (("init", "-input=false"), ("apply", "-input=false", "-auto-approve")):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
    return run


@pytest.fixture
def attributes(localstack, terraform):
    """The attributes of both queues, by the names of the module's outputs."""
    queue = json.loads(terraform("output", "-json", "queue").stdout)
    sqs = localstack.client("sqs")

    def of(output: str) -> dict[str, str]:
        return sqs.get_queue_attributes(QueueUrl=queue[output], AttributeNames=["All"])["Attributes"]

    return of


def test_the_bucket_is_encrypted_private_and_without_acls(localstack, terraform):
    s3 = localstack.client("s3")
    [rule] = s3.get_bucket_encryption(Bucket=NAME)["ServerSideEncryptionConfiguration"]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert set(s3.get_public_access_block(Bucket=NAME)["PublicAccessBlockConfiguration"].values()) == {True}
    [rule] = s3.get_bucket_ownership_controls(Bucket=NAME)["OwnershipControls"]["Rules"]
    assert rule == {"ObjectOwnership": "BucketOwnerEnforced"}


def test_the_bucket_denies_what_comes_without_tls_and_drops_what_was_cut_off_or_is_old(localstack, terraform):
    s3 = localstack.client("s3")
    [statement] = json.loads(s3.get_bucket_policy(Bucket=NAME)["Policy"])["Statement"]
    assert (statement["Effect"], statement["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    rules = {rule["ID"]: rule for rule in s3.get_bucket_lifecycle_configuration(Bucket=NAME)["Rules"]}
    assert rules["abort-incomplete-uploads"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert rules["expire"]["Expiration"] == {"Days": 3}


def test_both_queues_are_encrypted_and_deny_what_comes_without_tls(attributes):
    for output in ("url", "dead_letter_url"):
        queue_attributes = attributes(output)
        [statement] = json.loads(queue_attributes["Policy"])["Statement"]
        assert (queue_attributes["SqsManagedSseEnabled"], statement["Effect"]) == ("true", "Deny")
        assert statement["Resource"] == queue_attributes["QueueArn"]


def test_what_fails_five_times_goes_to_the_queue_that_takes_it_from_this_one_alone(attributes):
    work, letters = attributes("url"), attributes("dead_letter_url")
    assert work["VisibilityTimeout"] == "360"
    assert json.loads(work["RedrivePolicy"]) == {"deadLetterTargetArn": letters["QueueArn"], "maxReceiveCount": 5}
    allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [work["QueueArn"]]}
    assert json.loads(letters["RedriveAllowPolicy"]) == allowed
    assert letters["MessageRetentionPeriod"] == str(14 * 24 * 3600)


def test_a_plan_after_the_apply_changes_nothing(terraform):
    done = terraform("plan", "-input=false", "-detailed-exitcode")
    assert done.returncode == UNCHANGED, done.stdout


def test_destroy_leaves_nothing_though_the_bucket_is_full(localstack, terraform):
    s3, sqs = localstack.client("s3"), localstack.client("sqs")
    s3.put_object(Bucket=NAME, Key="k", Body=b"x")
    # The provider waits minutes for a queue that it has deleted, but not for one that is gone.
    for url in sqs.list_queues()["QueueUrls"]:
        sqs.delete_queue(QueueUrl=url)
    done = terraform("destroy", "-auto-approve", "-refresh=false")
    assert done.returncode == 0, done.stderr
    assert (s3.list_buckets()["Buckets"], sqs.list_queues().get("QueueUrls", [])) == ([], [])
