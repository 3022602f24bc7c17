"""What boto3 raises, as failures of our own vocabulary."""

import botocore.exceptions
from boto3.exceptions import RetriesExceededError
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
    ReadTimeoutError,
)

from common.failures import (
    AnswerError,
    ChecksumMismatch,
    ConnectionCut,
    Failure,
    NoConnection,
    NoCredentials,
    ReadTimeout,
)

# The first that fits. botocore's ConnectionError is the base of its errors of connecting (address,
# time, proxy, TLS), HTTPClientError of those after it.
_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], type[Failure]], ...] = (
    ((FlexibleChecksumError,), ChecksumMismatch),
    ((NoCredentialsError, PartialCredentialsError, CredentialRetrievalError), NoCredentials),
    ((ReadTimeoutError, TimeoutError), ReadTimeout),
    ((botocore.exceptions.ConnectionError,), NoConnection),
    ((IncompleteReadError, HTTPClientError, ConnectionError), ConnectionCut),
)


def translate(error: Exception) -> Failure | AnswerError | None:
    """Return the failure that says the same as an exception of boto3's; None when it isn't one of
    the network's."""
    if isinstance(error, RetriesExceededError):
        # s3transfer's own five tries for a body; what ended the last of them says more than their
        # number.
        last = translate(error.last_exception)
        return type(last)(f"{last} (after all retries)") if isinstance(last, Failure) else last
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return AnswerError(
            error.operation_name,
            status,
            error.response.get("Error", {}).get("Code", ""),
            str(error),
        )
    for classes, failure in _BY_CLASS:
        if isinstance(error, classes):
            return failure(f"{type(error).__name__}: {error}")
    return None
