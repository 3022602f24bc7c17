"""Whatever SQS does, every message is accepted once, or known to be refused, or said to be possibly
there twice."""

import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader.sqs import sending
from tests.fakes import sqs as fake_sqs
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import flood

# Sent again only what was refused, and no word of duplicates.
KNOWN = (
    fake_sqs.OK,
    fake_sqs.OK_IN_CHUNKS,
    fake_sqs.OK_AND_SAYS_CLOSE,
    fake_sqs.THROTTLE,
    fake_sqs.TOO_MANY,
    fake_sqs.FAIL_ODD,
)
# A batch whose fate the answer leaves open. Of the first, SQS took it; of the second, it didn't.
UNKNOWN_AND_ACCEPTED = (
    fake_sqs.CUT_AFTER,
    fake_sqs.CUT_IN_ANSWER,
    fake_sqs.NO_HTTP,
    fake_sqs.NO_LENGTH,
    fake_sqs.NO_JSON,
    fake_sqs.TOO_LONG,
    fake_sqs.COMPRESSED,
    fake_sqs.ENDLESS_HEAD,
    fake_sqs.ERROR_AFTER,
)
UNKNOWN_AND_NOT_ACCEPTED = (fake_sqs.CUT_IN_REQUEST, fake_sqs.CUT_BEFORE, fake_sqs.UNAVAILABLE)
# The next request on that connection may go nowhere, or meet an answer that isn't its own.
LEAVES_A_BAD_CONNECTION = (fake_sqs.OK_AND_CLOSES, fake_sqs.OK_AND_408, fake_sqs.OK_TWICE)
SLOW = (fake_sqs.NO_ANSWER, fake_sqs.DRIPS)
# Messages of 10 that are there twice, and that are said to be.
TWICE_AND_SAID = {
    **dict.fromkeys(KNOWN, (0, 0)),
    **dict.fromkeys((*UNKNOWN_AND_ACCEPTED, *SLOW), (10, 10)),
    **dict.fromkeys(UNKNOWN_AND_NOT_ACCEPTED, (0, 10)),
    fake_sqs.LISTS_HALF: (5, 5),
}
LASTING = (
    fake_sqs.DENY,
    fake_sqs.NO_QUEUE,
    fake_sqs.SENDER_FAULT,
    fake_sqs.EXPIRED,
    fake_sqs.REDIRECT,
)


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch):
    monkeypatch.setattr(sending, "BACKOFF_BASE_S", 0.001)
    monkeypatch.setattr(sending, "BACKOFF_CAP_S", 0.01)


@pytest.mark.parametrize("fault", TWICE_AND_SAID)
def test_a_fault_costs_no_message_and_what_may_be_there_twice_is_said(fault):
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


@pytest.mark.parametrize("fault", LEAVES_A_BAD_CONNECTION)
def test_a_connection_that_is_bad_behind_an_answer_confirms_nothing_that_was_not_accepted(fault):
    with FakeSqs(*[fault] * 3) as sqs:
        outcome, accepted = flood(sqs)
    copies = sqs.copies()
    assert (outcome.sent, outcome.failed, len(copies)) == (95, 0, 95)
    assert {seq for seq in copies if copies[seq] > 1} <= {
        row.seq for row in accepted if row.possible_duplicate
    }
    assert outcome.possible_duplicates <= 30  # those that went into the bad connections


@pytest.mark.parametrize("fault", [fake_sqs.THROTTLE_AND_CLOSES, fake_sqs.THROTTLE_TWICE])
def test_what_befalls_a_connection_while_its_sender_waits_is_noticed_before_the_next_request(
    fault, monkeypatch
):
    monkeypatch.setattr(sending.random, "uniform", lambda *_: 0.1)
    with FakeSqs(fault) as sqs:
        outcome, _ = flood(sqs, count=10, in_flight=1)
    assert (outcome.sent, outcome.possible_duplicates, sqs.requests, sqs.connections) == (
        10,
        0,
        2,
        2,
    )


def test_an_answer_that_belongs_to_another_request_confirms_nothing():
    with FakeSqs(fake_sqs.OK, fake_sqs.ANSWER_BEFORE) as sqs:
        outcome, _ = flood(sqs, in_flight=1)
    assert sqs.copies() == dict.fromkeys(range(95), 1)
    assert (outcome.sent, outcome.possible_duplicates) == (95, 10)


ANY = [*TWICE_AND_SAID.keys() - set(SLOW), *LEAVES_A_BAD_CONNECTION]


@given(
    st.lists(st.sampled_from(sorted(ANY)), max_size=25),
    st.integers(0, 4),
    st.sampled_from([*KNOWN[1:], *LASTING]),
)
def test_whatever_happens_no_second_copy_goes_unreported(script, refused_connections, then):
    with FakeSqs(*script, then=then, refused_connections=refused_connections) as sqs:
        outcome, accepted = flood(sqs, count=60)
    copies, confirmed = sqs.copies(), {message.seq: message for message in accepted}
    assert len(confirmed) == len(accepted) == outcome.sent == 60 - outcome.failed
    assert all(copies[seq] >= 1 for seq in confirmed)
    assert all(message.possible_duplicate for seq, message in confirmed.items() if copies[seq] > 1)
    assert outcome.possible_duplicates == sum(message.possible_duplicate for message in accepted)
    assert len(copies.keys() - confirmed.keys()) <= outcome.maybe_sent <= outcome.failed


def test_messages_given_up_after_an_unknown_outcome_are_said_to_be_perhaps_in_the_queue():
    with FakeSqs(then=fake_sqs.CUT_AFTER) as sqs:
        outcome, accepted = flood(sqs, count=20, in_flight=1)
    assert (outcome.sent, outcome.failed, accepted) == (0, 20, [])
    assert outcome.maybe_sent == 10 == len(sqs.copies())
    assert "10 of the failed may be in the queue" in outcome.sentence()


@pytest.mark.parametrize("fault", [*LASTING, fake_sqs.UNAVAILABLE])
def test_a_refusal_ends_the_flood_at_once_where_no_retry_mends_it_and_soon_where_one_might(fault):
    with FakeSqs(then=fault) as sqs:
        outcome, accepted = flood(sqs, count=1000)
    assert (outcome.sent, outcome.failed, accepted) == (0, 1000, [])
    assert sqs.requests <= 4 * (1 if fault in LASTING else sending.MAX_ATTEMPTS)
    assert outcome.reason


def test_no_server_at_all_ends_with_the_address_in_the_reason():
    with FakeSqs() as gone:
        pass
    outcome, _ = flood(gone, count=50)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent) == (0, 50, 0)
    assert gone.url in outcome.reason


def test_a_fault_in_the_caller_is_raised_and_not_swallowed():
    def full(_):
        raise OSError("disk full")

    with FakeSqs() as sqs, pytest.raises(OSError, match="disk full"):
        flood(sqs, on_accepted=full)


def interrupting(accepted):
    """What a flood calls: notes what was confirmed, and presses Ctrl-C at the first batch."""

    def note(batch):
        if not accepted:
            os.kill(os.getpid(), signal.SIGINT)
        accepted.extend(message.seq for message in batch)

    return note


@pytest.mark.usefixtures("no_collection")
def test_an_interrupted_flood_waits_until_the_requests_under_way_are_confirmed():
    accepted = []
    with FakeSqs() as sqs, pytest.raises(KeyboardInterrupt):
        flood(sqs, 5000, 16, interrupting(accepted))
    assert len(accepted) < 1000
    assert sorted(accepted) == sorted(sqs.copies())


@pytest.mark.usefixtures("no_collection")
def test_an_interrupted_flood_leaves_soon_where_no_answer_comes(monkeypatch):
    monkeypatch.setattr(sending, "LEAVE_S", 0.1)
    accepted, began = [], time.monotonic()
    with FakeSqs(fake_sqs.OK, then=fake_sqs.NO_ANSWER) as sqs, pytest.raises(KeyboardInterrupt):
        flood(sqs, 5000, 4, interrupting(accepted))
    assert (len(accepted), time.monotonic() - began < 5) == (10, True)
