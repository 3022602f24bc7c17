"""Whatever SQS does, every message is accepted once, known to be refused, or reported as a
possible duplicate; and the flood sends exactly the requests that SQS expects, also over TLS and
through a proxy."""

import base64
import datetime
import json
import multiprocessing
import os
import signal
import time

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from loader.flood import orders, sent_log
from loader.sqs import sending
from loader.sqs.message import Order, batches
from loader.sqs.sending import send_to
from stampede.runs.folder import RunFolder
from tests.fakes import sqs as fake_sqs
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import endpoint, flood

# Only refused messages are sent again, and no duplicates are reported.
KNOWN = (fake_sqs.OK, fake_sqs.THROTTLE, fake_sqs.FAIL_ODD)
# SQS accepts the batch, but the answer doesn't show it.
UNKNOWN_AND_ACCEPTED = (
    fake_sqs.CUT_AFTER,
    fake_sqs.CUT_IN_ANSWER,
    fake_sqs.NO_HTTP,
    fake_sqs.NO_JSON,
    fake_sqs.TOO_LONG,
    fake_sqs.ENDLESS_HEAD,
    fake_sqs.ERROR_AFTER,
)
# The next request on that connection may be lost, or get an answer to another request.
LEAVES_A_BAD_CONNECTION = (fake_sqs.OK_AND_CLOSES, fake_sqs.OK_TWICE)
SLOW = (fake_sqs.NO_ANSWER, fake_sqs.DRIPS)
# Of 10 messages, how many are there twice, and how many are reported as possible duplicates.
TWICE_AND_SAID = {
    **dict.fromkeys(KNOWN, (0, 0)),
    **dict.fromkeys((*UNKNOWN_AND_ACCEPTED, *SLOW), (10, 10)),
    **dict.fromkeys((fake_sqs.CUT_BEFORE, fake_sqs.UNAVAILABLE), (0, 10)),
    fake_sqs.LISTS_HALF: (5, 5),
}
LASTING = (fake_sqs.DENY, fake_sqs.SENDER_FAULT, fake_sqs.EXPIRED, fake_sqs.REDIRECT)


@pytest.fixture(autouse=True)
def short_backoff_and_no_proxy(monkeypatch):
    monkeypatch.setattr(sending, "BACKOFF_BASE_S", 0.001)
    monkeypatch.setattr(sending, "BACKOFF_CAP_S", 0.01)
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("fault", TWICE_AND_SAID)
def test_a_fault_loses_no_message_and_possible_duplicates_are_reported(fault):
    with FakeSqs(fault) as sqs:
        outcome, accepted = flood(sqs, timeout_s=0.5 if fault in SLOW else 30)
    twice = {seq for seq, copies in sqs.copies().items() if copies == 2}
    said = {message.seq for message in accepted if message.possible_duplicate}
    assert (len(twice), len(said)) == TWICE_AND_SAID[fault]
    assert twice <= said and sum(sqs.copies().values()) == 95 + len(twice)
    assert (outcome.sent, outcome.failed, outcome.possible_duplicates) == (95, 0, len(said))
    assert sorted((message.seq, message.message_id) for message in accepted) == [
        (n, f"id-{n}") for n in range(95)
    ]
    assert outcome.requests == sqs.requests == 10 + outcome.retries
    assert outcome.seconds < 30


def test_an_unrequested_answer_is_noticed_before_the_next_request(monkeypatch):
    monkeypatch.setattr(sending.random, "uniform", lambda *_: 0.1)
    with FakeSqs(fake_sqs.THROTTLE_TWICE) as sqs:
        outcome, _ = flood(sqs, count=10, in_flight=1)
    assert (outcome.sent, outcome.possible_duplicates) == (10, 0)
    assert (sqs.requests, sqs.connections) == (2, 2)


def test_an_answer_to_another_request_confirms_nothing():
    with FakeSqs(fake_sqs.OK, fake_sqs.ANSWER_BEFORE) as sqs:
        outcome, _ = flood(sqs, in_flight=1)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert (outcome.sent, outcome.possible_duplicates) == (95, 10)


ANY = [*TWICE_AND_SAID.keys() - set(SLOW), *LEAVES_A_BAD_CONNECTION]


@given(st.lists(st.sampled_from(sorted(ANY)), max_size=25), st.sampled_from([*KNOWN[1:], *LASTING]))
def test_no_duplicate_goes_unreported_whatever_happens(script, then):
    with FakeSqs(*script, then=then) as sqs:
        outcome, accepted = flood(sqs, count=60)
    copies, confirmed = sqs.copies(), {message.seq: message for message in accepted}
    assert len(confirmed) == len(accepted) == outcome.sent == 60 - outcome.failed
    assert all(copies[seq] >= 1 for seq in confirmed)
    assert all(message.possible_duplicate for seq, message in confirmed.items() if copies[seq] > 1)
    assert outcome.possible_duplicates == sum(message.possible_duplicate for message in accepted)
    assert len(copies.keys() - confirmed.keys()) <= outcome.maybe_sent <= outcome.failed


def test_messages_given_up_after_an_unknown_outcome_are_reported_as_perhaps_sent():
    with FakeSqs(then=fake_sqs.CUT_AFTER) as sqs:
        outcome, accepted = flood(sqs, count=20, in_flight=1)
    assert (outcome.sent, outcome.failed, accepted) == (0, 20, [])
    assert outcome.maybe_sent == 10 == len(sqs.copies())


@pytest.mark.parametrize("fault", [*LASTING, fake_sqs.UNAVAILABLE])
def test_a_lasting_refusal_ends_the_flood_at_once_and_a_temporary_one_soon(fault):
    with FakeSqs(then=fault) as sqs:
        outcome, accepted = flood(sqs, count=1000)
    assert (outcome.sent, outcome.failed, accepted) == (0, 1000, [])
    assert sqs.requests <= 4 * (1 if fault in LASTING else sending.MAX_ATTEMPTS)
    assert outcome.reason


def test_no_sender_tries_again_once_another_was_refused_for_good(monkeypatch):
    monkeypatch.setattr(sending.random, "uniform", lambda *_: 0.2)
    with FakeSqs(fake_sqs.UNAVAILABLE, then=fake_sqs.DENY) as sqs:
        outcome, _ = flood(sqs, count=100, in_flight=2)
    assert (sqs.requests, outcome.failed, outcome.maybe_sent) == (2, 100, 10)


def test_an_unreachable_server_ends_the_flood_with_its_address_in_the_reason():
    with FakeSqs() as gone:
        pass
    outcome, _ = flood(gone, count=50)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent) == (0, 50, 0)
    assert gone.url in outcome.reason


def test_an_error_of_the_caller_is_raised():
    def full(_):
        raise OSError("disk full")

    with FakeSqs() as sqs, pytest.raises(OSError, match="disk full"):
        flood(sqs, on_accepted=full)


def interrupting(accepted):
    """A callback that notes confirmed messages, and presses Ctrl-C at the first batch."""

    def note(batch):
        if not accepted:
            os.kill(os.getpid(), signal.SIGINT)
        accepted.extend(message.seq for message in batch)

    return note


@pytest.mark.usefixtures("no_collection")
def test_an_interrupted_flood_waits_for_the_requests_in_flight():
    accepted = []
    with FakeSqs() as sqs, pytest.raises(KeyboardInterrupt):
        flood(sqs, 5000, 16, interrupting(accepted))
    assert len(accepted) < 1000
    assert sorted(accepted) == sorted(sqs.copies())


@pytest.mark.usefixtures("no_collection")
def test_an_interrupted_flood_ends_soon_if_no_answer_comes(monkeypatch):
    monkeypatch.setattr(sending, "LEAVE_S", 0.1)
    accepted, began = [], time.monotonic()
    with FakeSqs(fake_sqs.OK, then=fake_sqs.NO_ANSWER) as sqs, pytest.raises(KeyboardInterrupt):
        flood(sqs, 5000, 4, interrupting(accepted))
    assert (len(accepted), time.monotonic() - began < 5) == (10, True)


# Requests.


def test_requests_are_signed_with_the_current_key_and_ignore_netrc(monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("default login ann password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    keys = [Credentials(f"KEY{number}", "secret", "session-token") for number in range(10)]
    with FakeSqs() as sqs:
        outcome, _ = flood(sqs, in_flight=1, credentials=iter(keys).__next__)
    assert outcome.sent == 95
    for key, head, content in zip(keys, sqs.heads, sqs.contents, strict=True):
        assert head["x-amz-target"] == "AmazonSQS.SendMessageBatch"
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


def test_batches_hold_at_most_ten_entries_and_one_mebibyte():
    assert [len(batch) for batch in batches(Order(seq, "x") for seq in range(25))] == [10, 10, 5]
    large = batches(Order(seq, "x" * 400_000) for seq in range(5))
    assert [len(batch) for batch in large] == [2, 2, 1]


def test_over_tls_a_cut_is_reported_and_an_untrusted_certificate_is_refused(
    certificate,
):
    with FakeSqs(fake_sqs.CUT_AFTER, tls=certificate.context) as sqs:
        outcome, _ = flood(sqs, ca_bundle=certificate.path)
        assert (outcome.sent, outcome.possible_duplicates) == (95, 10)
        assert sum(sqs.copies().values()) == 105
        distrusted, _ = flood(sqs, count=20, in_flight=1)
    assert (distrusted.sent, distrusted.failed, distrusted.maybe_sent) == (0, 20, 0)
    assert "certificate" in distrusted.reason.lower()


def test_the_environments_proxy_is_used_except_for_excluded_hosts(monkeypatch):
    """The fake is the proxy too: its requests show where they were sent, not for whom."""
    with FakeSqs() as proxy, FakeSqs() as sqs:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//ann:p%40ss@"))
        assert flood(sqs, count=10)[0].sent == 10
        assert (proxy.requests, sqs.requests) == (1, 0)
        expected = base64.b64encode(b"ann:p@ss").decode()
        assert proxy.heads[0]["proxy-authorization"] == f"Basic {expected}"
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert flood(sqs, count=10)[0].sent == 10
        assert (proxy.requests, sqs.requests) == (1, 1)


# What a killed flood leaves.

IN_FLIGHT, CELL = 8, "memory_size=1024,concurrency_value=5"


def flood_into(folder, url, queue_url):
    """In a process of its own: floods a run and writes a line for each message."""
    run = RunFolder(folder)
    source = orders(run.run_id, CELL, range(1_000_000), {})
    send_to(endpoint(url), queue_url, source, sent_log(run, CELL, {}), in_flight=IN_FLIGHT)


def test_a_killed_flood_has_recorded_all_but_the_batches_in_flight(tmp_path):
    with FakeSqs() as sqs:
        process = multiprocessing.get_context("spawn").Process(
            target=flood_into, args=(tmp_path, sqs.url, sqs.queue_url), daemon=True
        )
        process.start()
        deadline = time.monotonic() + 30
        while len(sqs.accepted) < 2_000 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.join()
        time.sleep(0.2)  # requests in flight reach the server
        accepted = [json.loads(body)["seq"] for body in sqs.accepted]
    written = [row["seq"] for row in RunFolder(tmp_path).rows("sent.jsonl")]
    assert len(accepted) >= 2_000
    assert (len(set(accepted)), len(set(written))) == (len(accepted), len(written))
    assert set(written) <= set(accepted)
    assert len(accepted) - len(written) <= IN_FLIGHT * 10
