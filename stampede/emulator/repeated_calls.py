"""Gives a call of Terraform's provider that comes twice the answer that it had, as AWS does for a ClientToken.

The SDK for Go repeats a call whose answer was lost, under the same amz-sdk-invocation-id (docs/repeated_calls.md), and
MiniStack, which knows no ClientToken, would carry it out again: a second network that nobody destroys, or a 409.

Only the provider's calls are known again. A SendMessage, ReceiveMessage or PutLogEvents of our own programs that is
repeated happens twice on AWS, and what accounts for messages and records has to bear it here as well.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

PROVIDER = b"terraform-provider-aws"  # in its User-Agent, whether Terraform or OpenTofu runs it
# The SDK waits 20 s at most before it repeats a call; in that time a large stack makes some hundred, of a few KB each.
MOST_ANSWERS = 1_000
MOST_BYTES = 8 * 2**20

Call = tuple[bytes, ...]
Answer = list[dict[str, Any]]


class AnsweredOnce:
    """An ASGI app around another one, which carries out each call of the provider's once, however often it comes.

    That goes for calls that may change something and that succeed; what was refused is carried out again. A repeat that
    comes while the first is under way waits for it. Beyond MOST_ANSWERS or MOST_BYTES the oldest answers are forgotten.
    """

    def __init__(self, app: Callable) -> None:
        self._app = app
        self._answers: OrderedDict[Call, Answer] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[Call, asyncio.Event] = {}

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        """Answer one request."""
        call = _call_of(scope)
        if call is None:
            await self._app(scope, receive, send)
            return
        while call in self._under_way:
            await self._under_way[call].wait()
        if call in self._answers:
            answer = self._answers[call]
            while (await receive()).get("more_body"):  # a request that isn't read to its end ends its connection
                pass
        else:
            answer = await self._carry_out(call, scope, receive)
        for message in answer:
            await send(message)

    async def _carry_out(self, call: Call, scope: dict, receive: Callable) -> Answer:
        """Make the call and remember its answer, before any of it leaves: the client may have gone, and come again."""
        answer: Answer = []

        async def keep(message: dict[str, Any]) -> None:
            answer.append(message)

        self._under_way[call] = asyncio.Event()
        try:
            await self._app(scope, receive, keep)
            if answer and answer[0]["status"] // 100 == 2:
                self._answers[call] = answer
                self._bytes += _bytes_of(answer)
        finally:
            self._under_way.pop(call).set()
        while len(self._answers) > MOST_ANSWERS or self._bytes > MOST_BYTES:
            self._bytes -= _bytes_of(self._answers.popitem(last=False)[1])
        return answer


def _call_of(scope: dict) -> Call | None:
    """What a call is known by again; None for what needn't be. A read that is a POST is known too, at no harm."""
    if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
        return None
    headers = dict(scope["headers"])
    invocation = headers.get(b"amz-sdk-invocation-id")
    if invocation is None or PROVIDER not in headers.get(b"user-agent", b""):
        return None
    return invocation, scope["method"].encode(), scope["raw_path"], scope["query_string"]


def _bytes_of(answer: Answer) -> int:
    return sum(len(message.get("body", b"")) for message in answer)
