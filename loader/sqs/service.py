"""SendMessageBatch over HTTP: aiohttp sends the request, botocore's SigV4Auth signs it.

Each request was either carried out, or not, or perhaps, and the caller learns which: the flood has
no silent duplicates because of that. So no request is sent twice: aiohttp repeats only idempotent
methods, not POST, and follows no redirect. Proxies and CA bundles are boto3's, from the environment
and the profile; aiohttp's `trust_env` would also send credentials from ~/.netrc.
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
# An answer to ten entries has about 2 KB; SQS never comes near this.
MAX_ANSWER_BYTES = 1_000_000


@dataclass(frozen=True)
class Endpoint:
    """Where SendMessageBatch goes: the service's `url`, the `region` for the signature, a function
    that gives frozen credentials (called for each request, so renewed ones are used at once), the
    timeout for a connection and for an answer, and a CA bundle's path (None: boto3's)."""

    url: str
    region: str
    credentials: Callable[[], Any]
    timeout_s: float = 30.0
    ca_bundle: str | None = None


class Failure(Exception):
    """A request without an answer of status 200. `passes`: a retry may succeed; `is_unknown`: it
    may have been carried out all the same."""

    def __init__(self, said: str, *, passes: bool = True, is_unknown: bool = False) -> None:
        super().__init__(said)
        self.passes, self.is_unknown = passes, is_unknown


def opened(endpoint: Endpoint, connections: int) -> aiohttp.ClientSession:
    """A session for `send_message_batch` with at most `connections`; the caller closes it."""
    tls: ssl.SSLContext | bool = True
    if endpoint.url.startswith("https:"):
        tls = ssl.create_default_context(cafile=get_cert_path(endpoint.ca_bundle or True))
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
    """Send one request; returns the JSON object of an answer of status 200, {} without one. Raises
    Failure."""
    at, request = shown(endpoint.url), AWSRequest("POST", endpoint.url, data=body, headers=HEADERS)
    SigV4Auth(endpoint.credentials(), "sqs", endpoint.region).add_auth(request)
    post = session.post(
        endpoint.url, data=body, headers=dict(request.headers.items()), allow_redirects=False
    )
    try:
        # aiohttp's own timeout doesn't end the wait for the rest of an answer that began before the
        # request was sent.
        async with asyncio.timeout(2 * endpoint.timeout_s), post as response:
            answer = _object(await _content(response))
    except (aiohttp.ClientError, OSError) as error:
        raise Failure(f"connection to {at} broke: {_words(error)}", is_unknown=True) from error
    if response.status == 200:
        return answer
    code = str(answer.get("__type", "")).rpartition("#")[2]
    kind = kind_of_answer(response.status, code)
    said = f"{response.status} {code}: {answer.get('message', '')}".strip()
    why = f"SQS in {endpoint.region} at {at} answered {said}"
    raise Failure(why, passes=kind.passes, is_unknown=kind is Kind.FAULT)


class _Connector(aiohttp.TCPConnector):
    """Separates failures to connect (name, proxy or certificate) from those on a connection; and
    drops an idle connection that received unrequested data, which the next request would take for
    its answer."""

    async def connect(self, request: aiohttp.ClientRequest, *arguments: Any, **options: Any) -> Any:
        try:
            connection = await super().connect(request, *arguments, **options)
        except (aiohttp.ClientError, OSError) as error:
            raise Failure(f"can't connect to {request.url.origin()}: {_words(error)}") from error
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


def _words(error: Exception) -> str:
    return f"{type(error).__name__} {error}"


def _object(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:200].decode(errors="replace")}
    return answer if isinstance(answer, dict) else {}
