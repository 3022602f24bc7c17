"""Nobody but its own run drives an embedded AWS: what anybody on this machine can send makes nothing in it."""

import hashlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
from types import SimpleNamespace
from urllib.parse import urlencode

import boto3
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from stampede.emulator import ministack
from tests.emulator.applied_stack import left_behind
from tests.emulator.nobody import as_nobody

ROLE, FUNCTION = "arn:aws:iam::000000000000:role/worker", "arn:aws:lambda:us-east-1:000000000000:function:f"
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [TRUST]})
CREATE = urlencode({"Action": "CreateRole", "RoleName": "evil", "AssumeRolePolicyDocument": POLICY})


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    """A running emulator, its state folder and a maker of its root user's clients; nothing is in it."""
    state = tmp_path_factory.mktemp("emulator")
    running = ministack.start(state, follow_parent=True)
    try:
        where = {"endpoint_url": running.endpoint_url, "region_name": "us-east-1"} | running.access.key
        yield SimpleNamespace(access=running.access, root=lambda service: boto3.client(service, **where))
    finally:
        ministack.stop(state)


def keys(access):
    """The keys that anybody knows or derives, and with the run's own a secret that nobody knows."""
    digest = hashlib.sha256(f"{FUNCTION}:{ROLE}".encode()).hexdigest()
    secret, token = (hashlib.sha256(f"{kind}:{digest}".encode()).hexdigest() for kind in ("secret", "token"))
    yield Credentials("test", "test")
    yield Credentials("000000000000", "test")
    yield Credentials(f"ASIA{digest[:16].upper()}", secret, token)
    yield Credentials(access.access_key_id, "test")


def attempts(access):
    """Requests that would make the role `evil`, or forget or set everything: target, headers, and body."""
    for key in keys(access):
        call = AWSRequest("POST", access.endpoint_url, {"Content-Type": "application/x-www-form-urlencoded"}, CREATE)
        SigV4Auth(key, "iam", "us-east-1").add_auth(call)
        yield "/", dict(call.headers), CREATE
        call = AWSRequest("POST", f"{access.endpoint_url}/?{CREATE}")
        SigV4QueryAuth(key, "iam", "us-east-1").add_auth(call)
        yield call.url.removeprefix(access.endpoint_url), {}, ""
    yield "/", {"Authorization": "AWS4-HMAC-SHA256 Credential=/20260101/us-east-1/iam/aws4_request"}, CREATE
    for page in ("reset", "config", "health", "lambda-code/f"):
        yield f"/_ministack/{page}", {}, "{}"
    for page in ("/health", "/_localstack/health", "/_aws/execute-api/a/b", "/oauth2/token"):
        yield page, {}, ""


@pytest.mark.parametrize("who", ["this user", "another user"])
def test_without_its_key_nothing_is_answered_and_nothing_is_made(emulator, who):
    if who == "another user" and os.geteuid() != 0:
        pytest.skip("only root can be another user")
    host = emulator.access.endpoint_url.removeprefix("http://")
    emulator.root("sqs").create_queue(QueueName=f"stays-{who[:4]}")
    before, sent = left_behind(emulator.root), list(attempts(emulator.access))

    def statuses():
        seen = []
        for target, headers, body in sent:
            connection = http.client.HTTPConnection(host, timeout=10)
            connection.request("POST", target, body, headers)
            seen.append(connection.getresponse().status)
            connection.close()
        return seen

    assert set(statuses() if who == "this user" else as_nobody(statuses)) == {403}
    assert left_behind(emulator.root) == before


def test_the_key_is_in_files_that_only_this_user_reads_and_they_go_with_it(tmp_path):
    running = ministack.start(tmp_path / "state", follow_parent=True)
    try:
        for name in ("emulator.json", "emulator.env"):
            file = tmp_path / "state" / name
            assert running.access.secret_access_key in file.read_text()
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
        assert running.access.secret_access_key not in f"{running} {running.access}"
    finally:
        ministack.stop(tmp_path / "state")
    assert not (tmp_path / "state" / "emulator.env").exists()


def test_no_other_program_can_take_its_port_while_it_starts(tmp_path, monkeypatch):
    def answered_by_nobody(emulator):
        with pytest.raises(OSError, match="in use"):
            socket.socket().bind((ministack.HOST, int(emulator.endpoint_url.rpartition(":")[2])))
        return answers(emulator)

    answers = ministack.Emulator.answers
    monkeypatch.setattr(ministack.Emulator, "answers", answered_by_nobody)
    try:
        ministack.start(tmp_path / "state", follow_parent=True)
    finally:
        ministack.stop(tmp_path / "state")


def test_a_shell_is_led_to_a_running_emulator_alone(tmp_path):
    running = ministack.start(tmp_path / "state", follow_parent=True)
    read = ["/bin/sh", "-c", ". state/emulator.env; echo $AWS_ENDPOINT_URL $AWS_SECRET_ACCESS_KEY"]

    def led_to():
        done = subprocess.run(read, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
        return done.stdout.split()

    try:
        assert led_to() == [running.endpoint_url, running.access.secret_access_key]
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        os.waitpid(running.pid, 0)
    assert led_to() == []


@pytest.mark.parametrize("service", ["s3", "sqs", "iam", "ec2", "lambda", "logs", "cloudwatch", "sts"])
def test_an_sdk_reports_a_wrong_key_as_an_error_of_the_service(emulator, service):
    calls = {"s3": "list_buckets", "sqs": "list_queues", "iam": "list_roles", "ec2": "describe_vpcs"}
    calls |= {"lambda": "list_functions", "logs": "describe_log_groups", "cloudwatch": "list_metrics"}
    wrong = {"aws_access_key_id": emulator.access.access_key_id, "aws_secret_access_key": "wrong"}
    where = {"endpoint_url": emulator.access.endpoint_url, "region_name": "us-east-1"}
    with pytest.raises(ClientError, match=r"Signature|AuthFailure"):
        getattr(boto3.client(service, **where, **wrong), calls.get(service, "get_caller_identity"))()
