"""Lets a failed message come back after seconds instead of after the queue's visibility timeout.

That timeout is 6 x the function's, 360 s. It can't be shorter for all: AWS asks for it so that messages which Lambda
holds back while the function is throttled don't appear again meanwhile (Lambda guide, "Understanding SQS retries").
Five failed downloads of one message would cost a cell half an hour, though. SQS lets a consumer shorten the timeout
of the one message that it holds (SQS guide, ChangeMessageVisibility), and that is what happens here: by one signed
request, because importing boto3 for it would take longer than many an operation, and be in the way of a user's own.
"""

import json
import os
import re
import sys
import time

from common.endpoint import dns_suffix, take_apart
from common.sigv4 import read_credentials, signed_headers
from common.sqs_event import Message

# To connect, and again to be answered; there is one try.
CALL_TIMEOUT_S = 1
# What a slow call may take of the invocation.
CALL_S = 2.0
_QUEUE_ARN = re.compile(r"arn:[a-z0-9-]+:sqs:([a-z0-9-]+):([0-9]{12}):([A-Za-z0-9_-]{1,80})")


def delay_s(attempt: int) -> int:
    """Return the seconds until a message that failed at this attempt (1 is the first) comes back: 2, 4, 8, 16, 32."""
    return 2 ** min(attempt, 5)


def hasten(message: Message, remaining_s: float) -> None:
    """Set the timeout of a message whose record has been written; `remaining_s` is what the invocation has left.

    Never raises, and changes nothing where it can't be done: the message then comes back after the queue's timeout.
    What went wrong is a plain line on stderr, which no query takes for a record.
    """
    queue = _QUEUE_ARN.fullmatch(message.queue_arn or "")
    if queue is None or message.receipt_handle is None or remaining_s < CALL_S:
        return
    region, account, name = queue.groups()
    url = f"https://sqs.{region}.{dns_suffix(region)}"
    change = {
        "QueueUrl": f"{url}/{account}/{name}",
        "ReceiptHandle": message.receipt_handle,
        "VisibilityTimeout": delay_s(message.attempt),
    }
    try:
        endpoint = os.environ.get("AWS_ENDPOINT_URL_SQS") or os.environ.get("AWS_ENDPOINT_URL") or url
        _post(endpoint, region, json.dumps(change).encode())
    except Exception as error:  # whatever it is, the operation has its record and the message its way back
        reason = f"{type(error).__name__}: {error}".partition("{")[0]  # JSON in it could pass for a record
        late = f"message {message.message_id} comes back only after the queue's visibility timeout"
        print(f"{late}: {reason!a:.200}", file=sys.stderr)


def _post(url: str, region: str, body: bytes) -> None:
    """Send one ChangeMessageVisibility. Raises OSError and what http.client raises, or NoCredentials."""
    from http.client import HTTPConnection, HTTPSConnection  # only where something failed: it takes 20 ms

    is_tls, host, port, host_header, path = take_apart(url)
    headers = signed_headers(
        host_header,
        path or "/",
        region,
        read_credentials(os.environ),
        time.time(),
        service="sqs",
        body=body,
        target="AmazonSQS.ChangeMessageVisibility",
    )
    connection = (HTTPSConnection if is_tls else HTTPConnection)(host, port, timeout=CALL_TIMEOUT_S)
    try:
        connection.request("POST", path or "/", body, headers | {"content-type": "application/x-amz-json-1.0"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise OSError(f"SQS answered {answer.status}")
    finally:
        connection.close()
