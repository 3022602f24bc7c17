"""Whatever SQS does, every message is accepted once, or known to be refused, or said to be possibly there twice."""

import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader.sqs import sending
from loader.sqs.sending import Order, batches, send_to
from tests.fakes import sqs as fake_sqs
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import endpoint, flood

# One batch each, whose fate the answer leaves open: sent again, and said to be possible duplicates.
UNKNOWN_AND_ACCEPTED = (
    fake_sqs.CUT_AFTER,
    fake_sqs.CUT_IN_ANSWER,
    fake_sqs.NO_HTTP,
    fake_sqs.NO_JSON,
    fake_sqs.ERROR_AFTER,
)
UNKNOWN_AND_NOT_ACCEPTED = (fake_sqs.CUT_IN_REQUEST, fake_sqs.CUT_BEFORE, fake_sqs.UNAVAILABLE)
# Nothing is open: sent again only if refused, and no word of duplicates.
KNOWN = (
    fake_sqs.OK,
    fake_sqs.OK_IN_CHUNKS,
    fake_sqs.OK_AND_SAYS_CLOSE,
    fake_sqs.THROTTLE,
    fake_sqs.TOO_MANY,
    fake_sqs.FAIL_ODD,
)
# The next request on that connection may meet a closed one: not accepted, but nobody can know.
CLOSED_BEHIND_AN_ANSWER = (fake_sqs.OK_AND_CLOSES, fake_sqs.OK_AND_408)


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch):
    monkeypatch.setattr(sending, "BACKOFF_BASE_S", 0.001)
    monkeypatch.setattr(sending, "BACKOFF_CAP_S", 0.01)


def test_every_message_arrives_once_when_nothing_goes_wrong():
    with FakeSqs() as sqs:
        outcome, accepted = flood(sqs)
    assert (outcome.sent, outcome.failed, outcome.requests) == (95, 0, 10)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert sorted(message.seq for message in accepted) == list(range(95))
    assert all(message.message_id == f"id-{message.seq}" for message in accepted)


@pytest.mark.parametrize("fault", KNOWN)
def test_after_a_clear_answer_there_is_one_copy_and_no_word_of_duplicates(fault):
    with FakeSqs(*[fault] * 3) as sqs:
        outcome, accepted = flood(sqs)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert (outcome.sent, outcome.failed, outcome.possible_duplicates, outcome.maybe_sent) == (95, 0, 0, 0)
    assert len(accepted) == 95


@pytest.mark.parametrize("fault", UNKNOWN_AND_ACCEPTED)
def test_a_batch_accepted_without_an_answer_is_there_twice_and_said_to_be(fault):
    with FakeSqs(fault) as sqs:
        outcome, accepted = flood(sqs)
    twice = {seq for seq, copies in sqs.copies().items() if copies == 2}
    assert len(twice) == 10
    assert sum(sqs.copies().values()) == 105
    assert {message.seq for message in accepted if message.possible_duplicate} == twice
    assert (outcome.sent, outcome.failed, outcome.possible_duplicates) == (95, 0, 10)


@pytest.mark.parametrize("fault", UNKNOWN_AND_NOT_ACCEPTED)
def test_a_batch_that_was_lost_without_an_answer_is_there_once_and_reported_all_the_same(fault):
    with FakeSqs(fault) as sqs:
        outcome, _ = flood(sqs)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert (outcome.sent, outcome.failed, outcome.possible_duplicates) == (95, 0, 10)


@pytest.mark.parametrize("fault", CLOSED_BEHIND_AN_ANSWER)
def test_a_connection_closed_behind_an_answer_costs_no_message_and_makes_no_second_copy(fault):
    with FakeSqs(*[fault] * 3) as sqs:
        outcome, _ = flood(sqs)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert (outcome.sent, outcome.failed) == (95, 0)
    assert outcome.possible_duplicates <= 30  # those that went into the closed connections


def test_a_connection_closed_while_its_sender_waits_is_noticed_before_the_next_request(monkeypatch):
    monkeypatch.setattr(sending.random, "uniform", lambda *_: 0.1)
    with FakeSqs(fake_sqs.THROTTLE_AND_CLOSES) as sqs:
        outcome, _ = flood(sqs, count=10, in_flight=1)
    assert (outcome.sent, outcome.retries, outcome.possible_duplicates) == (10, 1, 0)


def test_connections_that_are_refused_at_once_cost_no_message_and_make_no_second_copy():
    with FakeSqs(refused_connections=6) as sqs:
        outcome, _ = flood(sqs)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert (outcome.sent, outcome.failed) == (95, 0)


def test_an_answer_that_never_comes_ends_with_the_time_limit_and_is_reported():
    with FakeSqs(fake_sqs.NO_ANSWER) as sqs:
        outcome, accepted = flood(sqs, timeout_s=1)
    twice = {seq for seq, copies in sqs.copies().items() if copies == 2}
    assert {message.seq for message in accepted if message.possible_duplicate} == twice
    assert (len(twice), outcome.sent, outcome.failed) == (10, 95, 0)


def test_entries_that_an_answer_says_nothing_of_are_unknown():
    with FakeSqs(fake_sqs.LISTS_HALF) as sqs:
        outcome, accepted = flood(sqs)
    twice = {seq for seq, copies in sqs.copies().items() if copies == 2}
    assert len(twice) == 5
    assert {message.seq for message in accepted if message.possible_duplicate} == twice
    assert outcome.sent == 95


ANY = [*KNOWN, *UNKNOWN_AND_ACCEPTED, *UNKNOWN_AND_NOT_ACCEPTED, *CLOSED_BEHIND_AN_ANSWER, fake_sqs.LISTS_HALF]


@given(st.lists(st.sampled_from(ANY), max_size=25), st.integers(0, 4), st.sampled_from([*KNOWN[1:], fake_sqs.DENY]))
def test_whatever_happens_no_second_copy_goes_unreported(script, refused_connections, then):
    with FakeSqs(*script, then=then, refused_connections=refused_connections) as sqs:
        outcome, accepted = flood(sqs, count=60)
    copies, confirmed = sqs.copies(), {message.seq: message for message in accepted}
    assert len(confirmed) == len(accepted) == outcome.sent == 60 - outcome.failed
    assert all(copies[seq] >= 1 for seq in confirmed)
    assert all(message.possible_duplicate for seq, message in confirmed.items() if copies[seq] > 1)
    assert outcome.possible_duplicates == sum(message.possible_duplicate for message in accepted)
    assert len(copies.keys() - confirmed.keys()) <= outcome.maybe_sent <= outcome.failed


@pytest.mark.parametrize("fault", [fake_sqs.THROTTLE, fake_sqs.UNAVAILABLE])
def test_throttles_and_503_are_retried(fault):
    with FakeSqs(fault, fault, fault) as sqs:
        outcome, _ = flood(sqs)
    assert (outcome.sent, outcome.failed, outcome.retries) == (95, 0, 3)


def test_messages_given_up_after_an_unknown_outcome_are_said_to_be_perhaps_in_the_queue():
    with FakeSqs(then=fake_sqs.CUT_AFTER) as sqs:
        outcome, accepted = flood(sqs, count=20, in_flight=1)
    assert (outcome.sent, outcome.failed, accepted) == (0, 20, [])
    assert outcome.maybe_sent == 10 == len(sqs.copies())
    assert "10 of the failed may be in the queue" in outcome.sentence()


@pytest.mark.parametrize("fault", [fake_sqs.DENY, fake_sqs.NO_QUEUE, fake_sqs.SENDER_FAULT])
def test_a_refusal_that_no_retry_mends_ends_the_flood_at_once(fault):
    with FakeSqs(then=fault) as sqs:
        outcome, accepted = flood(sqs, count=1000)
    assert (outcome.sent, outcome.failed, accepted) == (0, 1000, [])
    assert sqs.requests <= 4
    assert outcome.reason


def test_a_lasting_503_gives_up_after_a_bounded_number_of_requests():
    with FakeSqs(then=fake_sqs.UNAVAILABLE) as sqs:
        outcome, _ = flood(sqs, count=1000)
    assert (outcome.sent, outcome.failed) == (0, 1000)
    assert sqs.requests <= 4 * sending.MAX_ATTEMPTS
    assert "503" in outcome.reason


def test_no_server_at_all_ends_with_the_address_in_the_reason():
    with FakeSqs() as sqs:
        gone = sqs
    outcome, _ = flood(gone, count=50)
    assert (outcome.sent, outcome.failed) == (0, 50)
    assert gone.url in outcome.reason


def test_a_fault_in_the_caller_is_raised_and_not_swallowed():
    def broken(_):
        raise OSError("disk full")

    with FakeSqs() as sqs, pytest.raises(OSError, match="disk full"):
        send_to(endpoint(sqs.url), sqs.queue_url, [Order(0, "a")], broken)


def interrupting(accepted):
    """What a flood calls: notes what was confirmed, and presses Ctrl-C at the first batch."""

    def note(batch):
        if not accepted:
            os.kill(os.getpid(), signal.SIGINT)
        accepted.extend(message.seq for message in batch)

    return note


def test_an_interrupted_flood_waits_until_the_requests_under_way_are_confirmed():
    accepted = []
    with FakeSqs() as sqs, pytest.raises(KeyboardInterrupt):
        orders = (Order(seq, str(seq)) for seq in range(5000))
        send_to(endpoint(sqs.url), sqs.queue_url, orders, interrupting(accepted), in_flight=16)
    assert len(accepted) < 1000
    assert sorted(accepted) == sorted(sqs.copies())


def test_an_interrupted_flood_leaves_soon_where_no_answer_comes(monkeypatch):
    monkeypatch.setattr(sending, "LEAVE_S", 0.1)
    accepted, began = [], time.monotonic()
    with FakeSqs(fake_sqs.OK, then=fake_sqs.NO_ANSWER) as sqs, pytest.raises(KeyboardInterrupt):
        orders = (Order(seq, str(seq)) for seq in range(5000))
        send_to(endpoint(sqs.url), sqs.queue_url, orders, interrupting(accepted), in_flight=4)
    assert (len(accepted), time.monotonic() - began < 5) == (10, True)


def test_batches_hold_ten_entries_and_one_mebibyte_at_most():
    sizes = [len(group) for group in batches(Order(seq, "x") for seq in range(25))]
    assert sizes == [10, 10, 5]
    large = [len(group) for group in batches(Order(seq, "x" * 400_000) for seq in range(5))]
    assert large == [2, 2, 1]
