"""The failures of one message, named like the values of `error_type`.

Saved queries group by these names. Add a new one to `functions/agreed/failures.json` first: the
tests of both languages compare with it. docs/troubleshooting.md explains each. The original answer
of S3 or the network stays in `error_message`.
"""

import re


class Failure(Exception):
    """A failure whose `error_type` is the name of the subclass."""


class StartTooLate(Failure):
    """start_at_ms is later than this invocation can wait."""


class DeadlineExceeded(Failure):
    """The operation was stopped because it would have outlasted the function's timeout."""


class PreviousDownloadRunning(Failure):
    """An earlier operation that was stopped still holds a connection in this sandbox."""


class ObjectChanged(Failure):
    """The object, or file, was replaced or changed while it was read."""


class SizeMismatch(Failure):
    """The number of bytes isn't the one that S3 announced or the message expects."""


class NoConnection(Failure):
    """S3 can't be reached: no connection, TLS refused."""


class ConnectionCut(Failure):
    """The connection ended before the body did, after all retries."""


class ReadTimeout(Failure):
    """S3 sent no byte for the read timeout, after all retries."""


class NoCredentials(Failure):
    """No usable credentials."""


class NoData(Failure):
    """There is nothing to read: nothing is mounted, or the folder or the prefix is empty."""


class UnsafePath(Failure):
    """A key or link points outside its folder, or two keys map to one file. None was written."""


class ChecksumMismatch(Failure):
    """The bytes received don't have the checksum that the message expects or S3 sent."""


class NoMemory(Failure):
    """The object doesn't fit into the function's memory, as the sink `memory` requires."""


class AnswerError(Exception):
    """S3 answered with an error: HTTP's `status`, S3's `code` (may be empty), and `detail`."""

    def __init__(self, operation: str, status: int, code: str, detail: str = "") -> None:
        super().__init__(f"{operation} {status} {code} {detail}")
        self.operation, self.status, self.code, self.detail = operation, status, code, detail

    @classmethod
    def from_body(cls, operation: str, status: int, body: bytes) -> "AnswerError":
        """Return the error with the code and message in the beginning of S3's XML answer."""
        matches = [
            re.search(rb"<%s>([^<]{1,300})</%s>" % (tag, tag), body)
            for tag in (b"Code", b"Message")
        ]
        code, message = (match[1].decode("utf-8", "replace") if match else "" for match in matches)
        return cls(operation, status, code, message)
