"""boto3's client of S3: how long it waits, and how often it tries."""

import sys
from typing import Any

from common.environment import SettingsError

CONNECT_TIMEOUT_S = 5
# The longest silence on a connection. Below the 60 s of the function (boto3's default is exactly 60
# s), and far above any pause seen while the network allowance of a function is used up.
READ_TIMEOUT_S = 15
RETRY_MODE = "standard"
PAYER_HEADER, PAYER = "x-amz-request-payer", "requester"
# Tries of one request, the first included. Standard mode waits at most 1, 2 and 4 s between four
# tries, so a request that S3 throttles every time ends well below the function's 60 s and becomes a
# record.
ATTEMPTS = 4


def build_client(
    region: str, connections: int = 10, *, requester_pays: bool = False, **options: Any
) -> Any:
    """Return boto3's S3 client; raises SettingsError when region or AWS_ENDPOINT_URL can't be used.

    `connections` is the size of its pool, by default boto3's own: more at once are opened, and
    closed after one use. `requester_pays` accepts the charges of a bucket whose owner doesn't pay
    for requests. `options` are further ones of botocore's Config. The addressing style is left
    alone: boto3 uses virtual-hosted names on AWS and paths for an endpoint that is an IP address,
    so a local run needs no setting of its own.
    """
    import boto3  # a fifth of a CPU second, which a function that reads a mount doesn't pay
    import botocore.exceptions
    from botocore.config import Config

    config = Config(
        retries={"mode": RETRY_MODE, "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=connections,
        **options,
    )
    try:
        client = boto3.client("s3", region_name=region, config=config)
    except (ValueError, botocore.exceptions.BotoCoreError) as error:
        raise SettingsError(
            f"the S3 client can't be built from AWS_REGION and AWS_ENDPOINT_URL: {error}"
        ) from None
    if requester_pays:
        client.meta.events.register("before-call.s3", _pay)
    return client


def _pay(params: dict[str, Any], **_: Any) -> None:
    """Say in a request that its sender pays (S3 User Guide, "Downloading objects from Requester
    Pays buckets")."""
    params["headers"][PAYER_HEADER] = PAYER


def sdk_of(package: str = "botocore") -> str | None:
    """Return an SDK's name and version, such as `botocore 1.43.106`; None before a client has
    imported it.

    How it retries depends on the version (`functions/agreed/retries.json`).
    """
    version = getattr(sys.modules.get(package), "__version__", None)
    return f"{package} {version}" if version else None
