"""The retry policy: which answers are tried again, how often and after how long.

The Go methods have the same policy; `functions/agreed/retries.json` is what the tests of both languages compare with.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from common.failures import AnswerError, ConnectionCut, NoConnection, ReadTimeout
from common.measurement import Measurement

Result = TypeVar("Result")

# Tries of one request, the first included. Standard mode waits at most 1, 2 and 4 s between four tries, so a
# request that S3 throttles every time ends well below the function's 60 s and becomes a record.
ATTEMPTS = 4


@dataclass(frozen=True)
class RetryPolicy:
    """What is tried again, how often and after how long: botocore's standard mode, also for our own HTTP.

    Statuses, codes and delays are those of botocore/retries/standard.py. Its quota across requests is left out: with
    four tries each the few requests of one download can't drain it.
    """

    mode: str = "standard"
    attempts: int = ATTEMPTS
    statuses: frozenset[int] = frozenset({500, 502, 503, 504})
    codes: frozenset[str] = frozenset(
        {
            "BandwidthLimitExceeded",
            "EC2ThrottledException",
            "LimitExceededException",
            "PriorRequestNotComplete",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
            "RequestThrottled",
            "RequestThrottledException",
            "RequestTimeout",
            "RequestTimeoutException",
            "SlowDown",
            "ThrottledException",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
            "TransactionInProgressException",
        }
    )
    first_pause_s: float = 1.0
    longest_pause_s: float = 20.0

    def applies_to(self, status: int, code: str) -> bool:
        """Whether an answer with this HTTP status and S3 error code is worth another try."""
        return status in self.statuses or code in self.codes

    def delay_s(self, retry: int) -> float:
        """Return the seconds to wait before the retry with this number (1 is the first): random, up to 1, 2, 4 s."""
        return random.random() * min(self.longest_pause_s, self.first_pause_s * 2 ** (retry - 1))


RETRIES = RetryPolicy()


def in_tries(
    measurement: Measurement, one_try: Callable[[bool], Result], brought_on: Callable[[], bool] = lambda: False
) -> Result:
    """Return what `one_try(is_retry)` gives, called again as the policy says; raises what ended the last try.

    A failed try that `brought_on` work which goes on where it ended is the first again.
    """
    number, is_retry = 1, False
    while True:
        try:
            return one_try(is_retry)
        except (ConnectionCut, ReadTimeout, NoConnection, AnswerError) as error:
            measurement.raise_if_stopped()
            is_final = isinstance(error, AnswerError) and not RETRIES.applies_to(error.status, error.code)
            if brought_on():
                number = 1
            if is_final or number >= RETRIES.attempts:
                raise
        measurement.wait(RETRIES.delay_s(number))
        number, is_retry = number + 1, True
