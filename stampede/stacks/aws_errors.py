"""What an error from AWS, or the lack of an answer, means for the caller: whether it passes."""

from __future__ import annotations

import re
from enum import Enum, auto

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)

THROTTLES = frozenset(
    {
        "RequestLimitExceeded",
        "RequestThrottled",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
    }
)
DENIALS = frozenset({"AccessDenied", "AccessDeniedException"})
MISSING = frozenset(
    {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "ResourceNotFoundException"}
)

# Errors that pass by themselves after an apply: a new IAM policy takes seconds, sometimes a minute,
# to spread, and so does a mount target. All but the first come before the function runs (Invoke in
# the Lambda API reference); a caller who may not invoke it gets AccessDeniedException.
AFTER_APPLY = re.compile(
    r"AccessDenied\b|EFSMount|TooManyRequestsException|ResourceConflictException|ServiceException"
)


class Kind(Enum):
    """Why a call failed. A THROTTLED call did nothing; after a FAULT of the service or the
    connection, nobody knows. Both pass. A REFUSED call may pass or not; the other kinds never
    do."""

    THROTTLED = auto()
    FAULT = auto()
    CREDENTIALS = auto()
    DENIED = auto()
    MISSING = auto()
    INVALID = auto()
    REFUSED = auto()

    @property
    def passes(self) -> bool:
        """Whether the same call may succeed later."""
        return self in (Kind.THROTTLED, Kind.FAULT)

    @property
    def is_final(self) -> bool:
        """Whether the same call will always fail."""
        return not self.passes and self is not Kind.REFUSED


def kind_of(error: BotoCoreError | ClientError) -> Kind:
    """The kind of boto3's error."""
    if isinstance(error, ClientError):
        return kind_of_answer(
            error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0), code_of(error)
        )
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return Kind.CREDENTIALS
    return Kind.INVALID if isinstance(error, ParamValidationError) else Kind.FAULT


def kind_of_answer(status: int, code: str) -> Kind:
    """The kind of an answer with this HTTP status and error code."""
    if status >= 500 or status == 408:  # 408: the service closed a connection, perhaps an idle one
        return Kind.FAULT
    if status == 429 or code in THROTTLES:
        return Kind.THROTTLED
    if code == "SignatureDoesNotMatch":
        return Kind.INVALID
    kinds = {Kind.CREDENTIALS: CREDENTIALS, Kind.DENIED: DENIALS, Kind.MISSING: MISSING}
    return next((kind for kind, codes in kinds.items() if code in codes), Kind.REFUSED)


def code_of(error: BaseException) -> str:
    """AWS's error code; "" without one, or without an answer."""
    return error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
