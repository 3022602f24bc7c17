"""The flood's requests are what SQS asks for and nothing more, over TLS and through a proxy, too."""

import base64
import datetime
import itertools
import json
import select
import socket
import threading

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from loader.sqs import sending
from loader.sqs.message import Order, request_body
from tests.fakes import sqs as fake_sqs
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import CREDENTIALS, flood


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    monkeypatch.setattr(sending, "BACKOFF_BASE_S", 0.001)
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_what_arrives_is_signed_and_brings_neither_cookies_nor_what_netrc_says(monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("default login ann password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with FakeSqs(then=fake_sqs.OK_WITH_COOKIE) as sqs:
        outcome, _ = flood(sqs)
    assert outcome.sent == 95
    for head, content in zip(sqs.heads, sqs.contents, strict=True):
        assert "cookie" not in head and head["x-amz-target"] == "AmazonSQS.SendMessageBatch"
        signed = head["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
        request = AWSRequest("POST", f"{sqs.url}/", data=content, headers={name: head[name] for name in signed})
        moment = datetime.datetime.strptime(head["x-amz-date"], "%Y%m%dT%H%M%SZ")
        monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, moment=moment, **__: moment)
        SigV4Auth(CREDENTIALS, "sqs", "us-east-1").add_auth(request)
        assert request.headers["Authorization"] == head["authorization"]
        assert head["x-amz-security-token"] == "session-token"


def test_credentials_that_are_renewed_during_a_flood_are_used_at_once():
    keys = itertools.count()
    with FakeSqs() as sqs:
        flood(sqs, in_flight=1, credentials=lambda: Credentials(f"KEY{next(keys)}", "secret"))
    used = [head["authorization"].split("Credential=")[1].split("/")[0] for head in sqs.heads]
    assert used == [f"KEY{number}" for number in range(10)]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=10))
def test_every_text_arrives_as_it_is(bodies):
    entries = {f"7-{index}": Order(index, body) for index, body in enumerate(bodies)}
    sent = json.loads(request_body("http://127.0.0.1/0/q", entries))
    assert sent["QueueUrl"] == "http://127.0.0.1/0/q"
    assert sent["Entries"] == [{"Id": f"7-{index}", "MessageBody": body} for index, body in enumerate(bodies)]


@pytest.mark.parametrize(("fault", "twice"), [(fake_sqs.OK_IN_CHUNKS, 0), (fake_sqs.CUT_AFTER, 10)])
def test_over_tls_messages_arrive_once_and_a_cut_is_reported_as_without_it(certificate, fault, twice):
    with FakeSqs(fault, tls=certificate.context) as sqs:
        outcome, _ = flood(sqs, ca_bundle=certificate.path)
    assert (outcome.sent, outcome.possible_duplicates, sum(sqs.copies().values())) == (95, twice, 95 + twice)


def test_a_certificate_that_nobody_vouches_for_gets_no_request(certificate):
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
    with FakeSqs(tls=certificate.context) as sqs, ConnectProxy(status) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        outcome, _ = flood(sqs, count=10, in_flight=1, ca_bundle=certificate.path)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, sqs.requests) == (0, 10, 0, 0)
    assert "can't connect" in outcome.reason


def test_a_host_that_the_environment_excepts_is_reached_directly(certificate, monkeypatch):
    with FakeSqs(tls=certificate.context) as sqs, ConnectProxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        outcome, _ = flood(sqs, ca_bundle=certificate.path)
    assert (outcome.sent, proxy.heads) == (95, [])
