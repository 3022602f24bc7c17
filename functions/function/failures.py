"""What can go wrong with the user's handler, in the words of the records; what each means is in ERROR_TYPES."""

import json
from decimal import Decimal
from typing import Any

from common.failures import Failure


class HandlerError(Failure):
    """It threw an error."""


class HandlerExited(Failure):
    """It ended its process."""


class InvalidResponse(Failure):
    """Its reply isn't JSON."""


class PartialFailure(Failure):
    """Its reply makes SQS deliver the message again."""


class HandlerTimedOut(Failure):
    """It still ran shortly before the function's timeout."""


class HandlerMissing(Failure):
    """There is no such module or function."""


def raised(error: BaseException) -> Failure:
    """What the handler raised, with its type and text."""
    if isinstance(error, Failure):  # of ours, found before the handler began
        return error
    kind = HandlerExited if isinstance(error, SystemExit) else HandlerError
    return kind(f"{type(error).__name__}: {error}")


def in_response(response: Any, message_id: str) -> Failure | None:
    """The failure that a reply is to Lambda, or to SQS for the one message of the batch, or None (Lambda guide,
    "Implementing partial batch responses")."""
    try:
        json.dumps(response, default=_as_lambda_does)
    except (TypeError, ValueError, RecursionError) as error:
        return InvalidResponse(f"{type(error).__name__}: {error}")
    failures = response.get("batchItemFailures") if isinstance(response, dict) else None
    if failures is None or failures == []:
        return None
    if failures == [{"itemIdentifier": message_id}]:
        return PartialFailure("batchItemFailures names the message")
    return PartialFailure(f"batchItemFailures must name messages of the batch only, not {json.dumps(failures)[:200]}")


def _as_lambda_does(value: Any) -> Any:
    """Lambda's own encoder takes a Decimal, and nothing else beyond JSON."""
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
