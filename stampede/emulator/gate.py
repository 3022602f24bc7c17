"""The gate before the embedded AWS, which runs code: it admits only calls signed with a key of this
run.

By itself MiniStack trusts anybody: `test`, an empty key and any twelve digits are root, whatever
the signature; keys of roles derive from ARNs; some pages need no key. So other users of the
machine, or a page in a browser, could run code as this user. The gate checks the request that
MiniStack will act on, and refuses what can be read in two ways.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote

from ministack import app as gateway
from ministack.core import iam_evaluator, lambda_runtime, responses, sigv4
from ministack.core.router import detect_service
from ministack.services import lambda_svc

SCOPE = r"([^/,\s]+)/(\d{8})/([\w-]+)/([\w-]+)/aws4_request"
SIGNED = r"SignedHeaders=([a-z0-9;_-]+), ?Signature=([0-9a-f]{64})"
AUTHORIZATION = re.compile(rf"AWS4-HMAC-SHA256 Credential={SCOPE}, ?{SIGNED}")
PRESIGNED = [
    f"X-Amz-{name}"
    for name in ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature")
]
TOKEN = "X-Amz-Security-Token"
# Query parameters that exclude a signed header; the last two are of older signatures.
OF_A_SIGNATURE = {name.lower() for name in (*PRESIGNED, TOKEN, "AWSAccessKeyId", "Signature")}
TARGET_OF_A_PROXY = re.compile(rb"http://([^/]*)(/.*)")
SKEW_S = 15 * 60  # that of S3, SQS and STS
LONGEST_S = 7 * 24 * 3600  # of a presigned URL
# How much of a refused request is read, so that its client still receives the answer.
MOST_DRAINED_BYTES = 2**20
# The longest body that is held before its signature can be checked: a function's package of 50 MB
# (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html), in Base64.
MOST_UNCHECKED_BYTES = 70 * 2**20


class RefusedError(Exception):
    """A call is refused, with AWS's error code and the reason."""


def guarded(app: Callable, port: int) -> Callable:
    """Put the gate before MiniStack's ASGI app at this loopback port."""
    hosts = re.compile(rf"((\d{{12}}\.)?127\.0\.0\.1|localhost):{port}")

    async def gate(scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {
            name.decode("latin-1"): sigv4.decode_header_value(value)
            for name, value in scope["headers"]
        }
        body = None
        try:
            scope = _at_its_path(scope, headers, hosts)
            most_bytes, check_body = _signed_head(scope, headers)
            received = await _read(receive, most_bytes)
            if len(received) >= most_bytes:
                raise RefusedError("AccessDenied", "too long for a body without a checksum")
            body = received
            check_body(body)
        except RefusedError as refused:
            if body is None:
                await _read(receive, MOST_DRAINED_BYTES)
            await _refuse(refused, scope, headers, send)
            return
        await app(scope, _whole(body, receive), send)

    return gate


def _at_its_path(scope: dict, headers: dict[str, str], hosts: re.Pattern) -> dict:
    """Return the request without a host in its target. Refuse requests of pages in a browser, for
    other `hosts`, or that MiniStack and a signature would read differently.

    A target has a host when Go uses its proxy (stampede/emulator/stack.py), for S3 Control's
    `<account>.<endpoint>`, which doesn't resolve. MiniStack recognizes S3 Control by its path.
    """
    is_cross_site = headers.get("sec-fetch-site", "none") != "none"
    if is_cross_site or not headers.keys().isdisjoint(("origin", "referer")):
        raise RefusedError("AccessDenied", "no page in a browser may call the embedded AWS")
    comes_twice = len(headers) < len(scope["headers"])
    if comes_twice or scope["http_version"] != "1.1":
        raise RefusedError("AccessDenied", "not a plain call by HTTP/1.1, with each header once")
    host, path = headers.get("host", ""), scope["raw_path"]
    if target := TARGET_OF_A_PROXY.fullmatch(path):
        path = target[2] if target[1].decode() == host else b""
    if not hosts.fullmatch(host) or not path.startswith(b"/"):
        raise RefusedError("AccessDenied", "the embedded AWS has no such host")
    return scope | {"path": unquote(path.decode()), "raw_path": path}


def _signed_head(scope: dict, headers: dict[str, str]) -> tuple[float, Callable[[bytes], None]]:
    """Refuse a request whose head has no valid, recent signature by a key of this run. Return how
    many bytes its body may have, and the check of its body."""
    try:
        query = parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True)
        signature, expires_s, token = _signature(headers, query)
        signed_at = datetime.strptime(signature.amz_date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise RefusedError("AccessDenied", "the call isn't signed once, by version 4") from None
    key = signature.access_key_id
    account = iam_evaluator.find_iam_access_key_account(key)
    account = account or responses._account_from_sts_session(key)
    credential = iam_evaluator.resolve_credential(key, account, token)
    if isinstance(credential, iam_evaluator.CredentialResolutionError):
        raise RefusedError(credential.code, credential.message)
    is_url = expires_s is not None
    age_s = (datetime.now(UTC) - signed_at).total_seconds()
    if not -SKEW_S <= age_s <= (expires_s if is_url else SKEW_S):
        raise RefusedError("RequestTimeTooSkewed", "the signature has expired, or isn't valid yet")
    required = {"host", *(name for name in headers if name.startswith("x-amz-"))}
    if not required.issubset(signature.signed_headers.split(";")):
        raise RefusedError("SignatureDoesNotMatch", "it must cover the host and x-amz- headers")
    is_ministacks = scope["path"].startswith("/_") or scope["path"] in gateway._HEALTH_PATHS
    if is_ministacks and key != os.environ["AWS_ACCESS_KEY_ID"]:
        raise RefusedError("AccessDenied", "MiniStack's own pages are for the run's own key")

    declared = headers.get("x-amz-content-sha256", "")

    def check_signature(body: bytes) -> None:
        request = (scope["method"], scope["raw_path"].decode(), query, headers, body)
        secret = credential.secret_access_key
        if failure := sigv4.header_signature_failure(signature, secret, *request, presigned=is_url):
            raise RefusedError(*failure)

    def check_digest(body: bytes) -> None:
        if re.fullmatch("[0-9a-f]{64}", declared) and hashlib.sha256(body).hexdigest() != declared:
            raise RefusedError("SignatureDoesNotMatch", "the body isn't the one that was signed")

    is_unsigned = is_url and signature.service == "s3"
    if is_unsigned or (declared and not declared.startswith("STREAMING-AWS4")):
        check_signature(b"")
        return float("inf"), check_digest
    # The signature covers the body itself, or each of its chunks.
    return MOST_UNCHECKED_BYTES, check_signature


def _signature(
    headers: dict[str, str], query: dict[str, list[str]]
) -> tuple[sigv4.HeaderSignature, int | None, str]:
    """A request's signature, the seconds that a presigned URL is valid, and the session's token.

    Raises ValueError unless there is exactly one signature, of version 4.
    """
    names = [
        name for name, values in query.items() for _ in values if name.lower() in OF_A_SIGNATURE
    ]
    if "authorization" in headers:
        text, valid_names, expires_s = headers["authorization"], ([],), None
        date, token = headers.get("x-amz-date", ""), headers.get(TOKEN.lower(), "")
    else:
        valid_names = (sorted(PRESIGNED), sorted([*PRESIGNED, TOKEN]))
        values = (query.get(name, [""])[0] for name in (*PRESIGNED, TOKEN))
        algorithm, scope, date, expires, signed, digest, token = values
        text = f"{algorithm} Credential={scope}, SignedHeaders={signed}, Signature={digest}"
        expires_s = int(expires)
    match = AUTHORIZATION.fullmatch(text)
    if match is None or sorted(names) not in valid_names or (expires_s or 0) > LONGEST_S:
        raise ValueError
    return sigv4.HeaderSignature(*match.groups(), date), expires_s, token


async def _read(receive: Callable, most_bytes: float) -> bytes:
    """A request's body, or at least its first `most_bytes`."""
    pieces, size, more = [], 0, True
    while more and size < most_bytes:
        message = await receive()
        pieces.append(message.get("body", b""))
        size, more = size + len(pieces[-1]), message.get("more_body", False)
    return b"".join(pieces)


def _whole(body: bytes, receive: Callable) -> Callable:
    """A `receive` that first repeats the body, which was read already."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_whole() -> dict[str, Any]:
        return messages.pop() if messages else await receive()

    return receive_whole


async def _refuse(refused: RefusedError, scope: dict, headers: dict, send: Callable) -> None:
    """Answer in the form of the service that was called, so that SDKs report the error."""
    service = detect_service(scope["method"], scope["path"], headers, {})
    failure = iam_evaluator.AuthError(*refused.args)
    answer = gateway._credential_failure(service, "", str(uuid.uuid4()), failure, headers)
    await gateway._send_response(send, *answer)


def give_functions_keys_of_this_run() -> None:
    """Have MiniStack give functions keys that nobody can derive; its own are a hash of the
    function's and the role's ARN."""
    derived, of_this_run = lambda_runtime.execution_credentials, secrets.token_hex(32)

    def credentials(config: dict) -> dict[str, str]:
        # Apart from the hash, MiniStack reads only the role's name, after the last "/".
        return derived(config | {"Role": f"{of_this_run}/{config.get('Role', '')}"})

    for module in (lambda_runtime, lambda_svc):
        module.execution_credentials = credentials
