"""Whatever SQS does, every message is accepted once, or known to be refused, or said to be possibly there twice."""

from collections import Counter

import faulty_sqs
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from faulty_sqs import FaultySqs

from loader import sending
from loader.sending import Order, batches, send_to
from loader.sqs_wire import CONTENT_TYPE, TARGET, Endpoint, Signer, request_body

CREDENTIALS = Credentials("AKIDEXAMPLE", "secret", "session-token")


def endpoint(url):
    return Endpoint(url, "us-east-1", CREDENTIALS.get_frozen_credentials, timeout_s=5)


def flood(sqs, count=95, in_flight=4):
    accepted = []
    outcome = send_to(
        endpoint(sqs.url),
        sqs.queue_url,
        (Order(seq, str(seq)) for seq in range(count)),
        accepted.extend,
        in_flight=in_flight,
    )
    return outcome, accepted


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch):
    monkeypatch.setattr(sending, "BACKOFF_BASE_S", 0.001)
    monkeypatch.setattr(sending, "BACKOFF_CAP_S", 0.01)


def test_every_message_arrives_once_when_nothing_goes_wrong():
    with FaultySqs() as sqs:
        outcome, accepted = flood(sqs)
    assert (outcome.sent, outcome.failed, outcome.requests) == (95, 0, 10)
    assert sorted(map(int, sqs.accepted)) == sorted(one.seq for one in accepted) == list(range(95))
    assert all(one.message_id == f"id-{one.seq}" for one in accepted)


def test_failed_entries_of_a_batch_are_sent_again_and_only_those():
    with FaultySqs(faulty_sqs.FAIL_ODD, faulty_sqs.FAIL_ODD) as sqs:
        outcome, accepted = flood(sqs)
    assert Counter(sqs.accepted).most_common(1)[0][1] == 1
    assert (outcome.sent, outcome.failed, outcome.possible_duplicates) == (95, 0, 0)
    assert len(accepted) == 95


@pytest.mark.parametrize("fault", [faulty_sqs.THROTTLE, faulty_sqs.UNAVAILABLE])
def test_throttles_and_503_are_retried(fault):
    with FaultySqs(fault, fault, fault) as sqs:
        outcome, _ = flood(sqs)
    assert (outcome.sent, outcome.failed, outcome.retries) == (95, 0, 3)


def test_a_connection_cut_after_acceptance_makes_possible_duplicates_and_says_so():
    with FaultySqs(faulty_sqs.CUT_AFTER) as sqs:
        outcome, accepted = flood(sqs)
    twice = [body for body, count in Counter(sqs.accepted).items() if count == 2]
    assert len(twice) == 10
    assert outcome.possible_duplicates == 10
    assert {one.seq for one in accepted if one.possible_duplicate} == set(map(int, twice))
    assert outcome.sent == 95


def test_a_throttled_message_is_no_possible_duplicate():
    with FaultySqs(faulty_sqs.THROTTLE) as sqs:
        outcome, _ = flood(sqs)
    assert outcome.possible_duplicates == 0


@pytest.mark.parametrize("fault", [faulty_sqs.DENY, faulty_sqs.NO_QUEUE, faulty_sqs.SENDER_FAULT])
def test_a_refusal_that_no_retry_mends_ends_the_flood_at_once(fault):
    with FaultySqs(then=fault) as sqs:
        outcome, accepted = flood(sqs, count=1000)
    assert (outcome.sent, outcome.failed, accepted) == (0, 1000, [])
    assert sqs.requests <= 4
    assert outcome.reason


def test_a_lasting_503_gives_up_after_a_bounded_number_of_requests():
    with FaultySqs(then=faulty_sqs.UNAVAILABLE) as sqs:
        outcome, _ = flood(sqs, count=1000)
    assert (outcome.sent, outcome.failed) == (0, 1000)
    assert sqs.requests <= 4 * sending.MAX_ATTEMPTS
    assert "503" in outcome.reason


def test_no_server_at_all_ends_with_the_address_in_the_reason():
    with FaultySqs() as sqs:
        gone = sqs
    outcome, _ = flood(gone, count=50)
    assert (outcome.sent, outcome.failed) == (0, 50)
    assert gone.url in outcome.reason


def test_a_fault_in_the_caller_is_raised_and_not_swallowed():
    def broken(_):
        raise OSError("disk full")

    with FaultySqs() as sqs, pytest.raises(OSError, match="disk full"):
        send_to(endpoint(sqs.url), sqs.queue_url, [Order(0, "a")], broken)


def test_batches_hold_ten_entries_and_one_mebibyte_at_most():
    sizes = [len(group) for group in batches(Order(seq, "x") for seq in range(25))]
    assert sizes == [10, 10, 5]
    large = [len(group) for group in batches(Order(seq, "x" * 400_000) for seq in range(5))]
    assert large == [2, 2, 1]


@pytest.mark.parametrize("url", ["https://sqs.eu-west-1.amazonaws.com", "http://127.0.0.1:4566"])
@pytest.mark.parametrize("token", [None, "session-token"])
def test_our_signature_is_the_one_that_botocore_makes(url, token, monkeypatch):
    credentials = Credentials("AKIDEXAMPLE", "secret", token)
    body = request_body("https://sqs.eu-west-1.amazonaws.com/1/q", [("0", "é"), ("1", "x")])
    signer = Signer(Endpoint(url, "eu-west-1", credentials.get_frozen_credentials))
    ours = signer.headers(body)
    request = AWSRequest("POST", url + "/", data=body, headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": TARGET})
    import datetime

    import botocore.auth

    moment = datetime.datetime.strptime(ours["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    monkeypatch.setattr(
        botocore.auth, "get_current_datetime", lambda *_, **__: moment.replace(tzinfo=None), raising=False
    )
    SigV4Auth(credentials, "sqs", "eu-west-1").add_auth(request)
    assert request.headers["X-Amz-Date"] == ours["x-amz-date"]
    assert request.headers["Authorization"] == ours["authorization"]
