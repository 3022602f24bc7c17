"""The flood's requests are what SQS asks for and nothing more, over TLS and through a proxy, too;
and what is left of a flood that is killed."""

import base64
import datetime
import json
import os
import signal
import subprocess
import sys
import time

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from bench.child import run_child
from loader.sqs import sending
from loader.sqs.message import Order, batches, request_body
from stampede.runs.folder import RunFolder
from tests.fakes import sqs as fake_sqs
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import flood

IN_FLIGHT = 8
CELL = "memory_size=1024,concurrency_value=5"
FLOOD = f"""
import sys
from pathlib import Path
from types import SimpleNamespace
from loader.flood import orders, sent_log
from stampede.runs.folder import RunFolder
from loader.sqs.sending import send_to
from loader.sqs.service import Endpoint

url, queue_url, folder, count = sys.argv[1:]
key = SimpleNamespace(access_key="test", secret_key="test", token=None)
run = RunFolder(Path(folder))
source = orders(run.run_id, "{CELL}", int(count), {{}})
endpoint = Endpoint(url, "us-east-1", lambda: key)
outcome = send_to(endpoint, queue_url, source, sent_log(run, "{CELL}"), in_flight={IN_FLIGHT})
assert outcome.sent == int(count), outcome.sentence()
"""


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    monkeypatch.setattr(sending, "BACKOFF_BASE_S", 0.001)
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_what_arrives_is_signed_with_the_key_of_that_moment_and_brings_nothing_of_netrc(
    monkeypatch, tmp_path
):
    (tmp_path / "netrc").write_text("default login ann password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    keys = [Credentials(f"KEY{number}", "secret", "session-token") for number in range(10)]
    with FakeSqs(then=fake_sqs.OK_WITH_COOKIE) as sqs:
        outcome, _ = flood(sqs, in_flight=1, credentials=iter(keys).__next__)
    assert outcome.sent == 95
    for key, head, content in zip(keys, sqs.heads, sqs.contents, strict=True):
        assert "cookie" not in head and head["x-amz-target"] == "AmazonSQS.SendMessageBatch"
        signed = head["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
        request = AWSRequest(
            "POST", f"{sqs.url}/", data=content, headers={name: head[name] for name in signed}
        )
        moment = datetime.datetime.strptime(head["x-amz-date"], "%Y%m%dT%H%M%SZ")
        monkeypatch.setattr(
            botocore.auth, "get_current_datetime", lambda *_, moment=moment, **__: moment
        )
        SigV4Auth(key, "sqs", "us-east-1").add_auth(request)
        assert request.headers["Authorization"] == head["authorization"]
        assert head["x-amz-security-token"] == "session-token"


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=10))
def test_every_text_arrives_as_it_is(bodies):
    entries = {f"7-{index}": Order(index, body) for index, body in enumerate(bodies)}
    sent = json.loads(request_body("http://127.0.0.1/0/q", entries))
    assert sent["QueueUrl"] == "http://127.0.0.1/0/q"
    assert sent["Entries"] == [
        {"Id": f"7-{index}", "MessageBody": body} for index, body in enumerate(bodies)
    ]


def test_batches_hold_ten_entries_and_one_mebibyte_at_most():
    assert [len(batch) for batch in batches(Order(seq, "x") for seq in range(25))] == [10, 10, 5]
    assert [len(batch) for batch in batches(Order(seq, "x" * 400_000) for seq in range(5))] == [
        2,
        2,
        1,
    ]


@pytest.mark.parametrize(("fault", "twice"), [(fake_sqs.OK_IN_CHUNKS, 0), (fake_sqs.CUT_AFTER, 10)])
def test_over_tls_messages_arrive_once_and_a_cut_is_reported_as_without_it(
    certificate, fault, twice
):
    with FakeSqs(fault, tls=certificate.context) as sqs:
        outcome, _ = flood(sqs, ca_bundle=certificate.path)
        assert (outcome.sent, outcome.possible_duplicates, sum(sqs.copies().values())) == (
            95,
            twice,
            95 + twice,
        )
        distrusted, _ = flood(sqs, count=20, in_flight=1)
    assert (distrusted.sent, distrusted.failed, distrusted.maybe_sent) == (0, 20, 0)
    assert "certificate" in distrusted.reason.lower()


def test_a_proxy_of_the_environment_is_used_but_for_hosts_that_it_excepts(
    monkeypatch,
):
    """The fake stands in for the proxy too: what it hears of is where a request was sent, not for
    whom."""
    with FakeSqs() as proxy, FakeSqs() as sqs:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//ann:p%40ss@"))
        assert flood(sqs, count=10)[0].sent == 10
        assert (proxy.requests, sqs.requests) == (1, 0)
        assert (
            proxy.heads[0]["proxy-authorization"]
            == "Basic " + base64.b64encode(b"ann:p@ss").decode()
        )
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert flood(sqs, count=10)[0].sent == 10
        assert (proxy.requests, sqs.requests) == (1, 1)


def command(sqs, folder, count):
    return [sys.executable, "-c", FLOOD, sqs.url, sqs.queue_url, str(folder), str(count)]


def seqs_of(folder, sqs):
    """The numbers that were written down, and those that SQS accepted."""
    accepted = [json.loads(body)["seq"] for body in sqs.accepted]
    return [row["seq"] for row in folder.rows("sent.jsonl")], accepted


def test_a_flood_that_is_killed_has_written_down_all_but_the_batches_in_flight(tmp_path):
    with FakeSqs() as sqs:
        process = subprocess.Popen(command(sqs, tmp_path, 1_000_000))
        try:
            deadline = time.monotonic() + 30
            while len(sqs.accepted) < 2_000 and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
        finally:
            process.kill()
            process.wait()
        time.sleep(0.2)  # what is on its way to the server arrives
        written, accepted = seqs_of(RunFolder(tmp_path), sqs)
    assert len(accepted) >= 2_000
    assert (len(set(accepted)), len(set(written))) == (len(accepted), len(written))
    assert set(written) <= set(accepted)
    assert len(accepted) - len(written) <= IN_FLIGHT * 10


def test_ten_times_the_messages_take_no_more_memory_and_each_has_its_line(tmp_path):
    peaks_mb = []
    for count in (3_000, 30_000):
        with FakeSqs() as sqs:
            folder = RunFolder.create(tmp_path, str(count))
            peaks_mb.append(run_child(command(sqs, folder.path, count))[1]["peak_mb"])
        for seqs in seqs_of(folder, sqs):
            assert sorted(seqs) == list(range(count))
    assert peaks_mb[1] - peaks_mb[0] < 2
