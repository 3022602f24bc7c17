"""Terraform's real provider repeats calls whose answers it lost, and the embedded AWS carries each of them out once."""

import http.client

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from stampede.emulator import ministack
from tests.fakes.loopback import ConnectionCut, Loopback

SIGNED_ANEW = ("host", "authorization", "x-amz-date")
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
    """Passes calls on to an emulator, signed anew as its host is another one, and loses the answer to the first attempt
    of each creation."""

    def __init__(self, access):
        super().__init__()
        self.access, self.calls = access, []
        self.key = Credentials(access.access_key_id, access.secret_access_key)

    def answer(self, request):
        attempt = request.headers["amz-sdk-request"].partition(";")[0]
        kept = {name: value for name, value in request.headers.items() if name.lower() not in SIGNED_ANEW}
        call = AWSRequest("POST", self.access.endpoint_url + request.path, kept, request.body)
        service = request.headers["Authorization"].split("/")[3]
        SigV4Auth(self.key, service, ministack.REGION).add_auth(call)
        emulator = http.client.HTTPConnection(self.access.endpoint_url.removeprefix("http://"), timeout=30)
        emulator.request("POST", request.path, request.body, dict(call.headers))
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
    with Relay(emulator.access) as relay:
        yield relay
    ministack.stop(tmp_path / "state")


def test_what_is_created_is_there_once_though_every_first_answer_is_lost(relay, terraform, tmp_path):
    (tmp_path / "main.tf").write_text(MAIN)
    terraform(tmp_path, "init", "-input=false")
    relayed = relay.access.environment | {"AWS_ENDPOINT_URL": relay.url}
    applied = terraform(tmp_path, "apply", "-auto-approve", "-input=false", "-no-color", **relayed)

    assert applied.returncode == 0, applied.stderr
    assert sorted(call for call in relay.calls if call[0].startswith("Create")) == [
        (action, attempt, 200)
        for action in ("CreateInternetGateway", "CreateLogGroup")
        for attempt in ("attempt=1", "attempt=2")
    ]
    ec2 = boto3.client(
        "ec2",
        endpoint_url=relay.access.endpoint_url,
        region_name=ministack.REGION,
        **relay.access.key,
    )
    gateways = ec2.describe_internet_gateways(Filters=[{"Name": "tag:Name", "Values": ["once"]}])
    assert len(gateways["InternetGateways"]) == 1
