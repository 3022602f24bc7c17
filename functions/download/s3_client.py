"""The retry policy of every method, and boto3's client built with it: the one place for both.

boto3 isn't imported before a client is built: the methods with their own HTTP don't pay for it.
"""

import random
from dataclasses import dataclass
from typing import Any

from settings import SettingsError

# Tries of one request, the first included. Standard mode waits at most 1, 2 and 4 s between four tries, so a
# request that S3 turns down every time ends well below the function's 60 s and becomes a record.
ATTEMPTS = 4
CONNECT_TIMEOUT_S = 5
# The longest silence on a connection. Below the 60 s of the function (boto3's default is exactly 60 s), and
# far above any pause seen while the network allowance of a function is used up.
READ_TIMEOUT_S = 15


@dataclass(frozen=True)
class RetryPolicy:
    """What is tried again, how often and after how long: botocore's standard mode, also for our own HTTP.

    Statuses, codes and delays are those of botocore/retries/standard.py. Its quota across requests is left out: with
    four tries each the few requests of one download can't drain it.
    """

    attempts: int = ATTEMPTS
    statuses: frozenset[int] = frozenset({500, 502, 503, 504})
    codes: frozenset[str] = frozenset(
        {"RequestTimeout", "RequestTimeoutException", "SlowDown", "RequestLimitExceeded", "Throttling"}
    )

    def applies_to(self, status: int, code: str) -> bool:
        """Whether an answer with this HTTP status and S3 error code is worth another try."""
        return status in self.statuses or code in self.codes

    def delay_s(self, retry: int) -> float:
        """Return the seconds to wait before the retry with this number (1 is the first): random, up to 1, 2, 4 s."""
        return min(20.0, random.random() * 2 ** (retry - 1))


RETRIES = RetryPolicy()


def build_client(region: str) -> Any:
    """Return boto3's S3 client; raises SettingsError when region or AWS_ENDPOINT_URL can't be used.

    The addressing style is left alone: boto3 uses virtual-hosted names on AWS and paths for an endpoint that
    is an IP address, so a local run needs no setting of its own.
    """
    import boto3
    import botocore.exceptions
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": RETRIES.attempts},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
    )
    try:
        return boto3.client("s3", region_name=region, config=config)
    except (ValueError, botocore.exceptions.BotoCoreError) as error:
        raise SettingsError(f"the S3 client can't be built from AWS_REGION and AWS_ENDPOINT_URL: {error}") from None
