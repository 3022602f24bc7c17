"""The embedded AWS as the keeper runs it loses no record, however busy the machine is."""

import asyncio

import pytest
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import RawData
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.typing import ConnectionState
from ministack.core import router
from ministack.services import lambda_svc, s3, sqs

from stampede.emulator import keeper


@pytest.mark.parametrize(
    ("failures", "fails"),
    [
        ([], False),
        (None, False),
        ([{"itemIdentifier": "m"}], False),
        ([{"itemIdentifier": "other"}], True),
        ([{"foo": "m"}], True),
        (["m"], True),
        ("m", True),
    ],
)
def test_an_answer_that_names_no_message_of_its_batch_fails_it_and_no_other_invocation(monkeypatch, failures, fails):
    answer = {"body": {"batchItemFailures": failures}, "log": "lines"}
    monkeypatch.setattr(lambda_svc, "_execute_function", lambda func, event: answer)
    keeper.fail_a_batch_whose_answer_names_no_message()
    batch = {"Records": [{"messageId": "m", "eventSource": "aws:sqs"}]}
    result = lambda_svc._execute_function({}, batch)
    assert (result.get("error", False), result["log"]) == (fails, "lines")
    assert fails or result["body"] == {"batchItemFailures": failures or []}, "MiniStack reads a list, and nothing else"
    assert lambda_svc._execute_function({}, {"what": 1}) == answer


def test_a_redrive_policy_may_name_a_queue_that_is_made_beside_it_and_nothing_else_that_is_wrong(monkeypatch):
    policy = '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:later", "maxReceiveCount": 5}'
    monkeypatch.setattr(sqs, "_validate_redrive_policy", sqs._validate_redrive_policy)  # put back afterwards
    with pytest.raises(sqs._Err):
        sqs._validate_redrive_policy(policy)
    keeper.take_queues_in_any_order()
    sqs._validate_redrive_policy(policy)
    with pytest.raises(sqs._Err):
        sqs._validate_redrive_policy("no policy")


def test_a_copy_that_must_not_replace_anything_is_refused_where_something_is(monkeypatch):
    monkeypatch.setattr(s3, "_copy_object", lambda bucket, key, headers: (200, {}, b"copied"))
    monkeypatch.setattr(s3, "_ensure_bucket", {"b": {"objects": {"there": {"etag": '"e"'}}}}.get)

    def answers():
        wanted = [("b", "there", {"if-none-match": "*"}), ("b", "new", {"if-none-match": "*"}), ("b", "there", {})]
        return [s3._copy_object(*arguments)[0] for arguments in [*wanted, ("gone", "there", {"if-none-match": "*"})]]

    assert answers() == [200, 200, 200, 200]
    keeper.copy_on_condition()
    assert answers() == [412, 200, 200, 200]


def test_service_quotas_is_known_without_a_look_at_every_service(monkeypatch):
    asked = []
    monkeypatch.setattr(router, "_is_aws_service_name", asked.append)
    keeper.know_service_quotas()
    assert router._is_aws_service_name("servicequotas") is True
    assert asked == []
    router._is_aws_service_name("s3express")
    assert asked == ["s3express"]


async def written(app, request):
    """What hypercorn writes to a connection on which `request` came, piece by piece."""
    pieces = []

    async def send(event):
        if isinstance(event, RawData):
            pieces.append(event.data)

    async with TaskGroup(asyncio.get_running_loop()) as tasks:
        context, state = WorkerContext(None), ConnectionState({})
        await H11Protocol(ASGIWrapper(app), Config(), context, tasks, state, False, None, None, send).handle(
            RawData(request)
        )
    return pieces


def answering(status, *bodies, headers=()):
    """An app (ASGI) that answers with these pieces of a body."""

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for number, body in enumerate(bodies, 1):
            await send({"type": "http.response.body", "body": body, "more_body": number < len(bodies)})

    return app


LENGTH_5 = [(b"content-length", b"5")]
LARGE = bytes(keeper.MOST_JOINED_BYTES + 1)


@pytest.mark.parametrize(
    ("request_line", "app", "endings"),
    [
        ("POST / HTTP/1.1", answering(200, b"hello", headers=LENGTH_5), [b"\r\n\r\nhello"]),
        ("POST / HTTP/1.1", answering(204, b""), [b"\r\n\r\n"]),
        ("HEAD / HTTP/1.1", answering(200, b"hello", headers=LENGTH_5), [b"\r\n\r\n"]),
        (
            "POST / HTTP/1.1\r\nExpect: 100-continue",
            answering(200, b"ok"),
            [b"\r\n\r\n", b"\r\n2\r\nok\r\n", b"0\r\n\r\n"],
        ),
        ("GET / HTTP/1.1", answering(200, b"a", b"bc"), [b"\r\n\r\n1\r\na\r\n", b"2\r\nbc\r\n", b"0\r\n\r\n"]),
        ("GET / HTTP/1.1", answering(200, LARGE, headers=[(b"content-length", b"65537")]), [b"\r\n\r\n", LARGE]),
    ],
    ids=["body", "no_body", "head", "continue", "streamed", "large"],
)
def test_the_head_of_an_answer_leaves_together_with_what_follows_it(monkeypatch, request_line, app, endings):
    monkeypatch.setattr(H11Protocol, "_send_h11_event", H11Protocol._send_h11_event)  # put back afterwards
    monkeypatch.setattr(H11Protocol, "head", b"", raising=False)
    keeper.write_answers_in_one_piece()
    length = 0 if "100-continue" not in request_line else 3
    request = f"{request_line}\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()
    pieces = asyncio.run(written(app, request + b"abc"[:length]))
    assert [piece[-len(ending) :] for piece, ending in zip(pieces, endings, strict=True)] == endings


def test_hypercorn_by_itself_writes_them_apart():
    pieces = asyncio.run(written(answering(200, b"hello", headers=LENGTH_5), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    assert b"hello" in pieces, "hypercorn joins them by itself now: the keeper needn't do it any more"
