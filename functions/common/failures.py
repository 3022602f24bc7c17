"""What can go wrong with one message, in the words of `error_type`.

Saved queries group by these words, so a new failure gets a line in `functions/agreed/failures.json`
first, which the tests of both languages compare with; docs/troubleshooting.md says what each means.
What S3 or the network answered stays readable in `error_message`.
"""

import re


class Failure(Exception):
    """A failure found by this function itself; its `error_type` is the name of the subclass."""


class StartTooLate(Failure):
    """start_at_ms is later than this invocation can wait."""


class DeadlineExceeded(Failure):
    """The operation would have outlasted the function's timeout and was stopped before it."""


class PreviousDownloadRunning(Failure):
    """An earlier operation that was stopped still holds a connection in this sandbox."""


class ObjectChanged(Failure):
    """The object, or file, was replaced or changed while it was read."""


class SizeMismatch(Failure):
    """The bytes received aren't those that S3 announced or the message expects."""


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
    """A key or a link points outside its folder, or two keys map to one file: none of it was
    written."""


class ChecksumMismatch(Failure):
    """The bytes received don't have the checksum that the message expects or S3 sent."""


class NoMemory(Failure):
    """The object doesn't fit into the function's memory, which the sink `memory` needs."""


class AnswerError(Exception):
    """S3 answered with an error: `status` is HTTP's, `code` S3's or empty, `detail` what else is
    known."""

    def __init__(self, operation: str, status: int, code: str, detail: str = "") -> None:
        super().__init__(f"{operation} {status} {code} {detail}")
        self.operation, self.status, self.code, self.detail = operation, status, code, detail

    @classmethod
    def from_body(cls, operation: str, status: int, body: bytes) -> "AnswerError":
        """Return the error with the code and the message that the beginning of S3's XML answer
        holds."""
        matches = [
            re.search(rb"<%s>([^<]{1,300})</%s>" % (tag, tag), body)
            for tag in (b"Code", b"Message")
        ]
        code, message = (match[1].decode("utf-8", "replace") if match else "" for match in matches)
        return cls(operation, status, code, message)
