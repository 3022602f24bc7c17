"""Lets a failed message come back after seconds instead of after the queue's visibility timeout.

That timeout is 6 x the function's, 360 s. It can't be shorter for all: AWS asks for it so that messages which Lambda
holds back while the function is throttled don't appear again meanwhile (Lambda guide, "Understanding SQS retries").
Five failed downloads of one message would cost a cell half an hour, though. SQS lets a consumer shorten the timeout
of the one message that it holds (SQS guide, ChangeMessageVisibility), and that is what happens here.
"""

import os
import re
import sys
from typing import Any

from common.endpoint import dns_suffix
from common.sigv4 import read_credentials
from common.sqs_event import Message

# To connect, and again to be answered; there is one try.
CALL_TIMEOUT_S = 1
# What a slow call may take of the invocation.
_CALL_S = 2.0
# What importing boto3 and making a client take (0.25 s measured, twice that for a slower core), and the memory that
# brings one core (Lambda guide, "Configure Lambda function memory").
_BUILD_CPU_S = 0.5
_ONE_CORE_MB = 1769
_QUEUE_ARN = re.compile(r"arn:[a-z0-9-]+:sqs:([a-z0-9-]+):([0-9]{12}):([A-Za-z0-9_-]{1,80})")


def delay_s(attempt: int) -> int:
    """Return the seconds until a message that failed at this attempt (1 is the first) comes back: 2, 4, 8, 16, 32."""
    return 2 ** min(attempt, 5)


class Redelivery:
    """The SQS client of one sandbox, made at its first failure: a sandbox without one doesn't pay for boto3."""

    def __init__(self, memory_mb: int) -> None:
        """`memory_mb` is the function's memory, which says how fast a client can be made."""
        self._build_s = _BUILD_CPU_S * max(1.0, _ONE_CORE_MB / memory_mb)
        self._sqs: Any = None

    def hasten(self, message: Message, remaining_s: float) -> None:
        """Set the timeout of a message whose record has been written; `remaining_s` is what the invocation has left.

        Never raises, and changes nothing where it can't be done: the message then comes back after the queue's timeout.
        What went wrong is a plain line on stderr, which no query takes for a record.
        """
        queue = _QUEUE_ARN.fullmatch(message.queue_arn or "")
        if queue is None or message.receipt_handle is None:
            return
        if remaining_s < _CALL_S + (self._build_s if self._sqs is None else 0):
            return
        region, account, name = queue.groups()
        try:
            if self._sqs is None:
                self._sqs = _build_client(region)
            self._sqs.change_message_visibility(
                QueueUrl=f"https://sqs.{region}.{dns_suffix(region)}/{account}/{name}",
                ReceiptHandle=message.receipt_handle,
                VisibilityTimeout=delay_s(message.attempt),
            )
        except Exception as error:  # whatever it is, the download has its record and the message its way back
            reason = str(error).partition(": ")[0]  # without what SQS said, which could be JSON and pass for a record
            late = f"message {message.message_id} comes back only after the queue's visibility timeout"
            print(f"{late}: {reason!a:.200}", file=sys.stderr)


def _build_client(region: str) -> Any:
    import boto3
    from botocore.config import Config

    credentials = read_credentials(os.environ)  # instead of boto3's search for others, which takes seconds
    return boto3.client(
        "sqs",
        region_name=region,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
        config=Config(
            retries={"mode": "standard", "total_max_attempts": 1},
            connect_timeout=CALL_TIMEOUT_S,
            read_timeout=CALL_TIMEOUT_S,
        ),
    )
