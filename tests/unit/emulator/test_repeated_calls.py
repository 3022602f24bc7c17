"""A call of Terraform's provider is carried out once, however often it comes; everybody else's as often as it comes."""

import asyncio

import pytest

from stampede.emulator import repeated_calls
from stampede.emulator.repeated_calls import AnsweredOnce

PROVIDER = b"APN/1.0 HashiCorp/1.0 Terraform/1.11.4 (+https://www.terraform.io) terraform-provider-aws/6.34.0"


class Service:
    """An ASGI app that answers with the number of calls that it has carried out, `copies` times, once it may."""

    def __init__(self, status=200, copies=1):
        self.carried_out, self.status, self.copies = 0, status, copies
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope, receive, send):
        self.carried_out += 1
        body = str(self.carried_out).encode() * self.copies
        while (await receive())["more_body"]:
            pass
        await self.may_answer.wait()
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": False})


async def answer(app, invocation=b"first", agent=PROVIDER, method="POST", path=b"/"):
    """The body that a call is answered with."""
    headers = [(b"user-agent", agent)] + ([(b"amz-sdk-invocation-id", invocation)] if invocation else [])
    request, sent = [b"Action=", b"CreateVpc"], []

    async def receive():
        return {"type": "http.request", "body": request.pop(0), "more_body": bool(request)}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "raw_path": path, "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    assert not request, "hypercorn closes the connection of a request that wasn't read to its end"
    return sent[1]["body"]


def answers(app, *calls, **same):
    """The bodies that calls, made one after the other, are answered with."""

    async def made():
        return [await answer(app, **(same | call)) for call in calls]

    return asyncio.run(made())


def test_a_repeated_call_has_the_answer_of_the_first():
    calls = [{}, {}, {"invocation": b"second"}, {}]
    assert answers(AnsweredOnce(Service()), *calls) == [b"1", b"1", b"2", b"1"]


@pytest.mark.parametrize(
    "call_options",
    [
        {"agent": b"Boto3/1.43.106 md/Botocore#1.43.106"},
        {"agent": b"aws-sdk-go-v2/1.47.6 ua/2.1 os/linux lang/go#1.26"},
        {"method": "GET"},
        {"invocation": None},
    ],
    ids=["loader", "functions", "read", "other_sdk"],
)
def test_what_is_not_the_providers_or_only_reads_is_carried_out_as_often_as_it_comes(call_options):
    assert answers(AnsweredOnce(Service()), {}, {}, **call_options) == [b"1", b"2"]


def test_another_path_under_the_same_invocation_is_another_call():
    assert answers(AnsweredOnce(Service()), {"path": b"/a"}, {"path": b"/b"}) == [b"1", b"2"]


@pytest.mark.parametrize("status", [400, 503])
def test_what_did_not_succeed_is_carried_out_again(status):
    service = Service(status)
    app = AnsweredOnce(service)
    assert answers(app, {}) == [b"1"]
    service.status = 200
    assert answers(app, {}, {}) == [b"2", b"2"]


@pytest.mark.parametrize(("status", "second"), [(200, b"1"), (503, b"2")])
def test_a_repeat_waits_for_the_first_while_that_is_under_way(status, second):
    async def both():
        service = Service(status)
        app = AnsweredOnce(service)
        service.may_answer.clear()
        calls = [asyncio.create_task(answer(app)) for _ in range(2)]
        while not service.carried_out:
            await asyncio.sleep(0)
        carried_out = service.carried_out
        service.may_answer.set()
        return carried_out, await asyncio.gather(*calls)

    assert asyncio.run(both()) == (1, [b"1", second])


def test_a_call_that_ended_in_an_error_of_the_server_is_carried_out_again():
    service = Service()
    app = AnsweredOnce(service)
    service.copies = None
    with pytest.raises(TypeError):
        answers(app, {})
    service.copies = 1
    assert answers(app, {}) == [b"2"]


def test_the_oldest_answers_are_forgotten(monkeypatch):
    monkeypatch.setattr(repeated_calls, "MOST_ANSWERS", 2)
    calls = [{"invocation": name} for name in (b"a", b"b", b"c", b"c", b"b", b"a")]
    assert answers(AnsweredOnce(Service()), *calls) == [b"1", b"2", b"3", b"3", b"2", b"4"]
