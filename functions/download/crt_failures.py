"""Translates the errors of the AWS Common Runtime into failures."""

import errno
from typing import Any

from common.failures import (
    AnswerError,
    ChecksumMismatch,
    ConnectionCut,
    Failure,
    NoConnection,
    NoCredentials,
    ObjectChanged,
    ReadTimeout,
)

# Beginnings of the runtime's error names. The first match counts.
_BY_NAME: tuple[tuple[type[Failure], tuple[str, ...]], ...] = (
    (ObjectChanged, ("AWS_ERROR_S3_OBJECT_MODIFIED",)),
    (ChecksumMismatch, ("AWS_ERROR_S3_RESPONSE_CHECKSUM_MISMATCH",)),
    (
        ReadTimeout,
        ("AWS_ERROR_HTTP_RESPONSE_FIRST_BYTE_TIMEOUT", "AWS_ERROR_HTTP_CHANNEL_THROUGHPUT_FAILURE"),
    ),
    (
        NoConnection,
        (
            "AWS_IO_SOCKET_CONNECTION_REFUSED",
            "AWS_IO_SOCKET_TIMEOUT",
            "AWS_IO_SOCKET_NO_ROUTE_TO_HOST",
            "AWS_IO_DNS",
            "AWS_IO_TLS",
        ),
    ),
    (NoCredentials, ("AWS_AUTH_",)),
    (ConnectionCut, ("AWS_IO_", "AWS_ERROR_HTTP_", "AWS_ERROR_S3_INCORRECT_CONTENT_LENGTH")),
)
# Answers that the runtime reports without their status: retried ones, and one for another range.
_ANSWERS: dict[str, tuple[int, str, str]] = {
    "AWS_ERROR_S3_SLOW_DOWN": (503, "SlowDown", ""),
    "AWS_ERROR_S3_INTERNAL_ERROR": (500, "InternalError", "S3 gave this answer to every attempt"),
    "AWS_ERROR_DEST_COPY_TOO_SMALL": (
        200,
        "",
        "the answer is for another range than the one requested",
    ),
}


def translate(error: Exception, details: dict[str, Any]) -> Exception:
    """Return the failure for an error of the runtime; the error itself if there is none.

    `details` are the runtime's other results of the request.
    """
    status = getattr(error, "status_code", None)
    if status is not None and status >= 300:
        body = getattr(error, "body", None) or details.get("error_body") or b""
        operation = getattr(error, "operation_name", None) or "GetObject"
        return AnswerError.from_body(operation, status, body)
    name = getattr(error, "name", "")
    if name in _ANSWERS:
        return AnswerError("GetObject", *_ANSWERS[name])
    if name in ("AWS_ERROR_FILE_WRITE_FAILURE", "AWS_ERROR_NO_SPACE"):
        return OSError(errno.ENOSPC, str(error))
    for failure, beginnings in _BY_NAME:
        if name.startswith(beginnings):
            return failure(str(error))  # begins with the name
    return error
