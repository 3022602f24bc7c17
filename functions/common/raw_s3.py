"""A client of S3 that only reads: objects, and listings of them. It keeps its connections for the next message."""

import importlib.util
import os
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from common.connection import Connection, Head
from common.endpoint import encoded, locate
from common.failures import AnswerError, ConnectionCut
from common.measurement import Measurement
from common.sigv4 import read_credentials, signed_headers

# Enough of an error answer to hold code and message; what S3 says beyond them isn't used.
_ERROR_BODY_BYTES = 4096


class RawS3:
    """One bucket. Threads may use one RawS3 at the same time, each with its own connection."""

    def __init__(self, bucket: str, region: str, environ: Mapping[str, str] = os.environ) -> None:
        """Raises SettingsError when AWS_ENDPOINT_URL is no URL; connects to nothing yet."""
        self._address = locate(bucket, "", region, environ)
        self._region = region
        self._environ = environ
        self._tls = ssl.create_default_context(cafile=_ca_bundle(environ)) if self._address.is_tls else None
        self._idle: list[Connection] = []

    def connect(self) -> Connection:
        """Return a connection that is idle, or a new one; raises NoConnection."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_idle():
                return connection
            connection.close()
        return Connection(self._address, self._tls)

    @contextmanager
    def request(self, measurement: Measurement, *, is_retry: bool) -> Iterator[Connection]:
        """Give a connection for one request, which is counted, and interrupted when the measurement is stopped.

        The connection is kept for another request if the block comes to its end, with the whole body read.
        """
        measurement.raise_if_stopped()
        connection = self.connect()
        is_complete = False
        try:
            with measurement.interruptible(connection.interrupt):
                measurement.count_request(is_retry=is_retry)
                yield connection
            is_complete = True
        finally:
            if is_complete:
                self._idle.append(connection)
            else:
                connection.close()

    def get(self, connection: Connection, key: str, extra_headers: dict[str, str]) -> Head:
        """Ask for an object and return the head of S3's good answer (200 or 206), whose body is next.

        Raises AnswerError for every other answer, NoCredentials, ConnectionCut and ReadTimeout.
        """
        head = self._ask("GetObject", connection, self._address.path + encoded(key), "", extra_headers)
        if head.length is None:
            raise ConnectionCut(f"S3's answer {head.status} has no length")
        return head

    def list_page(self, connection: Connection, parameters: Mapping[str, str]) -> bytes:
        """Return the body of S3's answer to a ListObjectsV2 with these parameters, which may be empty.

        Raises what `get` raises.
        """
        given = {"list-type": "2", "encoding-type": "url"} | dict(parameters)
        query = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in sorted(given.items()))
        head = self._ask("ListObjectsV2", connection, self._address.path, query, {})
        body = _chunks(connection) if head.length is None else _receive(connection, head.length)
        if head.length is not None and len(body) < head.length:
            raise ConnectionCut(f"the connection ended at byte {len(body)} of {head.length} of the listing")
        return body

    def _ask(self, operation: str, connection: Connection, path: str, query: str, extra: dict[str, str]) -> Head:
        credentials, host = read_credentials(self._environ), self._address.host_header
        headers = signed_headers(host, path, self._region, credentials, time.time(), query)
        head = connection.ask(f"{path}?{query}" if query else path, headers | extra)
        if head.status not in (200, 206):
            longest = _ERROR_BODY_BYTES if head.length is None else min(_ERROR_BODY_BYTES, head.length)
            raise AnswerError.from_body(operation, head.status, _receive(connection, longest))
        return head


def _receive(connection: Connection, count: int) -> bytes:
    """Return the next `count` bytes of a body, fewer where the connection ends."""
    body = memoryview(bytearray(count))
    received = 0
    while received < count and (more := connection.receive_into(body[received:])):
        received += more
    return bytes(body[:received])


def _chunks(connection: Connection) -> bytes:
    """Return a whole body that comes in chunks (RFC 9112, 7.1), as a listing does because S3 writes while it looks."""
    pieces = []
    while True:
        line = connection.receive_line()
        try:
            count = int(line.partition(b";")[0], 16)
        except ValueError:
            raise ConnectionCut(f"S3's answer isn't chunked as announced: {line[:60]!a}") from None
        pieces.append(_receive(connection, count))
        if connection.receive_line():  # which raises where the connection ended before
            raise ConnectionCut(f"S3's answer has a chunk longer than its {count} bytes")
        if not count:
            return b"".join(pieces)


def _ca_bundle(environ: Mapping[str, str]) -> str | None:
    """Return the certificates to trust; None for Python's default, botocore's where that doesn't exist."""
    chosen = environ.get("AWS_CA_BUNDLE")
    default = ssl.get_default_verify_paths()
    if chosen or default.cafile or default.capath:
        return chosen or None
    botocore = importlib.util.find_spec("botocore")
    return str(Path(botocore.origin).with_name("cacert.pem")) if botocore and botocore.origin else None
