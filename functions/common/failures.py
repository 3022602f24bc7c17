"""What can go wrong with one message, and the word that its error record uses for it.

`ERROR_TYPES` is the whole vocabulary of `error_type`: saved queries group by these words, so a new failure gets a new
line here first, and in `functions/agreed/failures.json`, which the tests of both languages compare with. What S3 or the
network answered stays readable in `error_message`.
"""

import re

ERROR_TYPES = {
    "WorkOrderError": "the message body isn't valid; run_id, cell and seq are null",
    "SettingsError": "the function's environment is incomplete or wrong; keys that come from it are null",
    "StartTooLate": "start_at_ms is later than this invocation can wait",
    "DeadlineExceeded": "the download would have outlasted the function's timeout and was stopped before it",
    "PreviousDownloadRunning": "an earlier download that was stopped still holds a connection in this sandbox",
    "NoSuchKey": "404: the object, or its bucket, doesn't exist",
    "AccessDenied": "403: the role may not read the object, or the object doesn't exist",
    "SlowDown": "503 after all retries",
    "S3Error": "any other error answer of S3; its code and status are in the message",
    "NoConnection": "S3 can't be reached: no connection, TLS refused",
    "ConnectionCut": "the connection ended before the body did, after all retries",
    "ReadTimeout": "S3 sent no byte for the read timeout, after all retries",
    "NoCredentials": "no usable credentials",
    "ObjectChanged": "the object, or file, was replaced or changed while it was read",
    "SizeMismatch": "the bytes received aren't those that S3 announced or the message expects",
    "ChecksumMismatch": "the bytes received don't have the checksum that the message expects or S3 sent",
    "NoMemory": "the object doesn't fit into the function's memory, which the sink `memory` needs",
    "NoData": "there is nothing to read: nothing is mounted, or the folder or the prefix is empty",
    "NoSuchBucket": "404 of a copy or a listing: the bucket doesn't exist",
    "ObjectTooLarge": "the object is above 5 GB, the most that one CopyObject takes",
    "ObjectArchived": "the source object is in an archive class and must be restored before it can be copied",
    "ObjectDiffers": "another object already has the destination's key, so nothing was copied over it",
    "ObjectNotComparable": "an object of the same size has the destination's key, and nothing to compare it by",
    "DestinationNotEmpty": "objects remained, or appeared again, after the destination was emptied",
    "MalformedRow": "a line of a manifest that isn't a valid row",
    "RowRefused": "a row that is never copied: a key too long, a destination outside its prefix or equal to the source",
    "NotBegun": "the copy stopped before this row was done",
    "UnsafePath": "a key or a link points outside its folder, or two keys map to one file: none of it was written",
    "NoSpace": "the temporary folder is full",
    "FileError": "the temporary file can't be created or written for another reason",
    "QueryFailed": "Athena couldn't run the query; its reason is in the message",
    "QueryCancelled": "the query was cancelled, by the caller or in Athena",
    "QueryTimedOut": "the query exceeded its time limit and was stopped",
    "WrongResult": "the query's result doesn't match the content of the objects",
    "HandlerError": "the handler threw an error; its type and text are in the message",
    "HandlerExited": "the handler ended its process, as sys.exit does",
    "InvalidResponse": "the handler's reply can't be written as JSON",
    "ResponseTooLarge": "the handler's reply is larger than Lambda takes",
    "PartialFailure": "the handler's batchItemFailures name the message, or aren't valid, so that SQS redelivers it",
    "HandlerTimedOut": "the handler still ran shortly before the function's timeout",
    "HandlerMissing": "the handler's module can't be imported, or doesn't have that function",
    "UnexpectedError": "none of the above: a defect to report; the message names the exception",
}


class Failure(Exception):
    """A failure found by this function itself; its `error_type` is the name of the subclass, unless it is given."""

    def __init__(self, message: str, error_type: str = "") -> None:
        super().__init__(message)
        self.error_type = error_type or type(self).__name__


class StartTooLate(Failure):
    """See ERROR_TYPES."""


class DeadlineExceeded(Failure):
    """See ERROR_TYPES."""


class PreviousDownloadRunning(Failure):
    """See ERROR_TYPES."""


class ObjectChanged(Failure):
    """See ERROR_TYPES."""


class SizeMismatch(Failure):
    """See ERROR_TYPES."""


class NoConnection(Failure):
    """See ERROR_TYPES."""


class ConnectionCut(Failure):
    """See ERROR_TYPES."""


class ReadTimeout(Failure):
    """See ERROR_TYPES."""


class NoCredentials(Failure):
    """See ERROR_TYPES."""


class NoData(Failure):
    """See ERROR_TYPES."""


class UnsafePath(Failure):
    """See ERROR_TYPES."""


class ChecksumMismatch(Failure):
    """See ERROR_TYPES."""


class NoMemory(Failure):
    """See ERROR_TYPES."""


class AnswerError(Exception):
    """S3 answered with an error: `status` is HTTP's, `code` S3's or empty, `detail` what else is known."""

    def __init__(self, operation: str, status: int, code: str, detail: str = "") -> None:
        super().__init__(f"{operation} {status} {code} {detail}")
        self.operation, self.status, self.code, self.detail = operation, status, code, detail

    @classmethod
    def from_body(cls, operation: str, status: int, body: bytes) -> "AnswerError":
        """Return the error with the code and the message that the beginning of S3's XML answer holds."""
        matches = [re.search(rb"<%s>([^<]{1,300})</%s>" % (tag, tag), body) for tag in (b"Code", b"Message")]
        code, message = (match[1].decode("utf-8", "replace") if match else "" for match in matches)
        return cls(operation, status, code, message)
