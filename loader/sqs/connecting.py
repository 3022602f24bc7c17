"""Opens a connection to the SQS endpoint: TLS, and a proxy where the environment names one."""

from __future__ import annotations

import asyncio
import base64
import functools
import http.client
import socket
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import TypeVar

from loader.sqs.signing import DEFAULT_PORTS, Endpoint

P = TypeVar("P", bound=asyncio.Protocol)


async def connect(endpoint: Endpoint, protocol: Callable[[], P]) -> P:
    """Open a connection and give it to a new `protocol`. Raises OSError (TimeoutError included) when it can't."""
    parts = urllib.parse.urlsplit(endpoint.url)
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    context = _tls_context(endpoint.ca_bundle) if parts.scheme == "https" else None
    proxy = _proxy_of(parts)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(endpoint.timeout_s):
        if proxy is None:
            _, made = await loop.create_connection(protocol, parts.hostname, port, ssl=context)
        else:
            tunnel = await asyncio.to_thread(_tunnel, proxy, parts.hostname, port, endpoint.timeout_s)
            name = parts.hostname if context else None
            _, made = await loop.create_connection(protocol, sock=tunnel, ssl=context, server_hostname=name)
    return made


def _proxy_of(parts: urllib.parse.SplitResult) -> urllib.parse.SplitResult | None:
    """The proxy that the environment names for https endpoints, unless it excepts this host."""
    proxy = urllib.request.getproxies().get("https") if parts.scheme == "https" else None
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.parse.urlsplit(proxy)


def _tunnel(proxy: urllib.parse.SplitResult, host: str, port: int, timeout_s: float) -> socket.socket:
    """A CONNECT tunnel (RFC 9110, 9.3.6); blocks, so it runs in a thread."""
    through = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=timeout_s)
    through.set_tunnel(host, port, _proxy_headers(proxy))
    try:
        through.connect()
    except http.client.HTTPException as error:
        through.close()
        raise OSError(f"the proxy {proxy.hostname} didn't answer in HTTP ({type(error).__name__})") from error
    through.sock.setblocking(False)
    return through.sock


def _proxy_headers(proxy: urllib.parse.SplitResult) -> dict[str, str]:
    """Basic authentication (RFC 7617) where the proxy's URL carries a user."""
    if proxy.username is None:
        return {}
    user = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(user.encode()).decode()}


@functools.cache
def _tls_context(ca_bundle: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_bundle)
