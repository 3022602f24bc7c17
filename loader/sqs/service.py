"""SendMessageBatch over HTTP: aiohttp carries the request, botocore's SigV4Auth signs it.

Of each request is known whether it was carried out, certainly not, or perhaps: the flood's promise
of no silent duplicates rests on that. So nothing here sends a request twice: aiohttp repeats only
idempotent methods, of which POST is none, and follows no redirect. Proxies and CA bundles are those
of boto3, from the environment and the profile; aiohttp's own `trust_env` would send what ~/.netrc
says, too.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import ProxyConfiguration, get_cert_path
from botocore.utils import get_environ_proxies

from stampede.stacks.aws_errors import Kind, kind_of_answer
from stampede.stacks.endpoints import shown

HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "AmazonSQS.SendMessageBatch",
}
# An answer to ten entries takes about 2 KB; anything near this is no SQS.
MAX_ANSWER_BYTES = 1_000_000


@dataclass(frozen=True)
class Endpoint:
    """Where SendMessageBatch goes: `url` of the service, `region` for the signature, the source of
    frozen credentials (asked for each request, so renewed ones are used at once), how long to wait
    for a connection and for an answer, and a CA bundle's path (None: boto3's)."""

    url: str
    region: str
    credentials: Callable[[], Any]
    timeout_s: float = 30.0
    ca_bundle: str | None = None


class Failure(Exception):
    """A request without an answer of 200. `passes`: it may succeed when it is sent again;
    `is_unknown`: it may have been carried out all the same."""

    def __init__(self, said: str, *, passes: bool = True, is_unknown: bool = False) -> None:
        super().__init__(said)
        self.passes, self.is_unknown = passes, is_unknown


def opened(endpoint: Endpoint, connections: int) -> aiohttp.ClientSession:
    """A session for `send_message_batch`, with at most so many connections; has to be closed."""
    is_tls = endpoint.url.startswith("https:")
    tls = (
        ssl.create_default_context(cafile=get_cert_path(endpoint.ca_bundle or True))
        if is_tls
        else True
    )
    return aiohttp.ClientSession(
        connector=_Connector(limit=connections, ssl=tls),
        proxy=ProxyConfiguration(get_environ_proxies(endpoint.url)).proxy_url_for(endpoint.url),
        timeout=aiohttp.ClientTimeout(total=None, connect=endpoint.timeout_s),
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def send_message_batch(
    session: aiohttp.ClientSession, endpoint: Endpoint, body: bytes
) -> dict[str, Any]:
    """One request; gives the JSON object of an answer of 200, {} where it has none. Raises
    Failure."""
    at, request = shown(endpoint.url), AWSRequest("POST", endpoint.url, data=body, headers=HEADERS)
    SigV4Auth(endpoint.credentials(), "sqs", endpoint.region).add_auth(request)
    post = session.post(
        endpoint.url, data=body, headers=dict(request.headers.items()), allow_redirects=False
    )
    try:
        # aiohttp's own limit doesn't end the wait for the rest of an answer of which a part came
        # before the request.
        async with asyncio.timeout(2 * endpoint.timeout_s), post as response:
            answer = _object(await _content(response))
    except (aiohttp.ClientError, OSError) as error:
        raise Failure(
            f"connection to {at} broke: {type(error).__name__} {error}", is_unknown=True
        ) from error
    if response.status == 200:
        return answer
    code = str(answer.get("__type", "")).rpartition("#")[2]
    kind = kind_of_answer(response.status, code)
    said = (
        f"SQS in {endpoint.region} at {at} answered {response.status} {code}: "
        f"{answer.get('message', '')}"
    )
    raise Failure(said.strip(), passes=kind.passes, is_unknown=kind is Kind.FAULT)


class _Connector(aiohttp.TCPConnector):
    """Tells what fails on the way to a connection, be it a name, a proxy or a certificate, from
    what fails on one; and drops a kept connection on which something came that nobody asked for,
    which the next request would take for its answer."""

    async def connect(self, request: aiohttp.ClientRequest, *arguments: Any, **options: Any) -> Any:
        try:
            connection = await super().connect(request, *arguments, **options)
        except (aiohttp.ClientError, OSError) as error:
            raise Failure(
                f"can't connect to {request.url.origin()}: {type(error).__name__} {error}"
            ) from error
        if connection.protocol.should_close:
            connection.close()
            raise Failure(f"{request.url.origin()} sent an answer that nobody asked for")
        return connection


async def _content(response: aiohttp.ClientResponse) -> bytes:
    content = b""
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise Failure(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes", is_unknown=True)
    return content


def _object(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:200].decode(errors="replace")}
    return answer if isinstance(answer, dict) else {}
