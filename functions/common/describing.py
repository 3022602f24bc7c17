"""Describes any failure of a message for its error record."""

import errno
import sys

from common.failures import AnswerError, Failure


def describe(error: Exception) -> tuple[str, str]:
    """Return `(error_type, message)` of any exception; error_type is in agreed/failures.json."""
    if isinstance(error, Failure):
        return type(error).__name__, str(error)
    if isinstance(error, AnswerError):
        return _describe_answer(error)
    # Only if botocore is in use: its import takes longer than a small download.
    if "botocore.exceptions" in sys.modules:
        from common import boto_failures

        translated = boto_failures.translate(error)
        if translated is not None:
            return describe(translated)
    if isinstance(error, OSError):
        return _describe_file_error(error)
    return "UnexpectedError", f"{type(error).__name__}: {error}"


_BY_STATUS = {
    403: (
        "AccessDenied",
        "the role may not read the object, or the object doesn't exist (without s3:ListBucket S3 "
        "answers 403 for a missing key too): check the role, BUCKET_NAME and the key (FILE_NAME)",
    ),
    404: (
        "NoSuchKey",
        "the object or its bucket doesn't exist: check BUCKET_NAME and the key (FILE_NAME), or "
        "upload the object",
    ),
    503: ("SlowDown", "S3 throttled every attempt: lower the concurrency or wait for S3 to scale"),
}


def _describe_answer(error: AnswerError) -> tuple[str, str]:
    """Describe an error answer by its HTTP status: an answer to a HEAD has no body, so no code."""
    code = "" if error.code == str(error.status) else error.code
    answer = f"{error.operation} {error.status} {code}".rstrip()
    other = ("S3Error", error.detail or "S3 gave no details")
    error_type, advice = _BY_STATUS.get(error.status, other)
    return error_type, f"{answer}: {advice}"


def _describe_file_error(error: OSError) -> tuple[str, str]:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            "NoSpace",
            "the temporary folder is full: raise ephemeral_storage_mb above the total size of "
            "files written at once",
        )
    return "FileError", f"{type(error).__name__}: {error}"
