"""boto3's client of S3, and the timeouts of every method.

boto3 isn't imported before a client is built: the methods with their own HTTP don't pay for it.
"""

from typing import Any

from common.environment import SettingsError
from common.retries import RETRIES

CONNECT_TIMEOUT_S = 5
# The longest silence on a connection. Below the 60 s of the function (boto3's default is exactly 60 s), and
# far above any pause seen while the network allowance of a function is used up.
READ_TIMEOUT_S = 15


def build_client(region: str, connections: int = 10) -> Any:
    """Return boto3's S3 client; raises SettingsError when region or AWS_ENDPOINT_URL can't be used.

    `connections` is the size of its pool, by default boto3's own: more at once are opened, and closed after one use.
    The addressing style is left alone: boto3 uses virtual-hosted names on AWS and paths for an endpoint that
    is an IP address, so a local run needs no setting of its own.
    """
    import boto3
    import botocore.exceptions
    from botocore.config import Config

    config = Config(
        retries={"mode": RETRIES.mode, "total_max_attempts": RETRIES.attempts},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=connections,
    )
    try:
        return boto3.client("s3", region_name=region, config=config)
    except (ValueError, botocore.exceptions.BotoCoreError) as error:
        raise SettingsError(f"the S3 client can't be built from AWS_REGION and AWS_ENDPOINT_URL: {error}") from None
