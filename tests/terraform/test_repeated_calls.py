"""Terraform's real provider repeats calls whose answers it lost, and the embedded AWS carries each of them out once."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import boto3
import pytest

from stampede.emulator import ministack

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


class Relay(BaseHTTPRequestHandler):
    """Hands calls on to the server's `emulator`, and loses the answer to the first attempt of each creation."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        action = (self.headers.get("X-Amz-Target") or parse_qs(body.decode())["Action"][0]).rpartition(".")[2]
        attempt = self.headers["amz-sdk-request"].partition(";")[0]
        emulator = http.client.HTTPConnection(self.server.emulator, timeout=30)
        emulator.request("POST", self.path, body, dict(self.headers))
        answer = emulator.getresponse()
        self.server.calls.append((action, attempt, answer.status))
        if action.startswith("Create") and attempt == "attempt=1":
            self.close_connection = True
        else:
            head = "".join(f"{name}: {value}\r\n" for name, value in answer.getheaders())
            self.wfile.write(f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode() + answer.read())
        emulator.close()

    def log_message(self, *_):
        pass


@pytest.fixture
def relay(tmp_path):
    """A relay before an embedded AWS of its own."""
    emulator = ministack.start(tmp_path / "state", follow_parent=True)
    server = ThreadingHTTPServer((ministack.HOST, 0), Relay)
    server.emulator, server.calls = emulator.endpoint_url.removeprefix("http://"), []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    ministack.stop(tmp_path / "state")


def test_what_is_created_is_there_once_though_every_first_answer_is_lost(relay, terraform, tmp_path):
    account = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": ministack.REGION}
    (tmp_path / "main.tf").write_text(MAIN)
    terraform(tmp_path, "init", "-input=false")
    relayed = {"AWS_ENDPOINT_URL": f"http://{ministack.HOST}:{relay.server_port}"}
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
    found = ec2.describe_internet_gateways(Filters=[{"Name": "tag:Name", "Values": ["once"]}])
    assert len(found["InternetGateways"]) == 1
