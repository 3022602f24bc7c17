"""boto3's client of S3: how long it waits, and how often it tries."""

import sys
from typing import Any

from common.environment import SettingsError

CONNECT_TIMEOUT_S = 5
# The longest silence on a connection: below the function's 60 s (which is boto3's default), and far
# above any pause seen when a function has used up its network allowance.
READ_TIMEOUT_S = 15
RETRY_MODE = "standard"
PAYER_HEADER, PAYER = "x-amz-request-payer", "requester"
# Attempts at one request, the first included. Standard mode waits at most 1, 2 and 4 s between
# four attempts: a request that S3 always throttles ends well below the function's 60 s.
ATTEMPTS = 4


def build_client(
    region: str, connections: int = 10, *, requester_pays: bool = False, **options: Any
) -> Any:
    """Return boto3's S3 client; raises SettingsError if region or AWS_ENDPOINT_URL is unusable.

    `connections` is the size of the pool, by default boto3's: further connections are closed after
    one use. `requester_pays` accepts the charges of a bucket whose owner doesn't pay for requests.
    `options` are further options of botocore's Config. boto3 chooses the addressing style:
    virtual-hosted names on AWS, paths for the IP address of a local run.
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
    """Accept a request's charges (S3 User Guide, "Downloading objects from Requester Pays
    buckets")."""
    params["headers"][PAYER_HEADER] = PAYER


def sdk_of(package: str = "botocore") -> str | None:
    """Return an SDK's name and version, such as `botocore 1.43.106`; None before its import.

    Its retries depend on the version (`functions/agreed/retries.json`).
    """
    version = getattr(sys.modules.get(package), "__version__", None)
    return f"{package} {version}" if version else None
