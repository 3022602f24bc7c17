"""The bucket and queue modules, unchanged from AWS, applied to LocalStack with the real provider.

MiniStack has its own overrides and tests (tests/terraform, tests/emulator). moto enforces policies
that deny every call without TLS, so nothing could be read back.
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
"""


@pytest.mark.skipif(starting.PYTHON is None, reason="`make test-localstack` sets LocalStack up")
def test_resources_are_as_declared_and_destroy_leaves_nothing_though_the_bucket_is_full(
    tmp_path,
):
    for name in ("bucket", "queue"):
        shutil.copytree(MODULES / name, tmp_path / "modules" / name)
    (tmp_path / "main.tf").write_text(ROOT)
    with starting.started("localstack", tmp_path / "localstack") as localstack:
        environment, binary = stack.environment(localstack.access), providers.terraform_binary()

        def terraform(*arguments: str) -> str:
            command = [binary, f"-chdir={tmp_path}", *arguments, "-no-color"]
            options = {"env": environment, "timeout": 500, "check": False}
            done = subprocess.run(command, capture_output=True, text=True, **options)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        terraform("init", "-input=false")
        terraform("apply", "-input=false", "-auto-approve")
        s3, sqs = localstack.client("s3"), localstack.client("sqs")
        [statement] = json.loads(s3.get_bucket_policy(Bucket=NAME)["Policy"])["Statement"]
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        # exits with 2 if anything would change
        terraform("plan", "-input=false", "-detailed-exitcode")
        s3.put_object(Bucket=NAME, Key="k", Body=b"x")
        # The provider would wait minutes for each queue that it deletes.
        for url in sqs.list_queues()["QueueUrls"]:
            sqs.delete_queue(QueueUrl=url)
        terraform("destroy", "-auto-approve", "-refresh=false")
        assert (s3.list_buckets()["Buckets"], sqs.list_queues().get("QueueUrls", [])) == ([], [])
