"""Terraform's real provider repeats calls whose answers it lost, and the embedded AWS carries each of them out once."""

import http.client

import boto3
import pytest

from stampede.emulator import ministack
from tests.fakes.loopback import ConnectionCut, Loopback

# A group that is made twice is refused the second time, and a gateway is there twice.
MAIN = """
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

provider "aws" {
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

resource "aws_cloudwatch_log_group" "once" {
  name = "once"
}

resource "aws_internet_gateway" "once" {
  tags = { Name = "once" }
}
"""


class Relay(Loopback):
    """Passes calls on to an emulator, and loses the answer to the first attempt of each creation."""

    def __init__(self, emulator):
        super().__init__()
        self.emulator, self.calls = emulator, []

    def answer(self, request):
        attempt = request.headers["amz-sdk-request"].partition(";")[0]
        emulator = http.client.HTTPConnection(self.emulator, timeout=30)
        emulator.request("POST", request.path, request.body, dict(request.headers))
        answer = emulator.getresponse()
        content = answer.read()
        emulator.close()
        self.calls.append((request.operation, attempt, answer.status))
        if request.operation.startswith("Create") and attempt == "attempt=1":
            raise ConnectionCut
        return answer.status, dict(answer.getheaders()), content


@pytest.fixture
def relay(tmp_path):
    """A relay before an embedded AWS of its own."""
    emulator = ministack.start(tmp_path / "state", follow_parent=True)
    with Relay(emulator.endpoint_url.removeprefix("http://")) as relay:
        yield relay
    ministack.stop(tmp_path / "state")


def test_what_is_created_is_there_once_though_every_first_answer_is_lost(relay, terraform, tmp_path):
    account = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": ministack.REGION}
    (tmp_path / "main.tf").write_text(MAIN)
    terraform(tmp_path, "init", "-input=false")
    relayed = {"AWS_ENDPOINT_URL": relay.url}
    applied = terraform(tmp_path, "apply", "-auto-approve", "-input=false", "-no-color", **account, **relayed)

    assert applied.returncode == 0, applied.stderr
    assert sorted(call for call in relay.calls if call[0].startswith("Create")) == [
        (action, attempt, 200)
        for action in ("CreateInternetGateway", "CreateLogGroup")
        for attempt in ("attempt=1", "attempt=2")
    ]
    ec2 = boto3.client(
        "ec2",
        endpoint_url=f"http://{relay.emulator}",
        region_name=ministack.REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    gateways = ec2.describe_internet_gateways(Filters=[{"Name": "tag:Name", "Values": ["once"]}])
    assert len(gateways["InternetGateways"]) == 1
