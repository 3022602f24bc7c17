"""Lets a failed message come back after seconds instead of the queue's visibility timeout.

That timeout is six times the function's, 360 s. AWS requires it, so that messages that Lambda holds
back while the function is throttled don't appear again (Lambda guide, "Understanding SQS retries").
But five failed downloads of one message would then cost a cell half an hour. So the function
shortens the timeout of the message that it holds (SQS guide, ChangeMessageVisibility).
"""

import re
import sys

from common.sqs_event import Message

# For connecting, and again for the answer. There is one attempt.
CALL_TIMEOUT_S = 1
# The longest that a call takes.
CALL_S = 2.0
_QUEUE_ARN = re.compile(r"arn:[a-z0-9-]+:sqs:([a-z0-9-]+):([0-9]{12}):([A-Za-z0-9_-]{1,80})")


def delay_s(attempt: int) -> int:
    """Return the seconds until a message comes back after an attempt (from 1): 2, 4, 8, 16, 32."""
    return 2 ** min(attempt, 5)


def hasten(message: Message, remaining_s: float) -> None:
    """Shorten the timeout of a message whose record has been written.

    `remaining_s` is the time left in the invocation. It never raises: if the call fails, the
    message comes back after the queue's timeout, and a plain line on stderr, which no query takes
    for a record, has the error.
    """
    queue = _QUEUE_ARN.fullmatch(message.queue_arn or "")
    if queue is None or message.receipt_handle is None or remaining_s < CALL_S:
        return
    try:
        _change_visibility(*queue.groups(), message.receipt_handle, delay_s(message.attempt))
    except Exception as error:  # the operation has its record, and the message comes back later
        # JSON could pass for a record
        reason = f"{type(error).__name__}: {error}".partition("{")[0]
        late = f"message {message.message_id} comes back only after the queue's visibility timeout"
        print(f"{late}: {reason!a:.200}", file=sys.stderr)


def _change_visibility(
    region: str, account: str, name: str, receipt_handle: str, timeout_s: int
) -> None:
    import boto3  # only where something failed
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=CALL_TIMEOUT_S,
        read_timeout=CALL_TIMEOUT_S,
    )
    sqs = boto3.client("sqs", region_name=region, config=config)
    sqs.change_message_visibility(
        QueueUrl=f"{sqs.meta.endpoint_url}/{account}/{name}",
        ReceiptHandle=receipt_handle,
        VisibilityTimeout=timeout_s,
    )
