"""A small S3 on loopback that serves one object, or a few, and misbehaves as told.

It answers HEAD and GET (with ranges and If-Match) and lists one bucket over real HTTP, so that the whole client under
test is the real one. `Faults` says what goes wrong; `requests` is the log of what was asked.
"""

import functools
import html
import random
import re
import ssl
import sys
import threading
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote

HOST = "127.0.0.1"
BUCKET = "stampede-test"
KEY = "folder/sample_large_file.dat"
ALWAYS = 1_000_000


@dataclass
class Faults:
    """What goes wrong. Counters go down with every use; ALWAYS never ends within a test."""

    slow_down_heads: int = 0
    slow_down_gets: int = 0
    cut_bodies: int = 0
    status: int | None = None
    error_code: str = ""
    head_announces_bytes: int | None = None
    replace_after_gets: int | None = None
    ignore_if_match: bool = False
    corrupt_body: bool = False
    trickle_bytes: int | None = None
    trickle_pause_s: float = 0.05
    get_announces_extra_bytes: int = 0
    ignore_range: bool = False
    close_connections: int = 0
    cut_listings: int = 0
    keys_a_page: int = 1000
    is_listing_whole: bool = False  # with a length instead of in chunks
    lost_after_listing: str = ""
    endless_listing: bool = False


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    range: str | None
    if_match: str | None = None


@functools.lru_cache(maxsize=4)
def _content(object_bytes: int) -> bytes:
    """The same bytes for the same size; most tests ask for one of few sizes."""
    return random.Random(object_bytes).randbytes(object_bytes)


class FaultyS3:
    """The server: a context manager; `url` is the endpoint."""

    def __init__(
        self,
        object_bytes: int,
        faults: Faults | None = None,
        tls: ssl.SSLContext | None = None,
        objects: Mapping[str, bytes] | None = None,
    ) -> None:
        self.objects = {KEY: _content(object_bytes)} if objects is None else dict(objects)
        self.faults = faults or Faults()
        self.requests: list[Request] = []
        self.generation = 1
        self.connections = 0
        self.stopping = threading.Event()
        self._gets = 0
        self._lock = threading.Lock()
        self._server = _Server((HOST, 0), _handler_for(self))
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def body(self) -> bytes:
        """The one object."""
        return self.objects[KEY]

    @body.setter
    def body(self, body: bytes) -> None:
        self.objects[KEY] = body

    @property
    def url(self) -> str:
        return f"{self._scheme}://{HOST}:{self._server.server_port}"

    def __enter__(self) -> "FaultyS3":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()

    def count(self, method: str) -> int:
        """Return how many requests with this HTTP method came in."""
        return sum(request.method == method for request in self.requests)

    def note(self, request: Request) -> None:
        """Log the request, and replace the object when its time has come."""
        with self._lock:
            self.requests.append(request)
            if request.method == "GET":
                self._gets += 1
                if self.faults.replace_after_gets is not None and self._gets > self.faults.replace_after_gets:
                    self.generation = 2

    def use_up(self, counter: str) -> bool:
        """Take one from a counter of the faults; False when there's nothing left."""
        with self._lock:
            left = getattr(self.faults, counter)
            setattr(self.faults, counter, max(0, left - 1))
            return left > 0


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say what went wrong here, but not that a client hung up, which is what many tests are about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _handler_for(s3: FaultyS3) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.s3 = s3
    return Handler


class _Handler(BaseHTTPRequestHandler):
    s3: FaultyS3
    protocol_version = "HTTP/1.1"
    timeout = 30
    # Without this, small writes wait for the other side's delayed acknowledgement: 40 ms a response.
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        super().setup()
        self.s3.connections += 1

    def log_message(self, *_: object) -> None:
        """Keep the test output clean; `requests` has it all."""

    def do_HEAD(self) -> None:
        self._answer("slow_down_heads")

    def do_GET(self) -> None:
        self._answer("slow_down_gets")

    def _answer(self, slow_down_counter: str) -> None:
        faults = self.s3.faults
        self.s3.note(Request(self.command, self.path, self.headers.get("Range"), self.headers.get("If-Match")))
        # The CRT client asks for part 1 of an object that turns out to be empty: the query says nothing new.
        path, _, query = self.path.partition("?")
        key = unquote(path).removeprefix(f"/{BUCKET}").removeprefix("/")
        if "list-type" not in query and (not path.startswith(f"/{BUCKET}/") or key not in self.s3.objects):
            self._error(404, "NoSuchKey")
        elif faults.status is not None:
            self._error(faults.status, faults.error_code)
        elif self.s3.use_up(slow_down_counter):
            self._error(503, "SlowDown")
        elif not faults.ignore_if_match and self.headers.get("If-Match", self._etag()) != self._etag():
            self._error(412, "PreconditionFailed")
        elif "list-type" in query:
            self._listing({name: values[0] for name, values in parse_qs(query).items()})
        else:
            self._object(self.s3.objects[key])

    def _etag(self) -> str:
        return f'"generation-{self.s3.generation}"'

    def _error(self, status: int, code: str) -> None:
        body = b""
        if self.command == "GET":
            body = (
                f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code>'
                "<Message>Injected by the test.</Message>"
                f"<ActualObjectSize>{len(self.s3.objects.get(KEY, b''))}</ActualObjectSize></Error>"
            ).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _listing(self, asked: dict[str, str]) -> None:
        faults, first = self.s3.faults, int(asked.get("continuation-token", "0"))
        keys = sorted(key for key in self.s3.objects if key.startswith(asked.get("prefix", "")))
        page = keys[first : first + faults.keys_a_page]
        contents = "".join(
            f"<Contents><Key>{quote(key)}</Key><ETag>{html.escape(self._etag())}</ETag>"
            f"<LastModified>2025-01-01T00:00:0{self.s3.generation}.000Z</LastModified>"
            f"<Size>{len(self.s3.objects[key])}</Size></Contents>"
            for key in page
        )
        more = "true" if first + len(page) < len(keys) or faults.endless_listing else "false"
        token = "1" if faults.endless_listing else str(first + len(page))
        body = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>{more}</IsTruncated>{contents}<EncodingType>url</EncodingType>"
            f"<NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>"
        ).encode()
        self.s3.objects.pop(faults.lost_after_listing, None)
        self._send_listing(body)

    def _send_listing(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        if self.s3.faults.is_listing_whole:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Transfer-Encoding", "chunked")
            pieces = [body[at : at + 100] for at in range(0, len(body), 100)] + [b""]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        self.end_headers()
        if self.s3.use_up("cut_listings"):
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)
        self.wfile.flush()

    def _object(self, body: bytes) -> None:
        size = len(body)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if self.s3.faults.ignore_range:
            asked = None
        if asked:
            first, last = int(asked[1]), min(int(asked[2] or size), size - 1)
            if first >= size:
                self._error(416, "InvalidRange")
                return
            body = body[first : last + 1]
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("ETag", self._etag())
        self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
        if self.command == "HEAD":
            announced = self.s3.faults.head_announces_bytes
            self.send_header("Content-Length", str(size if announced is None else announced))
            self.end_headers()
            self.wfile.flush()
            return
        if not asked:
            self.send_header("x-amz-checksum-crc32", b64encode(zlib.crc32(body).to_bytes(4, "big")).decode())
        self.send_header("Content-Length", str(len(body) + self.s3.faults.get_announces_extra_bytes))
        self.end_headers()
        self._send_body(body)
        if self.s3.faults.get_announces_extra_bytes or self.s3.use_up("close_connections"):
            self.close_connection = True

    def _send_body(self, body: bytes) -> None:
        faults = self.s3.faults
        if faults.corrupt_body:
            body = bytes([body[0] ^ 1]) + body[1:]
        if self.s3.use_up("cut_bodies"):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        sent = 0
        try:
            # Bounded: every round sends at least one byte, and the end of the test stops it.
            while sent < len(body) and not self.s3.stopping.is_set():
                piece = len(body) if faults.trickle_bytes is None else faults.trickle_bytes
                self.wfile.write(body[sent : sent + piece])
                self.wfile.flush()
                sent += piece
                if faults.trickle_bytes is not None:
                    self.s3.stopping.wait(faults.trickle_pause_s)
        except OSError:
            self.close_connection = True  # the client hung up
        if self.s3.stopping.is_set():
            self.close_connection = True
