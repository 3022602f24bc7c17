"""What can go wrong with the user's handler, in words of ERROR_TYPES."""

import json
from decimal import Decimal
from typing import Any

from common.failures import Failure


def raised(error: BaseException) -> Failure:
    """What the handler raised, with its type and text."""
    if isinstance(error, Failure):  # of ours, found before the handler began
        return error
    kind = "HandlerExited" if isinstance(error, SystemExit) else "HandlerError"
    return Failure(f"{type(error).__name__}: {error}", kind)


def in_response(response: Any, message_id: str) -> Failure | None:
    """The failure that a reply is to Lambda, or to SQS for the one message of the batch, or None (Lambda guide,
    "Implementing partial batch responses")."""
    try:
        json.dumps(response, default=_as_lambda_does)
    except (TypeError, ValueError, RecursionError) as error:
        return Failure(f"{type(error).__name__}: {error}", "InvalidResponse")
    failures = response.get("batchItemFailures") if isinstance(response, dict) else None
    if failures in (None, []):
        return None
    if failures == [{"itemIdentifier": message_id}]:
        return Failure("batchItemFailures names the message", "PartialFailure")
    named = json.dumps(failures, default=_as_lambda_does)[:200]
    return Failure(f"batchItemFailures must name messages of the batch only, not {named}", "PartialFailure")


def _as_lambda_does(value: Any) -> Any:
    """Lambda's own encoder takes a Decimal, and nothing else beyond JSON."""
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
