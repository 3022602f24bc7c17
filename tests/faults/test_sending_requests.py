"""The flood's requests are what SQS asks for, over TLS and through a proxy, too."""

import base64
import datetime
import json
import select
import socket
import threading
from types import SimpleNamespace

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from loader.sqs.sending import Order, send_to
from loader.sqs.signing import CONTENT_TYPE, TARGET, Endpoint, Signer, request_body
from loader.sqs.wire import read_answer
from tests.fakes import sqs as fake_sqs
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import endpoint, flood


def parts_of(request):
    """First line, headers and body of a request's bytes."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return first, dict(line.split(": ", 1) for line in lines), body


@pytest.mark.parametrize("url", ["https://sqs.eu-west-1.amazonaws.com", "http://127.0.0.1:4566", "http://[::1]:4566"])
@pytest.mark.parametrize("token", [None, "session-token"])
def test_our_signature_is_the_one_that_botocore_makes(url, token, monkeypatch):
    credentials = Credentials("AKIDEXAMPLE", "secret", token)
    body = request_body("https://sqs.eu-west-1.amazonaws.com/1/q", ["é", "x"])
    first, ours, sent = parts_of(Signer(Endpoint(url, "eu-west-1", credentials.get_frozen_credentials)).request(body))
    assert (first, sent, ours["content-length"]) == ("POST / HTTP/1.1", body, str(len(body)))
    request = AWSRequest("POST", url + "/", data=body, headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": TARGET})
    moment = datetime.datetime.strptime(ours["x-amz-date"], "%Y%m%dT%H%M%SZ")
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: moment, raising=False)
    SigV4Auth(credentials, "sqs", "eu-west-1").add_auth(request)
    assert request.headers["X-Amz-Date"] == ours["x-amz-date"]
    assert request.headers["Authorization"] == ours["authorization"]
    assert request.headers.get("X-Amz-Security-Token") == ours.get("x-amz-security-token") == token


def test_a_new_second_has_a_new_date_and_renewed_credentials_are_used_within_it():
    clock, keys = [1_000_000.9], ["OLD"]

    def credentials():
        return SimpleNamespace(access_key=keys[0], secret_key="secret", token=None)

    signer = Signer(Endpoint("http://127.0.0.1", "us-east-1", credentials), lambda: clock[0])
    dates = []
    for clock[0], keys[0] in ((1_000_000.9, "OLD"), (1_000_001.0, "NEW")):
        _, headers, _ = parts_of(signer.request(b"{}"))
        assert f"Credential={keys[0]}/19700112/us-east-1/sqs/aws4_request" in headers["authorization"]
        dates.append(headers["x-amz-date"])
    assert dates == ["19700112T134640Z", "19700112T134641Z"]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=10))
def test_every_text_arrives_as_it_is(bodies):
    sent = json.loads(request_body("http://127.0.0.1/0/q", bodies))
    assert sent["QueueUrl"] == "http://127.0.0.1/0/q"
    assert sent["Entries"] == [{"Id": str(index), "MessageBody": body} for index, body in enumerate(bodies)]


ANSWERS = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}": (200, b"{}", True),
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}": (200, b"{}", True),
    b"HTTP/1.1 200 OK\r\ncontent-length:2\r\nConnection: Close\r\n\r\n{}": (200, b"{}", False),
    b"HTTP/1.0 503 Busy\r\nContent-Length: 0\r\n\r\n": (503, b"", False),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nT: 1\r\n\r\n": (
        200,
        b"{}",
        True,
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_read_when_its_last_byte_is_there_and_not_before(answer):
    assert [read_answer(answer[:size], at_end=False) for size in range(len(answer))] == [None] * len(answer)
    assert read_answer(answer, at_end=False) == ANSWERS[answer]


def test_an_answer_without_a_length_ends_with_the_connection():
    answer = b"HTTP/1.1 502 Bad Gateway\r\n\r\nsorry"
    assert read_answer(answer, at_end=False) is None
    assert read_answer(answer, at_end=True) == (502, b"sorry", False)


def test_what_follows_an_answer_unasked_makes_the_connection_unusable():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 408 Timeout\r\n\r\n"
    assert read_answer(answer, at_end=False) == (200, b"{}", False)


@pytest.mark.parametrize(
    "head", [b"220 mail.example ESMTP", b"HTTP/2 200", b"HTTP/1.1 OK", b"HTTP/1.1 200 OK\r\nContent-Length: -1"]
)
def test_what_is_no_answer_is_refused(head):
    with pytest.raises(ValueError):
        read_answer(head + b"\r\n\r\n", at_end=False)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_over_tls_every_message_arrives_once_with_the_session_token(certificate):
    with FakeSqs(fake_sqs.OK_IN_CHUNKS, tls=certificate.context) as sqs:
        outcome, _ = flood(sqs, ca_bundle=certificate.path)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert (outcome.sent, outcome.possible_duplicates) == (95, 0)
    assert {head["x-amz-security-token"] for head in sqs.heads} == {"session-token"}


def test_a_tls_connection_cut_after_acceptance_is_reported_like_a_plain_one(certificate):
    with FakeSqs(fake_sqs.CUT_AFTER, tls=certificate.context) as sqs:
        outcome, accepted = flood(sqs, ca_bundle=certificate.path)
    twice = {seq for seq, copies in sqs.copies().items() if copies == 2}
    assert {message.seq for message in accepted if message.possible_duplicate} == twice
    assert (len(twice), outcome.sent) == (10, 95)


def test_a_certificate_that_nobody_vouches_for_gets_no_request(certificate, monkeypatch):
    monkeypatch.setattr("loader.sqs.sending.BACKOFF_BASE_S", 0.001)
    with FakeSqs(tls=certificate.context) as sqs:
        outcome, _ = flood(sqs, count=20, in_flight=1)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, sqs.requests) == (0, 20, 0, 0)
    assert "certificate" in outcome.reason.lower()


class ConnectProxy:
    """A CONNECT proxy on loopback; `heads` are those of the requests. It answers with `status`."""

    def __init__(self, status: str = "200 OK") -> None:
        self._status, self.heads = status, []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._tunnel, args=(client,), daemon=True).start()

    def _tunnel(self, client):
        with client:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.heads.append(head.decode())
            client.sendall(f"HTTP/1.1 {self._status}\r\n\r\n".encode())
            if not self._status.startswith("200"):
                return
            host, port = head.split()[1].decode().split(":")
            with socket.create_connection((host, int(port))) as server:
                sides = {client: server, server: client}
                while True:
                    for side in select.select([*sides], [], [])[0]:
                        try:
                            data = side.recv(65536)
                        except OSError:
                            return
                        if not data:
                            return
                        sides[side].sendall(data)


def test_a_proxy_of_the_environment_is_used_with_its_user_and_password(certificate, monkeypatch):
    with FakeSqs(tls=certificate.context) as sqs, ConnectProxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:p%40ss@{proxy.address}")
        outcome, _ = flood(sqs, ca_bundle=certificate.path)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert outcome.sent == 95
    assert proxy.heads
    for head in proxy.heads:
        assert head.startswith(f"CONNECT {sqs.url.removeprefix('https://')} HTTP/1.")
        assert "Basic " + base64.b64encode(b"ann:p@ss").decode() in head


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "this is no status"])
def test_a_proxy_that_refuses_ends_the_flood_and_nothing_was_sent(certificate, monkeypatch, status):
    monkeypatch.setattr("loader.sqs.sending.BACKOFF_BASE_S", 0.001)
    with FakeSqs(tls=certificate.context) as sqs, ConnectProxy(status) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        outcome, _ = flood(sqs, count=10, in_flight=1, ca_bundle=certificate.path)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, sqs.requests) == (0, 10, 0, 0)
    assert "can't connect" in outcome.reason


def test_a_host_that_the_environment_excepts_is_reached_directly(certificate, monkeypatch):
    with FakeSqs(tls=certificate.context) as sqs, ConnectProxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        accepted = []
        send_to(endpoint(sqs.url, ca_bundle=certificate.path), sqs.queue_url, [Order(0, "0")], accepted.extend)
    assert [message.seq for message in accepted] == [0]
    assert proxy.heads == []
