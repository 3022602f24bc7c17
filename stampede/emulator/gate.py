"""The gate before the embedded AWS, which runs code: only calls signed with a key of this run get in.

By itself MiniStack takes anybody's word: `test`, an empty key and each number of twelve digits are
root, whatever the signature; keys of roles follow from ARNs; some pages ask for no key. On a machine
with other users, or with a browser open, that is anybody's code, run as this user. The gate decides
on the request that MiniStack acts on: what can be read in two ways is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote

from ministack import app as gateway
from ministack.core import iam_evaluator, lambda_runtime, responses, sigv4
from ministack.core.router import detect_service

SCOPE = r"([^/,\s]+)/(\d{8})/([\w-]+)/([\w-]+)/aws4_request"
SIGNED = r"SignedHeaders=([a-z0-9;_-]+), ?Signature=([0-9a-f]{64})"
AUTHORIZATION = re.compile(rf"AWS4-HMAC-SHA256 Credential={SCOPE}, ?{SIGNED}")
PRESIGNED = [f"X-Amz-{name}" for name in ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature")]
TOKEN = "X-Amz-Security-Token"
# None of these stands beside a signed header; the last two are of older signatures.
OF_A_SIGNATURE = {name.lower() for name in (*PRESIGNED, TOKEN, "AWSAccessKeyId", "Signature")}
TARGET_OF_A_PROXY = re.compile(rb"http://([^/]*)(/.*)")
SKEW = timedelta(minutes=15)  # as S3, SQS and STS have it
LONGEST_S = 7 * 24 * 3600  # of a presigned URL
# What is read of a refused request, so that its client is still there for the answer.
MOST_DRAINED_BYTES = 2**20


class RefusedError(Exception):
    """A call isn't let in: AWS's code, and why."""


class Body:
    """What ASGI gives of a request, for who has to see its body first."""

    def __init__(self, receive: Callable) -> None:
        self._receive, self._kept, self._has_ended = receive, [], False

    async def __call__(self) -> dict[str, Any]:
        """The next message."""
        return self._kept.pop(0) if self._kept else await self._receive()

    async def whole(self, most_bytes: float = float("inf")) -> bytes:
        """The body, or its beginning; it is kept for who asks for the messages."""
        size = 0
        while not self._has_ended and size < most_bytes:
            self._kept.append(await self._receive())
            size += len(self._kept[-1].get("body", b""))
            self._has_ended = not self._kept[-1].get("more_body")
        return b"".join(message.get("body", b"") for message in self._kept)


def guarded(app: Callable, port: int) -> Callable:
    """The ASGI app `app`, MiniStack's at this port of loopback, behind the gate."""
    hosts = re.compile(rf"((\d{{12}}\.)?127\.0\.0\.1|localhost):{port}")

    async def gate(scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1"): sigv4.decode_header_value(value) for name, value in scope["headers"]}
        body = Body(receive)
        try:
            _refuse_pages(scope, headers)
            scope = _at_its_path(scope, headers, hosts)
            await _check_signature(scope, headers, body)
            await app(scope, body, _unread_by_pages(send))
        except RefusedError as refused:
            await body.whole(MOST_DRAINED_BYTES)
            await _refuse(refused, scope, headers, send)

    return gate


def _refuse_pages(scope: dict, headers: dict[str, str]) -> None:
    """Refuse what a page in a browser sends, and what MiniStack and a signature read differently."""
    site = headers.get("sec-fetch-site", "none")
    if "origin" in headers or "referer" in headers or site != "none":
        raise RefusedError("AccessDenied", "no page in a browser may call the embedded AWS")
    comes_twice = len(headers) < len(scope["headers"])
    if comes_twice or scope["http_version"] != "1.1" or scope["method"] == "OPTIONS":
        raise RefusedError("AccessDenied", "not a plain call by HTTP/1.1, with each header once")


def _at_its_path(scope: dict, headers: dict[str, str], hosts: re.Pattern) -> dict:
    """The request, which must be for one of `hosts`, without the host that its target may have.

    So Terraform's provider reaches S3 Control, whose host is `<account>.<endpoint>`: a name that
    resolves nowhere, and for which Go asks a proxy (stampede/emulator/stack.py). MiniStack knows
    S3 Control by its path.
    """
    host, path = headers.get("host", ""), scope["raw_path"]
    if target := TARGET_OF_A_PROXY.fullmatch(path):
        path = target[2] if target[1].decode() == host else b""
    if not hosts.fullmatch(host) or not path.startswith(b"/"):
        raise RefusedError("AccessDenied", "the embedded AWS has no such host")
    return scope | {"path": unquote(path.decode()), "raw_path": path}


async def _check_signature(scope: dict, headers: dict[str, str], body: Body) -> None:
    """Refuse a request that no key of this run signed, or that it signed long ago."""
    try:
        query = parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True)
        signature, expires_s, token = _signature(headers, query)
        signed_at = datetime.strptime(signature.amz_date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        ends_at = signed_at + (SKEW if expires_s is None else timedelta(seconds=expires_s))
        is_current = signed_at - SKEW <= datetime.now(UTC) <= ends_at
    except (ValueError, OverflowError):
        raise RefusedError("AccessDenied", "the call isn't signed once, by version 4") from None
    key = signature.access_key_id
    credential = iam_evaluator.resolve_credential(key, _account_of(key), token)
    if isinstance(credential, iam_evaluator.CredentialResolutionError):
        raise RefusedError(credential.code, credential.message)
    if not is_current:
        raise RefusedError("RequestTimeTooSkewed", "the signature has expired, or isn't valid yet")
    needed = {"host", *(name for name in headers if name.startswith("x-amz-"))}
    if not needed <= set(signature.signed_headers.split(";")):
        raise RefusedError("SignatureDoesNotMatch", "it must cover the host and x-amz- headers")
    is_ministacks = scope["path"].startswith("/_") or scope["path"] in gateway._HEALTH_PATHS
    if is_ministacks and not is_root(key):
        raise RefusedError("AccessDenied", "MiniStack's own pages are for the run's own key")
    declared = headers.get("x-amz-content-sha256", "")
    is_needed = not declared or declared.startswith("STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
    failure = sigv4.header_signature_failure(
        signature,
        credential.secret_access_key,
        scope["method"],
        scope["raw_path"].decode(),
        query,
        headers,
        await body.whole() if is_needed else b"",
        presigned=expires_s is not None,
    )
    if failure:
        raise RefusedError(*failure)
    is_digest = re.fullmatch("[0-9a-f]{64}", declared)
    if is_digest and hashlib.sha256(await body.whole()).hexdigest() != declared:
        raise RefusedError("SignatureDoesNotMatch", "the body isn't the one that was signed")


def _signature(headers: dict[str, str], query: dict[str, list[str]]) -> tuple[sigv4.HeaderSignature, int | None, str]:
    """A request's signature, the seconds that a presigned URL is valid, and the session's token.

    Raises ValueError for any other than one signature of version 4.
    """
    names = [name for name, values in query.items() for _ in values if name.lower() in OF_A_SIGNATURE]
    if "authorization" in headers:
        match = AUTHORIZATION.fullmatch(headers["authorization"])
        if match is None or names:
            raise ValueError
        signature = sigv4.HeaderSignature(*match.groups(), headers.get("x-amz-date", ""))
        return signature, None, headers.get(TOKEN.lower(), "")
    if sorted(names) not in (sorted(PRESIGNED), sorted([*PRESIGNED, TOKEN])):
        raise ValueError
    algorithm, scope, date, expires, *signed = (query[name][0] for name in PRESIGNED)
    match = re.fullmatch(SCOPE, scope)
    if match is None or algorithm != "AWS4-HMAC-SHA256" or int(expires) > LONGEST_S:
        raise ValueError
    signature = sigv4.HeaderSignature(*match.groups(), *signed, date)
    return signature, int(expires), query.get(TOKEN, [""])[0]


def _account_of(key: str) -> str | None:
    user = iam_evaluator.find_iam_access_key_account(key)
    return user or responses._account_from_sts_session(key)


async def _refuse(refused: RefusedError, scope: dict, headers: dict, send: Callable) -> None:
    """Answer as the service would that was meant: SDKs then report an error, not a broken answer."""
    service = detect_service(scope["method"], scope["path"], headers, {})
    failure = iam_evaluator.AuthError(*refused.args)
    answer = gateway._credential_failure(service, "", str(uuid.uuid4()), failure, headers)
    await gateway._send_response(send, *answer)


def _unread_by_pages(send: Callable) -> Callable:
    """`send`, without the headers that let a page read an answer."""

    async def send_without(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            kept = [
                (name, value)
                for name, value in message.get("headers", ())
                if not name.lower().startswith(b"access-control-")
            ]
            message = message | {"headers": kept}
        await send(message)

    return send_without


def is_root(access_key_id: str) -> bool:
    """Whether this is the run's own key; no other is root's."""
    return access_key_id == os.environ["AWS_ACCESS_KEY_ID"]


def trust_the_runs_key_alone() -> None:
    """Let MiniStack in this process take no other key for root's, and give functions keys that
    nobody can derive: its own are a hash of the function's and the role's ARN."""
    _replace("is_root_access_key", iam_evaluator.is_root_access_key, is_root)
    derived, of_this_run = lambda_runtime.execution_credentials, secrets.token_hex(32)

    def credentials(config: dict) -> dict[str, str]:
        # The role's name, which is all that is read of it but for the hash, is behind the last "/".
        return derived(config | {"Role": f"{of_this_run}/{config.get('Role', '')}"})

    _replace("execution_credentials", derived, credentials)


def _replace(name: str, old: Callable, new: Callable) -> None:
    """Put a function in the place of another one, in each module that has imported that."""
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is old:
            setattr(module, name, new)
