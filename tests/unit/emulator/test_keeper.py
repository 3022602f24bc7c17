"""What the keeper mends in MiniStack: what it takes and refuses, and how its answers are
written."""

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
from ministack.services import lambda_svc, s3

from stampede.emulator import keeper

TAKEN = ([], None, [{"itemIdentifier": "m"}])
FAILING = ([{"itemIdentifier": "other"}], [{"foo": "m"}], ["m"], "m")


@pytest.mark.parametrize("failures", [*TAKEN, *FAILING])
def test_an_answer_that_names_no_message_of_its_batch_fails_it_and_no_other_invocation(
    monkeypatch, failures
):
    answer = {"body": {"batchItemFailures": failures}, "log": "lines"}
    monkeypatch.setattr(lambda_svc, "_execute_function", lambda func, event: answer)
    keeper.fail_a_batch_whose_answer_names_no_message()
    result = lambda_svc._execute_function(
        {}, {"Records": [{"messageId": "m", "eventSource": "aws:sqs"}]}
    )
    assert (result.get("error", False), result["log"]) == (failures in FAILING, "lines")
    if failures in TAKEN:
        assert result["body"] == {"batchItemFailures": failures or []}, (
            "MiniStack reads a list, and nothing else"
        )
    assert lambda_svc._execute_function({}, {"what": 1}) == answer


def test_a_copy_that_must_not_replace_anything_is_refused_where_something_is(monkeypatch):
    monkeypatch.setattr(s3, "_copy_object", lambda bucket, key, headers: (200, {}, b"copied"))
    monkeypatch.setattr(s3, "_ensure_bucket", {"b": {"objects": {"there": {"etag": '"e"'}}}}.get)
    keeper.copy_on_condition()
    for key, none_match, status in (("there", "*", 412), ("new", "*", 200), ("there", "", 200)):
        assert (
            s3._copy_object("b", key, {"if-none-match": none_match} if none_match else {})[0]
            == status
        )


def test_service_quotas_is_known_without_a_look_at_every_service(monkeypatch):
    monkeypatch.setattr(router, "_is_aws_service_name", lambda scope: scope == "looked at")
    keeper.know_service_quotas()
    assert [
        router._is_aws_service_name(scope) for scope in ("servicequotas", "looked at", "no")
    ] == [True, True, False]


async def written(app, request):
    """What hypercorn writes to a connection on which `request` came, piece by piece."""
    pieces = []

    async def send(event):
        if isinstance(event, RawData):
            pieces.append(event.data)

    async with TaskGroup(asyncio.get_running_loop()) as tasks:
        context, state = WorkerContext(None), ConnectionState({})
        protocol = H11Protocol(
            ASGIWrapper(app), Config(), context, tasks, state, False, None, None, send
        )
        await protocol.handle(RawData(request))
    return pieces


def answering(*bodies, length=None):
    """An app (ASGI) that answers with these pieces of a body."""

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-length", b"%d" % length)] if length else []
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number, body in enumerate(bodies, 1):
            await send(
                {"type": "http.response.body", "body": body, "more_body": number < len(bodies)}
            )

    return app


LARGE = bytes(keeper.MOST_JOINED_BYTES + 1)
WRITTEN = {
    "body": ("POST", answering(b"hello", length=5), [b"\r\n\r\nhello"]),
    "head": ("HEAD", answering(b"hello", length=5), [b"\r\n\r\n"]),
    "streamed": (
        "GET",
        answering(b"a", b"bc"),
        [b"\r\n\r\n1\r\na\r\n", b"2\r\nbc\r\n", b"0\r\n\r\n"],
    ),
    "large": ("GET", answering(LARGE, length=len(LARGE)), [b"\r\n\r\n", LARGE]),
}


@pytest.mark.parametrize(("method", "app", "endings"), WRITTEN.values(), ids=WRITTEN)
def test_the_head_of_an_answer_leaves_together_with_what_follows_it(
    monkeypatch, method, app, endings
):
    request = f"{method} / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode()
    apart = asyncio.run(written(app, request))
    # put back afterwards
    monkeypatch.setattr(H11Protocol, "_send_h11_event", H11Protocol._send_h11_event)
    monkeypatch.setattr(H11Protocol, "head", b"", raising=False)
    keeper.write_answers_in_one_piece()
    pieces = asyncio.run(written(app, request))
    assert [piece[-len(ending) :] for piece, ending in zip(pieces, endings, strict=True)] == endings
    assert pieces != apart or LARGE in pieces, (
        "hypercorn joins them by itself now: the keeper needn't do it any more"
    )
