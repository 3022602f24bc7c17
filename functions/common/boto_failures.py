"""What boto3 raises, as failures of our own vocabulary."""

import boto3.exceptions
import botocore.exceptions

from common.failures import (
    AnswerError,
    ChecksumMismatch,
    ConnectionCut,
    Failure,
    NoConnection,
    NoCredentials,
    ReadTimeout,
)

# The network classes of Python come last, but before OSError, which ConnectionError is.
_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], type[Failure]], ...] = (
    ((botocore.exceptions.FlexibleChecksumError,), ChecksumMismatch),
    (
        (
            botocore.exceptions.NoCredentialsError,
            botocore.exceptions.PartialCredentialsError,
            botocore.exceptions.CredentialRetrievalError,
        ),
        NoCredentials,
    ),
    ((botocore.exceptions.ReadTimeoutError, TimeoutError), ReadTimeout),
    (
        (
            botocore.exceptions.EndpointConnectionError,
            botocore.exceptions.ConnectTimeoutError,
            botocore.exceptions.ProxyConnectionError,
            botocore.exceptions.SSLError,
        ),
        NoConnection,
    ),
    (
        (
            botocore.exceptions.IncompleteReadError,
            botocore.exceptions.ResponseStreamingError,
            botocore.exceptions.ConnectionClosedError,
            botocore.exceptions.HTTPClientError,
            ConnectionError,
        ),
        ConnectionCut,
    ),
)


def translate(error: Exception) -> Failure | AnswerError | None:
    """Return the failure that says the same as an exception of boto3's; None when it isn't one of the network's."""
    if isinstance(error, boto3.exceptions.RetriesExceededError):
        # s3transfer's own five tries for a body; what ended the last of them says more than their number.
        last = translate(error.last_exception)
        return type(last)(f"{last} (after all retries)") if isinstance(last, Failure) else last
    if isinstance(error, botocore.exceptions.ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return AnswerError(error.operation_name, status, error.response.get("Error", {}).get("Code", ""), str(error))
    for classes, failure in _BY_CLASS:
        if isinstance(error, classes):
            return failure(f"{type(error).__name__}: {error}")
    return None
