"""Gives a call of Terraform's provider that comes twice the answer that it had, as AWS does for a ClientToken.

The SDK for Go closes a request's body when the head of an answer comes; where net/http reads that body's end after it,
it closes the connection, the answer is lost, and the SDK repeats a call that was carried out, under the same
amz-sdk-invocation-id. MiniStack knows no ClientToken and would carry it out again: a second network that nobody
destroys, or a 409.

Only the provider's calls are known again: a SendMessage or PutLogEvents of our own that is repeated happens twice on
AWS, and what accounts for messages and records has to bear it here as well.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

PROVIDER = b"terraform-provider-aws"  # in its User-Agent, whether Terraform or OpenTofu runs it
# The SDK waits 20 s at most before it repeats a call; in that time a large stack makes some hundred, of a few KB each.
MOST_ANSWERS = 1_000

Call = tuple[bytes, ...]


class Kept:
    """The answer to a call, once there is one; whoever makes the call holds the lock."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.answer: list[dict[str, Any]] | None = None


class AnsweredOnce:
    """An ASGI app around another one, which carries out each call of the provider's once, however often it comes.

    That goes for calls that may change something and that succeed; what was refused is carried out again. A repeat that
    comes while the first is under way waits for it. Beyond MOST_ANSWERS the oldest answers are forgotten.
    """

    def __init__(self, app: Callable) -> None:
        self._app = app
        self._calls: OrderedDict[Call, Kept] = OrderedDict()

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        """Answer one request."""
        call = _call_of(scope)
        if call is None:
            await self._app(scope, receive, send)
            return
        kept = self._calls.setdefault(call, Kept())
        if len(self._calls) > MOST_ANSWERS:
            self._calls.popitem(last=False)
        async with kept.lock:
            answer = kept.answer
            if answer is None:
                answer = await self._carried_out(scope, receive)
                kept.answer = answer if answer[0]["status"] // 100 == 2 else None
            else:
                while (await receive()).get("more_body"):  # a request that isn't read to its end ends its connection
                    pass
        for message in answer:
            await send(message)

    async def _carried_out(self, scope: dict, receive: Callable) -> list[dict[str, Any]]:
        """The whole answer, which is there before any of it leaves: the client may have gone, and come again."""
        answer: list[dict[str, Any]] = []

        async def keep(message: dict[str, Any]) -> None:
            answer.append(message)

        await self._app(scope, receive, keep)
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
