"""Translates boto3's exceptions into failures."""

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

# The first match counts. botocore's ConnectionError is the base of errors while connecting
# (address, time, proxy, TLS), HTTPClientError of later ones.
_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], type[Failure]], ...] = (
    ((FlexibleChecksumError,), ChecksumMismatch),
    ((NoCredentialsError, PartialCredentialsError, CredentialRetrievalError), NoCredentials),
    ((ReadTimeoutError, TimeoutError), ReadTimeout),
    ((botocore.exceptions.ConnectionError,), NoConnection),
    ((IncompleteReadError, HTTPClientError, ConnectionError), ConnectionCut),
)


def translate(error: Exception) -> Failure | AnswerError | None:
    """Return the failure for an exception of boto3; None if it isn't about a request."""
    if isinstance(error, RetriesExceededError):
        # s3transfer makes five attempts at a body; the last error says more than their number.
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
