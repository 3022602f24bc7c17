"""An embedded AWS obeys only keys of its own run, and accepts all their connections, however many
start at once."""

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
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from stampede.emulator import gate, ministack
from stampede.emulator.ministack import Access
from tests.emulator.applied_stack import left_behind
from tests.emulator.embedded_aws import client, embedded_aws, make_role

BUCKET, CONNECTIONS = "bucket", 600
# Far more than what is held, and than the buffers of both sockets on a busy machine.
ENDLESS_BYTES = 2**29
EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
# A form whose call needs a key and no permission.
WHO_AM_I = b"Action=GetCallerIdentity&Version=2011-06-15"
PAGES = ("/_ministack/reset", "/_localstack/health", "/_aws/execute-api/a/b", "/oauth2/token")
TEST = Credentials("test", "test")


@dataclass(frozen=True)
class Call:
    """An HTTP request as sent."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def __or__(self, headers: dict[str, str]) -> "Call":
        return replace(self, headers=(*self.headers, *headers.items()))

    def status_at(self, host: str) -> int:
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.putrequest(self.method, self.target, skip_host=True)
        for header in (*self.headers, ("Content-Length", str(len(self.body)))):
            connection.putheader(*header)
        connection.endheaders(self.body)
        with contextlib.closing(connection):
            return connection.getresponse().status


def bytes_until_refused(call: Call, host: str) -> int:
    """Send the call with a body that doesn't end; return how much of it was sent until there was
    an answer, or the connection was closed with the rest unread."""
    address, _, port = host.partition(":")
    head = [f"{call.method} {call.target} HTTP/1.1", *(": ".join(pair) for pair in call.headers)]
    lines = [*head, "Transfer-Encoding: chunked", "", ""]
    chunk, sent = b"100000\r\n" + bytes(2**20) + b"\r\n", 0
    with socket.create_connection((address, int(port)), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode())
        with contextlib.suppress(ConnectionError, TimeoutError):
            while sent < ENDLESS_BYTES and not select.select([connection], [], [], 0)[0]:
                connection.sendall(chunk)
                sent += 2**20
    return sent


class Signer:
    """Signs calls as boto3 does, by default with the run's key."""

    def __init__(self, access: Access) -> None:
        self.host = access.endpoint_url.removeprefix("http://")
        self.key = Credentials(access.access_key_id, access.secret_access_key)

    def signed(self, path="/", body=WHO_AM_I, *, method="POST", key=None, service="sts", **more):
        """A call; `more` holds additional signed headers and the `host`."""
        host = more.pop("host", self.host)
        request = AWSRequest(method, f"http://{host}{path}", more, body)
        auth = S3SigV4Auth if service == "s3" else SigV4Auth
        auth(key or self.key, service, "us-east-1").add_auth(request)
        return Call(method, path, (("Host", host), *request.headers.items()), body)

    def presigned(self, more="", *, key=None, service="s3", expires=60, method="GET"):
        """A call of a presigned URL, with `more` added to its query after signing."""
        path = f"/{BUCKET}?list-type=2" if service == "s3" else f"/?{WHO_AM_I.decode()}"
        request = AWSRequest("GET", f"http://{self.host}{path}")
        auth = S3SigV4QueryAuth if service == "s3" else SigV4QueryAuth
        auth(key or self.key, service, "us-east-1", expires).add_auth(request)
        target = request.url.removeprefix(f"http://{self.host}") + more
        return Call(method, target, (("Host", self.host),))


def let_in(sign, session):
    """Valid calls that no other test sends."""
    port = sign.host.rpartition(":")[2]
    return {
        "a session": sign.signed(key=session),
        "another name of the host": sign.signed(host=f"localhost:{port}"),
        "a page of MiniStack's": sign.signed("/_ministack/health", b"", method="GET"),
        "a URL": sign.presigned(),
        "a URL of a session": sign.presigned(key=session, service="sts"),
        "an odd name": sign.signed(f"/{BUCKET}/k%20%2B%C3%A9", b"x", method="PUT", service="s3"),
    }


def refused(sign, session, derived):
    """Calls that anybody could send."""
    call, url, access_key = sign.signed(), sign.presigned(), session.access_key
    of_host = (("Host", sign.host),)
    scope = f"{sign.key.access_key}%2F20260101%2Fus-east-1%2Fs3%2Faws4_request"
    rebound = sign.signed(host="rebound.example:4566")
    bucket = sign.signed(f"/{BUCKET}", b"", method="GET", service="s3")
    upload = sign.signed(f"/{BUCKET}/k", b"x", method="PUT", service="s3")
    form = WHO_AM_I + f"&X-Amz-Credential={scope}".encode()
    other_secret = Credentials(sign.key.access_key, "test")
    no_token = Credentials(access_key, session.secret_key)
    other_token = Credentials(access_key, session.secret_key, "x")
    authorization = dict(call.headers)["Authorization"]
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    upgrade |= {"Sec-WebSocket-Key": "eA=="}
    return {page: Call("POST", page, of_host, b"{}") for page in PAGES} | {
        "nothing signed": Call("POST", "/", of_host, WHO_AM_I),
        "a key that everybody knows": sign.signed(key=TEST),
        "an account's number": sign.signed(key=Credentials("000000000000", "test")),
        "the run's key and another secret": sign.signed(key=other_secret),
        "a function's key, derived from its name": sign.signed(key=derived),
        "an empty key": replace(call, headers=of_host)
        | {"Authorization": authorization.replace(sign.key.access_key, "")},
        "a session without its token": sign.signed(key=no_token),
        "a session with another token": sign.signed(key=other_token),
        "a URL that has expired": sign.presigned(expires=-1),
        "a URL that never ends": sign.presigned(expires=10**9),
        "a URL for another method": sign.presigned(method="DELETE"),
        "a URL with more in it": sign.presigned("&acl"),
        "a URL with a second key": sign.presigned("&x-amz-credential=test/1/r/s3/a"),
        "a URL with an old signature": sign.presigned("&AWSAccessKeyId=test&Signature=x"),
        "a URL and a header": replace(
            sign.signed(f"/{BUCKET}", b"", method="GET"), target=url.target
        ),
        "a role's header and the run's key in the query": sign.signed(
            f"/{BUCKET}?X-Amz-Credential={scope}", b"", method="GET", key=session
        ),
        "another body": replace(call, body=WHO_AM_I + b"&x"),
        "another object": replace(upload, body=b"y"),
        "another path": replace(bucket, target=f"/{BUCKET}?acl"),
        "a header that it doesn't cover": call | {"X-Amz-Target": "AWSLambda.Invoke"},
        "a key in a form": Call("POST", "/", of_host, form),
        "a role at a page of MiniStack's": sign.signed("/_ministack/reset", key=session),
        "a page, by its origin": call | {"Origin": "null"},
        "another host": rebound,
        "a host of a proxy": replace(call, target=f"http://{rebound.headers[0][1]}/"),
        "a second signature": call | {"Authorization": authorization},
        "a websocket": sign.signed("/", b"", method="GET") | upgrade,
    }


def function_of(access):
    """Make a function; return the key that MiniStack would derive from its ARN and its role's."""
    functions, role = client("lambda", access), make_role(client("iam", access), "worker")
    runs = {"Runtime": "python3.12", "Handler": "i.h", "Role": role, "Code": {"ZipFile": EMPTY_ZIP}}
    arn = functions.create_function(FunctionName="f", **runs)["FunctionArn"]
    functions.get_waiter("function_active_v2").wait(FunctionName="f", WaiterConfig={"Delay": 1})
    functions.invoke(FunctionName="f")  # from now on it has keys
    digest = hashlib.sha256(f"{arn}:{role}".encode()).hexdigest()
    secret = hashlib.sha256(f"secret:{digest}".encode()).hexdigest()
    token = hashlib.sha256(f"token:{digest}".encode()).hexdigest()
    return Credentials(f"ASIA{digest[:16].upper()}", secret, token)


def session_of(access):
    """The key of a role without permissions."""
    role = make_role(client("iam", access), "session")
    taken = client("sts", access).assume_role(RoleArn=role, RoleSessionName="me")["Credentials"]
    return Credentials(taken["AccessKeyId"], taken["SecretAccessKey"], taken["SessionToken"])


def test_only_keys_of_the_run_are_let_in_and_other_calls_change_nothing(tmp_path, monkeypatch):
    with embedded_aws(tmp_path) as running:
        access, sign = running.access, Signer(running.access)
        client("s3", access).create_bucket(Bucket=BUCKET)
        session, derived = session_of(access), function_of(access)
        calls = let_in(sign, session)
        answered = {name: call.status_at(sign.host) for name, call in calls.items()}
        assert answered == dict.fromkeys(calls, 200)
        assert client("s3", access).list_objects(Bucket=BUCKET)["Contents"][0]["Key"] == "k +é"

        before = left_behind(lambda service: client(service, access))
        calls = refused(sign, session, derived)
        with monkeypatch.context() as clock:
            then = datetime.now(UTC) - timedelta(seconds=gate.SKEW_S + 2)
            clock.setattr("botocore.auth.get_current_datetime", lambda **_: then)
            calls["an old signature"] = sign.signed()
        answered = {name: call.status_at(sign.host) for name, call in calls.items()}
        assert answered == dict.fromkeys(calls, 403)
        assert left_behind(lambda service: client(service, access)) == before
        other = Access(access.endpoint_url, access.access_key_id, "wrong")
        with pytest.raises(ClientError, match="Signature"):  # in S3's form
            client("s3", other).list_buckets()


def test_a_long_body_is_not_held_before_its_signature_is_checked(tmp_path):
    with embedded_aws(tmp_path) as running:
        sign = Signer(running.access)
        wrong = Credentials(sign.key.access_key, "wrong")
        put = {"method": "PUT", "service": "s3", "key": wrong}
        declared = sign.signed(f"/{BUCKET}/k", b"x", **put)
        assert bytes_until_refused(declared, sign.host) < gate.MOST_UNCHECKED_BYTES
        undeclared = sign.signed(key=wrong)
        sent = bytes_until_refused(undeclared, sign.host)
        assert gate.MOST_UNCHECKED_BYTES <= sent < ENDLESS_BYTES


def test_only_this_user_can_read_the_key_and_it_never_leads_to_another_port(tmp_path, monkeypatch):
    state, answers = tmp_path / "state", ministack.Emulator.answers

    def answered_by_nobody_else(emulator):
        with pytest.raises(OSError, match="in use"):
            socket.socket().bind((ministack.HOST, int(emulator.endpoint_url.rpartition(":")[2])))
        return answers(emulator)

    def led_to():
        script = ". state/emulator.env; echo $AWS_ENDPOINT_URL $AWS_SECRET_ACCESS_KEY"
        options = {"cwd": tmp_path, "env": {}, "capture_output": True, "text": True}
        return subprocess.run(["/bin/sh", "-c", script], check=False, **options).stdout.split()

    monkeypatch.setattr(ministack.Emulator, "answers", answered_by_nobody_else)
    with embedded_aws(state) as running:
        secret = running.access.secret_access_key
        assert secret not in f"{running} {running.access}"
        for name in ("emulator.json", "emulator.env"):
            assert secret in (state / name).read_text()
            assert stat.S_IMODE((state / name).stat().st_mode) == 0o600
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        assert led_to() == [running.endpoint_url, secret]
        os.killpg(running.pid, signal.SIGKILL)
        os.waitpid(running.pid, 0)
        assert led_to() == []  # another program may have its port now
        assert not ministack.stop(state)
        assert not list(state.glob("emulator.[je]*"))


def test_600_connections_at_once_wait_until_a_busy_emulator_accepts_them(tmp_path):
    with embedded_aws(tmp_path) as running, contextlib.ExitStack() as opened:
        os.kill(running.pid, signal.SIGSTOP)  # busy: it accepts nothing
        opened.callback(os.kill, running.pid, signal.SIGCONT)
        waiting = {opened.enter_context(socket.socket()) for _ in range(CONNECTIONS)}
        for connection in waiting:
            connection.setblocking(False)
            connection.connect_ex((ministack.HOST, int(running.endpoint_url.rpartition(":")[2])))
        deadline = time.monotonic() + 5
        while waiting and time.monotonic() < deadline:
            waiting -= set(select.select([], waiting, [], 1)[1])
        assert not waiting, f"{len(waiting)} of {CONNECTIONS} got no connection"


def test_the_head_of_an_answer_comes_with_its_body(tmp_path):
    """The SDK for Go repeats a call if the head comes alone (stampede/emulator/keeper.py)."""
    with embedded_aws(tmp_path) as running:
        port = int(running.endpoint_url.rpartition(":")[2])
        with socket.create_connection((ministack.HOST, port), timeout=10) as connection:
            for _ in range(50):
                connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                assert b"\r\n\r\n<" in connection.recv(65536)


PARENT = """
import sys, time
from pathlib import Path
from stampede.emulator import ministack
print(ministack.start(Path(sys.argv[1]), follow_parent=True).pid, flush=True)
time.sleep(60)
"""


def test_an_emulator_ends_with_the_process_that_it_follows_however_that_ends(tmp_path):
    command = [sys.executable, "-c", PARENT, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        parent.stdout.readline()
        running = ministack.running(tmp_path)
        assert running.is_alive()
        parent.kill()
    deadline = time.monotonic() + 20
    while running.is_alive():
        assert time.monotonic() < deadline, "it outlives its parent"
        time.sleep(0.05)
