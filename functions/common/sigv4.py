"""Signs a request with AWS Signature Version 4 (AWS: "Create a signed AWS API request")."""

import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from common.failures import NoCredentials


@dataclass(frozen=True)
class Credentials:
    """An access key; `token` is the session token of temporary credentials, which a function's role always has."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def read_credentials(environ: Mapping[str, str]) -> Credentials:
    """Return the credentials that Lambda puts into the environment; raises NoCredentials when there are none."""
    access_key, secret_key = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        raise NoCredentials(
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY aren't both set: give the function a role, or set them"
        )
    return Credentials(access_key, secret_key, environ.get("AWS_SESSION_TOKEN") or None)


def signed_headers(
    host: str,
    path: str,
    region: str,
    credentials: Credentials,
    now_s: float,
    query: str = "",
    *,
    service: str = "s3",
    body: bytes = b"",
    target: str = "",
) -> dict[str, str]:
    """Return the headers that authorize a GET of `path` at `now_s`, an epoch time, or with a `target`, the operation of
    a `service` whose API is JSON, a POST of `body`.

    `path` is percent-encoded, and so is `query`, whose parameters are in alphabetical order, each `name=value`.
    Headers that the request has besides these, like Range, needn't be signed.
    """
    moment, digest = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_s)), hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": moment}
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    if target:
        headers["x-amz-target"] = target
    names = ";".join(headers)  # these names are in alphabetical order, as the signature wants them
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = f"{'POST' if target else 'GET'}\n{path}\n{query}\n{lines}\n{names}\n{digest}"
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return headers | {"authorization": authorization}
