"""Now and then AWS answers a call with "Rate exceeded", or with an error of its own."""

from __future__ import annotations

import collections
from typing import Any

from stampede.emulator.manners.manner import Answer, Call, Manner

# How each service says that calls come too fast, and that it has failed: status, code, message.
THROTTLED = {
    "athena": (400, "ThrottlingException", "Rate exceeded"),
    "ec2": (503, "RequestLimitExceeded", "Request limit exceeded."),
    "efs": (429, "ThrottlingException", "Rate exceeded"),
    "iam": (400, "Throttling", "Rate exceeded"),
    "lambda": (429, "TooManyRequestsException", "Rate exceeded"),
    "logs": (400, "ThrottlingException", "Rate exceeded"),
    "s3": (503, "SlowDown", "Please reduce your request rate."),
    "sqs": (403, "RequestThrottled", "Request is throttled."),
}
FAILED = {
    "athena": (500, "InternalServerException", "Internal server error"),
    "ec2": (500, "InternalError", "An internal error has occurred"),
    "efs": (500, "InternalServerError", "An internal error occurred."),
    "iam": (503, "ServiceUnavailable", "Service is temporarily unavailable."),
    "lambda": (500, "ServiceException", "An error occurred and the request cannot be processed."),
    "logs": (503, "ServiceUnavailableException", "The service cannot complete the request."),
    "s3": (500, "InternalError", "We encountered an internal error. Please try again."),
    "sqs": (500, "InternalFailure", "The request processing has failed because of an unknown error."),
}
# What carries data: experiments measure it, and other tests make it fail (tests/faults, bench/front).
DATA = frozenset(
    f"{name}{batch}"
    for name in ("SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "PutLogEvents")
    for batch in ("", "Batch")
)


class Throttling(Manner):
    """Control calls are throttled by what all programs of an account ask: EC2 says RequestLimitExceeded (EC2 API
    reference, Request throttling), Lambda TooManyRequestsException (15 control calls a second; quotas page), Logs
    ThrottlingException (a quota a second for each operation; quotas page). A 500 or 503 is rarer. All are to be tried
    again (AWS General Reference, Error retries and exponential backoff).
    """

    THROTTLED_SHARE, FAILED_SHARE = 0.04, 0.01

    def __init__(self, pace: Any) -> None:
        super().__init__(pace)
        self._calls: collections.Counter[str] = collections.Counter()

    def heeds(self, call: Call) -> bool:
        """All but those that carry data."""
        return call.operation not in DATA

    def before(self, call: Call) -> Answer | None:
        """Refuse some calls, by the number of their kind."""
        self._calls[call.name] += 1
        chance = self.pace.chance(call.name, self._calls[call.name])
        if chance < self.THROTTLED_SHARE:
            return call.refused(*THROTTLED[call.service])
        if chance < self.THROTTLED_SHARE + self.FAILED_SHARE:
            return call.refused(*FAILED[call.service])
        return None
