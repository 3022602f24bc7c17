"""What the gate before MiniStack lets in, and what not: decided on the request as it was sent."""

import asyncio
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from ministack import app as gateway
from ministack.core import lambda_runtime
from ministack.services import lambda_svc, sts

from stampede.emulator import gate

HOST = "127.0.0.1:4566"
KEY = Credentials("STAMPEDE1", "secret")
SESSION = Credentials("ASIA1", "of a session", "its token")
FORM = b"Action=CreateRole&RoleName=r"
TAGS = "/v20180820/tags/arn%3Aaws%3As3%3A%3A%3Ahttp%3A%2F%2Fb"


@dataclass(frozen=True)
class Request:
    method: str = "POST"
    target: str = "/"
    headers: dict = field(default_factory=dict)
    body: bytes = b""
    more: tuple = ()  # headers that come a second time
    version: str = "1.1"

    def __or__(self, headers):
        return replace(self, headers=self.headers | headers)


@pytest.fixture(autouse=True)
def of_one_run(monkeypatch):
    """MiniStack with this run's key and one session of a role; put back afterwards."""
    for module in (lambda_runtime, lambda_svc):
        monkeypatch.setattr(module, "execution_credentials", module.execution_credentials)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY.secret_key)
    monkeypatch.setattr(gateway, "AUTH", True)
    role = {"Arn": "arn:aws:sts::000000000000:assumed-role/r/s", "PrincipalType": "AssumedRole"}
    secret = {"SecretAccessKey": SESSION.secret_key, "SessionToken": SESSION.token}
    monkeypatch.setattr(sts, "_sessions", {SESSION.access_key: role | secret})
    gate.give_functions_keys_of_this_run()


def signed(method="POST", path="/", body=FORM, *, key=KEY, service="iam", host=HOST, **headers):
    """A request as boto3 signs it."""
    request = AWSRequest(method, f"http://{host}{path}", headers, body)
    auth = S3SigV4Auth if service == "s3" else SigV4Auth
    auth(key, service, "us-east-1").add_auth(request)
    return Request(method, path, dict(request.headers) | {"Host": host}, body)


def presigned(*, key=KEY, service="s3", expires=60, path="/b?list-type=2"):
    request = AWSRequest("GET", f"http://{HOST}{path}")
    auth = S3SigV4QueryAuth if service == "s3" else SigV4QueryAuth
    auth(key, service, "us-east-1", expires).add_auth(request)
    return Request("GET", request.url.removeprefix(f"http://{HOST}"), {"Host": HOST})


def ask(request):
    """The status of the answer, and the requests that MiniStack gets."""
    reached, answered = [], []

    async def ministack(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        reached.append((scope["path"], body))
        await send({"type": "http.response.start", "status": 200})

    halves = len(request.body) // 2
    pieces = iter([(request.body[:halves], True), (request.body[halves:], False)])

    async def receive():
        body, more = next(pieces)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(message):
        answered.append(message)

    path, _, query = request.target.partition("?")
    headers = [
        (name.lower().encode(), value.encode())
        for name, value in [*request.headers.items(), *request.more]
    ]
    scope = {
        "type": "http",
        "http_version": request.version,
        "method": request.method,
        "headers": headers,
    }
    scope |= {"path": path, "raw_path": path.encode(), "query_string": query.encode()}
    asyncio.run(gate.guarded(ministack, 4566)(scope, receive, send))
    return answered[0]["status"], reached


def let_in():
    """Signed when they are sent: a signature ends."""
    of_an_account = signed("GET", TAGS, b"", host=f"000000000000.{HOST}")
    return [
        signed(),
        signed(key=SESSION),
        signed(host="localhost:4566"),
        of_an_account,
        replace(of_an_account, target=f"http://000000000000.{HOST}{TAGS}"),  # as to a proxy
        signed("PUT", "/b/k%20%2B%C3%A9", service="s3"),
        signed(
            "PUT",
            "/b/k",
            b"4\r\nbody\r\n0\r\n\r\n",
            service="s3",
            **{"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"},
        ),
        signed("GET", "/_ministack/health", b""),
        presigned(),
        presigned(key=SESSION),
        presigned(service="sts", path="/?Action=GetCallerIdentity"),
        signed() | {"Sec-Fetch-Site": "none", "User-Agent": "x"},
    ]


def test_a_call_signed_with_a_key_of_the_run_gets_in_as_it_is():
    for call in let_in():
        status, [(path, body)] = ask(call)
        sent = unquote(urlsplit(call.target).path) if call.target.startswith("/") else unquote(TAGS)
        assert (status, path, body) == (200, sent, call.body)


def refused():
    """What anybody can send, signed when it is sent."""
    return {
        "nothing signed": Request(headers={"Host": HOST}, body=FORM),
        "the key that everybody knows": signed(key=Credentials("test", "test")),
        "an empty key": signed()
        | {"Authorization": signed().headers["Authorization"].replace(KEY.access_key, "")},
        "a session without its token": signed(
            key=Credentials(SESSION.access_key, SESSION.secret_key)
        ),
        "a session with another token": signed(
            key=Credentials(SESSION.access_key, SESSION.secret_key, "x")
        ),
        "a URL that has expired": presigned(expires=-1),
        "a URL that never ends": presigned(expires=10**9),
        "a URL for another method": replace(presigned(), method="DELETE"),
        "a URL with more in it": replace(presigned(), target=presigned().target + "&acl"),
        "a URL with a second key": replace(
            presigned(), target=presigned().target + "&x-amz-credential=test/1/r/s3/a"
        ),
        "a URL with an old signature": replace(
            presigned(), target=presigned().target + "&AWSAccessKeyId=test&Signature=x"
        ),
        "a URL and a header": replace(signed("GET", "/b", b""), target=presigned().target),
        "a role's header and the run's key in the query": signed(
            "GET",
            "/b?X-Amz-Credential=STAMPEDE1%2F20260101%2Fus-east-1%2Fs3%2Faws4_request",
            b"",
            key=SESSION,
        ),
        "another body": replace(signed(), body=FORM + b"x"),
        "another object": replace(
            signed("PUT", "/b/k", service="s3"), body=b"Action=CreateRole&RoleName=x"
        ),
        "another path": replace(signed("GET", "/b", b"", service="s3"), target="/c"),
        "a header that it doesn't cover": signed() | {"X-Amz-Target": "AWSLambda.Invoke"},
        "a key of a form": Request(
            headers={"Host": HOST}, body=FORM + b"&X-Amz-Credential=STAMPEDE1/1/r/iam/aws4_request"
        ),
        "a role at a page of MiniStack's": signed("POST", "/_ministack/reset", key=SESSION),
        "a page, by its origin": signed() | {"Origin": "null"},
        "another host": signed(host="rebound.example:4566"),
        "a host of a proxy": replace(signed(), target="http://rebound.example:4566/"),
        "a second signature": replace(
            signed(), more=(("Authorization", signed().headers["Authorization"]),)
        ),
        "HTTP/2": replace(signed(), version="2"),
    }


@pytest.mark.parametrize("case", refused())
def test_what_anybody_can_send_is_refused_before_ministack_sees_it(case):
    assert ask(refused()[case]) == (403, [])


def test_a_signature_ends(monkeypatch):
    then = gate.datetime.now(gate.UTC) - gate.timedelta(seconds=gate.SKEW_S + 2)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda **_: then)
    assert ask(signed()) == (403, [])


def test_no_websocket_is_opened():
    said = []

    async def send(message):
        said.append(message["type"])

    asyncio.run(gate.guarded(None, 4566)({"type": "websocket"}, None, send))
    assert said == ["websocket.close"]


def test_the_keys_of_a_function_follow_from_nothing_that_others_know():
    config = {
        "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:f",
        "FunctionName": "f",
    }
    config |= {"Role": "arn:aws:iam::000000000000:role/path/worker"}
    first = lambda_svc.execution_credentials(config)
    gate.give_functions_keys_of_this_run()  # another run
    assert first != lambda_svc.execution_credentials(config)
    keys = Credentials(*first.values())
    assert (
        sts._sessions[keys.access_key]["Arn"] == "arn:aws:sts::000000000000:assumed-role/worker/f"
    )
    assert ask(signed(key=keys))[0] == 200
