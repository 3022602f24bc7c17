"""A client of S3 that knows one operation, a GET of one object, and keeps its connections for the next message."""

import importlib.util
import os
import ssl
import time
from collections.abc import Mapping
from pathlib import Path

from common.endpoint import locate
from common.failures import AnswerError, ConnectionCut
from common.sigv4 import read_credentials, signed_headers
from download.connection import Connection, Head
from download.settings import Settings

# Enough of an error answer to hold code and message; what S3 says beyond them isn't used.
_ERROR_BODY_BYTES = 4096


class RawS3:
    """The object that the settings name. Threads may use one RawS3 at the same time, each with its own connection."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        """Raises SettingsError when AWS_ENDPOINT_URL is no URL; connects to nothing yet."""
        self._address = locate(settings.bucket, settings.key, settings.region, environ)
        self._region = settings.region
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

    def give_back(self, connection: Connection) -> None:
        """Keep a connection whose body was read to its end."""
        self._idle.append(connection)

    def get(self, connection: Connection, extra_headers: dict[str, str]) -> Head:
        """Ask for the object and return the head of S3's good answer (200 or 206), whose body is next.

        Raises AnswerError for every other answer, NoCredentials, ConnectionCut and ReadTimeout.
        """
        credentials = read_credentials(self._environ)
        headers = signed_headers(self._address.host_header, self._address.path, self._region, credentials, time.time())
        head = connection.ask(self._address.path, headers | extra_headers)
        if head.status not in (200, 206):
            raise AnswerError.from_body("GetObject", head.status, _error_body(connection, head))
        if head.length is None:
            raise ConnectionCut(f"S3's answer {head.status} doesn't say its length")
        return head


def _error_body(connection: Connection, head: Head) -> bytes:
    body = memoryview(bytearray(min(_ERROR_BODY_BYTES, _ERROR_BODY_BYTES if head.length is None else head.length)))
    count = 0
    while count < len(body) and (received := connection.receive_into(body[count:])):
        count += received
    return bytes(body[:count])


def _ca_bundle(environ: Mapping[str, str]) -> str | None:
    """Return the certificates to trust; None for Python's default, botocore's where that doesn't exist."""
    chosen = environ.get("AWS_CA_BUNDLE")
    default = ssl.get_default_verify_paths()
    if chosen or default.cafile or default.capath:
        return chosen or None
    botocore = importlib.util.find_spec("botocore")
    return str(Path(botocore.origin).with_name("cacert.pem")) if botocore and botocore.origin else None
