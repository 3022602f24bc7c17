"""Nobody but its own run drives an embedded AWS, and of its own it turns nobody away, however many
begin at once."""

import contextlib
import hashlib
import http.client
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from urllib.parse import urlencode

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from stampede.emulator import ministack
from stampede.emulator.ministack import Access
from tests.emulator.applied_stack import left_behind
from tests.emulator.embedded_aws import client, embedded_aws, make_role
from tests.emulator.nobody import as_nobody

CONNECTIONS = 600
EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
# which needs a key, and no right
WHO_AM_I = urlencode({"Action": "GetCallerIdentity", "Version": "2011-06-15"})
PAGES = [f"/_ministack/{page}" for page in ("reset", "config", "health", "lambda-code/f")]
PAGES += ["/health", "/_localstack/health", "/_aws/execute-api/a/b", "/oauth2/token"]
READS = {"s3": "list_buckets", "sqs": "list_queues", "iam": "list_roles", "ec2": "describe_vpcs"}
READS |= {"lambda": "list_functions", "logs": "describe_log_groups", "sts": "get_caller_identity"}


def function_of(access):
    """A function that has been called, so that it has keys; what the names of both make."""
    functions, role = client("lambda", access), make_role(client("iam", access), "worker")
    runs = {"Runtime": "python3.12", "Handler": "i.h", "Role": role, "Code": {"ZipFile": EMPTY_ZIP}}
    arn = functions.create_function(FunctionName="f", **runs)["FunctionArn"]
    functions.get_waiter("function_active_v2").wait(FunctionName="f", WaiterConfig={"Delay": 1})
    functions.invoke(FunctionName="f")
    return f"{arn}:{role}"


def attempts(access, function):
    """Requests that would be answered, or forget or set everything: target, headers, and body."""
    digest = hashlib.sha256(function.encode()).hexdigest()
    secret, token = (
        hashlib.sha256(f"{kind}:{digest}".encode()).hexdigest() for kind in ("secret", "token")
    )
    keys = [("test", "test"), ("000000000000", "test"), (access.access_key_id, "test")]
    for key in [*keys, (f"ASIA{digest[:16].upper()}", secret, token)]:
        call = AWSRequest(
            "POST",
            access.endpoint_url,
            {"Content-Type": "application/x-www-form-urlencoded"},
            WHO_AM_I,
        )
        SigV4Auth(Credentials(*key), "sts", "us-east-1").add_auth(call)
        yield "/", dict(call.headers), WHO_AM_I
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
        read = [
            "/bin/sh",
            "-c",
            ". state/emulator.env; echo $AWS_ENDPOINT_URL $AWS_SECRET_ACCESS_KEY",
        ]
        return subprocess.run(
            read, cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        ).stdout.split()

    monkeypatch.setattr(ministack.Emulator, "answers", answered_by_nobody_else)
    with embedded_aws(state) as running:
        # This user alone can read the key; a shell of his is led there.
        access, secret = running.access, running.access.secret_access_key
        assert secret not in f"{running} {access}"
        for name in ("emulator.json", "emulator.env"):
            assert secret in (state / name).read_text()
            assert stat.S_IMODE((state / name).stat().st_mode) == 0o600
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        assert led_to() == [running.endpoint_url, secret]

        requests = list(attempts(access, function_of(access)))
        before = left_behind(lambda service: client(service, access))
        host = running.endpoint_url.removeprefix("http://")
        assert set(statuses(host, requests)) == {403}
        if os.geteuid() == 0:  # only root can be another user
            assert set(as_nobody(lambda: list(statuses(host, requests)))) == {403}
        assert left_behind(lambda service: client(service, access)) == before
        for service, read in READS.items():  # what an SDK says is an error of the service
            with pytest.raises(ClientError, match=r"Signature|AuthFailure"):
                getattr(
                    client(service, Access(access.endpoint_url, access.access_key_id, "wrong")),
                    read,
                )()

        os.killpg(running.pid, signal.SIGKILL)
        os.waitpid(running.pid, 0)
        assert led_to() == []  # its port may be a stranger's now
        assert not ministack.stop(state)
        assert not list(state.glob("emulator.[je]*"))


def test_600_connections_at_once_wait_until_a_busy_emulator_comes_to_them(tmp_path):
    with embedded_aws(tmp_path) as running, contextlib.ExitStack() as opened:
        os.kill(running.pid, signal.SIGSTOP)  # busy: it comes to nothing else
        opened.callback(os.kill, running.pid, signal.SIGCONT)
        waiting = {opened.enter_context(socket.socket()) for _ in range(CONNECTIONS)}
        for connection in waiting:
            connection.setblocking(False)
            connection.connect_ex((ministack.HOST, int(running.endpoint_url.rpartition(":")[2])))
        deadline = time.monotonic() + 5
        while waiting and time.monotonic() < deadline:
            waiting -= set(select.select([], waiting, [], 1)[1])
        assert not waiting, f"{len(waiting)} of {CONNECTIONS} got no connection"


PARENT = """
import sys, time
from pathlib import Path
from stampede.emulator import ministack
print(ministack.start(Path(sys.argv[1]), follow_parent=True).pid, flush=True)
time.sleep(60)
"""


def test_an_emulator_ends_with_the_process_that_it_follows_however_that_ends(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path], stdout=subprocess.PIPE, text=True
    ) as parent:
        parent.stdout.readline()
        running = ministack.running(tmp_path)
        assert running.is_alive()
        parent.kill()
    deadline = time.monotonic() + 20
    while running.is_alive():
        assert time.monotonic() < deadline, "it outlives its parent"
        time.sleep(0.05)
