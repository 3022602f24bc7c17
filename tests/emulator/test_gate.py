"""Nobody but its own run drives an embedded AWS: what anybody on this machine can send makes nothing in it."""

import hashlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
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
PAGES = [f"/_ministack/{page}" for page in ("reset", "config", "health", "lambda-code/f")]
PAGES += ["/health", "/_localstack/health", "/_aws/execute-api/a/b", "/oauth2/token"]
READS = {"s3": "list_buckets", "sqs": "list_queues", "iam": "list_roles", "ec2": "describe_vpcs"}
READS |= {"lambda": "list_functions", "logs": "describe_log_groups", "sts": "get_caller_identity"}


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
    yield from ((page, {}, "{}") for page in PAGES)


def statuses(host, requests):
    for target, headers, body in requests:
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("POST", target, body, headers)
        yield connection.getresponse().status
        connection.close()


def test_without_the_key_of_its_run_nothing_is_answered_and_nothing_is_made(tmp_path, monkeypatch):
    state, answers = tmp_path / "state", ministack.Emulator.answers

    def answered_by_nobody_else(emulator):
        with pytest.raises(OSError, match="in use"):
            socket.socket().bind((ministack.HOST, int(emulator.endpoint_url.rpartition(":")[2])))
        return answers(emulator)

    def led_to():
        read = ["/bin/sh", "-c", ". state/emulator.env; echo $AWS_ENDPOINT_URL $AWS_SECRET_ACCESS_KEY"]
        return subprocess.run(read, cwd=tmp_path, env={}, capture_output=True, text=True, check=False).stdout.split()

    monkeypatch.setattr(ministack.Emulator, "answers", answered_by_nobody_else)
    running = ministack.start(state, follow_parent=True)
    access, where = running.access, {"endpoint_url": running.endpoint_url, "region_name": "us-east-1"}
    try:
        # This user alone can read the key; a shell of his is led there.
        assert access.secret_access_key not in f"{running} {access}"
        for name in ("emulator.json", "emulator.env"):
            assert access.secret_access_key in (state / name).read_text()
            assert stat.S_IMODE((state / name).stat().st_mode) == 0o600
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        assert led_to() == [running.endpoint_url, access.secret_access_key]

        def root(service):
            return boto3.client(service, **where, **access.key)

        root("sqs").create_queue(QueueName="stays")
        before, requests = left_behind(root), list(attempts(access))
        host = running.endpoint_url.removeprefix("http://")
        assert set(statuses(host, requests)) == {403}
        if os.geteuid() == 0:  # only root can be another user
            assert set(as_nobody(lambda: list(statuses(host, requests)))) == {403}
        assert left_behind(root) == before
        for service, read in READS.items():  # what an SDK says is an error of the service
            with pytest.raises(ClientError, match=r"Signature|AuthFailure"):
                getattr(boto3.client(service, **where, **access.key | {"aws_secret_access_key": "wrong"}), read)()
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        os.waitpid(running.pid, 0)
    assert led_to() == []  # its port may be a stranger's now
    assert not ministack.stop(state)
    assert not list(state.glob("emulator.[je]*"))
