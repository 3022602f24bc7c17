"""An S3 with one bucket in memory: ranges of objects, listings, copies, uploads in parts,
deletions, and faults.

Its clients are real ones over real HTTP. `Faults` says what goes wrong; `requests` and `calls` are
what came in.
"""

from __future__ import annotations

import base64
import functools
import html
import random
import re
import ssl
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from tests.fakes.loopback import ConnectionCut, Loopback, Request

BUCKET = "stampede-test"
KEY = "folder/sample_large_file.dat"
ALWAYS = 1_000_000
Answer = tuple[int, dict[str, str], bytes | Iterable[bytes]]


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
    another_range: bool = False  # a 206 for what begins a byte later
    close_connections: int = 0
    cut_listings: int = 0
    keys_a_page: int = 1000
    is_listing_whole: bool = False  # with a length instead of in chunks
    lost_after_listing: str = ""
    endless_listing: bool = False
    # By operation, status and code of the errors that its first calls end with.
    refuse: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    puts_until_denied: int | None = None
    damaged_part: int | None = None  # the number of the part that loses a bit on its way
    lose_completion: bool = False  # the upload is completed, and the answer is an error
    region: str = ""  # the bucket's, as HeadBucket tells it


@dataclass
class Upload:
    """A multipart upload: its key, the headers that it was created with, its parts."""

    key: str
    headers: dict[str, str] = field(default_factory=dict)
    parts: dict[int, bytes] = field(default_factory=dict)


@functools.lru_cache(maxsize=4)
def content_of(object_bytes: int) -> bytes:
    """The same bytes for the same size; most tests ask for one of few sizes."""
    return random.Random(object_bytes).randbytes(object_bytes)


def crc32(body: bytes) -> str:
    """As S3 writes it."""
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


class FakeS3(Loopback):
    """`objects`: {key: body}, `metadata`: {key: headers}; `calls`: (operation, key) in order."""

    def __init__(
        self,
        object_bytes: int | None = None,
        faults: Faults | None = None,
        tls: ssl.SSLContext | None = None,
        objects: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(tls)
        self.objects = dict(objects or {})
        if objects is None and object_bytes is not None:
            self.objects[KEY] = content_of(object_bytes)
        self.metadata: dict[str, dict[str, str]] = {}
        self.uploads: dict[str, Upload] = {}
        self.completed = ""  # the body of the last completion
        self.faults = faults or Faults()
        self.requests: list[Request] = []
        self.calls: list[tuple[str, str]] = []
        self.generation = 1
        self._lock = threading.Lock()

    @property
    def body(self) -> bytes:
        """The object of a bucket that was made with one."""
        return self.objects[KEY]

    @body.setter
    def body(self, body: bytes) -> None:
        self.objects[KEY] = body

    def count(self, operation: str) -> int:
        """Return how many calls of an operation came in."""
        return sum(called == operation for called, _ in self.calls)

    def use_up(self, counter: str) -> bool:
        """Take one from a counter of the faults; False when there's nothing left."""
        with self._lock:
            left = getattr(self.faults, counter)
            setattr(self.faults, counter, max(0, left - 1))
            return left > 0

    def answer(self, request: Request) -> Answer:
        _, _, key = unquote(request.path).removeprefix("/").partition("/")
        operation = _operation(request)
        with self._lock:
            self.requests.append(request)
            self.calls.append((operation, key))
            replaced_after = self.faults.replace_after_gets
            if replaced_after is not None and self.count("GetObject") > replaced_after:
                self.generation = 2
            errors = self.faults.refuse.get(operation)
            error = errors.pop(0) if errors else None
        if error:
            return self._error(*error)
        if operation == "HeadObject" and not key:  # HeadBucket, rather
            return (
                200,
                {"x-amz-bucket-region": self.faults.region} if self.faults.region else {},
                b"",
            )
        if operation in ("HeadObject", "GetObject", "ListObjectsV2"):
            return self._read(request, key)
        return getattr(self, f"_{operation}")(request, key)

    # Reading

    def _read(self, request: Request, key: str) -> Answer:
        faults, is_listing = self.faults, "list-type" in request.query
        if not is_listing and key not in self.objects:
            return self._error(404, "NoSuchKey")
        if faults.status is not None:
            return self._error(faults.status, faults.error_code)
        if self.use_up("slow_down_heads" if request.method == "HEAD" else "slow_down_gets"):
            return self._error(503, "SlowDown")
        if (
            not faults.ignore_if_match
            and request.headers.get("If-Match", self._etag()) != self._etag()
        ):
            return self._error(412, "PreconditionFailed")
        return self._listing(request.query) if is_listing else self._object(request, key)

    def _etag(self) -> str:
        return f'"generation-{self.generation}"'

    def _error(self, status: int, code: str) -> Answer:
        content = (
            f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code>'
            "<Message>Injected by the test.</Message>"
            f"<ActualObjectSize>{len(self.objects.get(KEY, b''))}</ActualObjectSize></Error>"
        )
        return status, {"Content-Type": "application/xml"}, content.encode()

    def listed_keys(self, prefix: str, is_first_page: bool) -> list[str]:
        """The keys of a listing, in its order."""
        return sorted(key for key in self.objects if key.startswith(prefix))

    def _listing(self, query: Mapping[str, str]) -> Answer:
        faults, first = self.faults, int(query.get("continuation-token", "0"))
        keys = self.listed_keys(query.get("prefix", ""), "continuation-token" not in query)
        page = keys[first : first + faults.keys_a_page]
        contents = "".join(
            f"<Contents><Key>{quote(key)}</Key><ETag>{html.escape(self._etag())}</ETag>"
            f"<LastModified>2025-01-01T00:00:0{self.generation}.000Z</LastModified>"
            f"<Size>{len(self.objects.get(key, b''))}</Size></Contents>"
            for key in page
        )
        more = "true" if first + len(page) < len(keys) or faults.endless_listing else "false"
        token = "1" if faults.endless_listing else str(first + len(page))
        body = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>{more}</IsTruncated>{contents}<EncodingType>url</EncodingType>"
            f"<NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>"
        ).encode()
        self.objects.pop(faults.lost_after_listing, None)
        headers = {"Content-Type": "application/xml"}
        if faults.is_listing_whole:
            headers["Content-Length"] = str(len(body))
        else:
            headers["Transfer-Encoding"] = "chunked"
            pieces = [body[at : at + 100] for at in range(0, len(body), 100)] + [b""]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        return 200, headers, self._half(body) if self.use_up("cut_listings") else [body]

    def _object(self, request: Request, key: str) -> Answer:
        faults, body = self.faults, self.objects[key]
        headers = {
            "ETag": self._etag(),
            "Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT",
            **self.metadata.get(key, {}),
        }
        size, status = len(body), 200
        if (
            part := re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        ) and not faults.ignore_range:
            first, last = int(part[1]), min(int(part[2] or size), size - 1)
            if first >= size:
                return self._error(416, "InvalidRange")
            if faults.another_range:
                first, last = first + 1, min(last + 1, size - 1)
            status, body = 206, body[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        elif request.method == "GET":
            headers["x-amz-checksum-crc32"] = crc32(body)
        if request.method == "HEAD":
            length = size if faults.head_announces_bytes is None else faults.head_announces_bytes
        else:
            length = len(body) + faults.get_announces_extra_bytes
        return status, headers | {"Content-Length": str(length)}, self._pieces(body)

    def _pieces(self, body: bytes) -> Iterator[bytes]:
        faults = self.faults
        if faults.corrupt_body:
            body = bytes([body[0] ^ 1]) + body[1:]
        if self.use_up("cut_bodies"):
            yield from self._half(body)
        sent = 0
        # Bounded: every round sends at least one byte, and the end of the test stops it.
        while sent < len(body) and not self.stopping.is_set():
            piece = faults.trickle_bytes or len(body)
            yield body[sent : sent + piece]
            sent += piece
            if faults.trickle_bytes is not None:
                self.stopping.wait(faults.trickle_pause_s)
        if (
            self.stopping.is_set()
            or faults.get_announces_extra_bytes
            or self.use_up("close_connections")
        ):
            raise ConnectionCut

    def _half(self, body: bytes) -> Iterator[bytes]:
        yield body[: len(body) // 2]
        raise ConnectionCut

    # Writing

    def _PutObject(self, request: Request, key: str) -> Answer:
        if (
            self.faults.puts_until_denied is not None
            and self.count("PutObject") > self.faults.puts_until_denied
        ):
            return self._error(403, "AccessDenied")
        if request.headers.get("x-amz-checksum-crc32") != crc32(request.body):
            return self._error(400, "BadDigest")
        self._store(key, request.body, request.headers)
        return 200, {}, b""

    def _store(self, key: str, body: bytes, headers: Mapping[str, str]) -> None:
        self.objects[key] = body
        lower = {name.lower(): value for name, value in headers.items()}
        self.metadata[key] = {
            name: value for name, value in lower.items() if name.startswith("x-amz-meta-")
        }

    def _CopyObject(self, request: Request, key: str) -> Answer:
        assert request.headers["x-amz-metadata-directive"] == "COPY"
        _, _, source = unquote(request.headers["x-amz-copy-source"]).partition("/")
        self._store(key, self.objects[source], self.metadata[source])
        return 200, {}, b"<CopyObjectResult><ETag>e</ETag></CopyObjectResult>"

    def _DeleteObjects(self, request: Request, key: str) -> Answer:
        errors = ""
        for name in map(html.unescape, re.findall("<Key>(.*?)</Key>", request.body.decode())):
            if code := self.keeps(name):
                key = f"<Key>{html.escape(name)}</Key>"
                errors += f"<Error>{key}<Code>{code}</Code><Message>no</Message></Error>"
            else:
                self.objects.pop(name, None)
        return 200, {}, f"<DeleteResult>{errors}</DeleteResult>".encode()

    def keeps(self, key: str) -> str:
        """The code of the error with which an object isn't deleted, "" for one that goes."""
        return ""

    # Uploads in parts

    def _CreateMultipartUpload(self, request: Request, key: str) -> Answer:
        name = f"u{len(self.calls)}"
        self.uploads[name] = Upload(
            key, {header.lower(): value for header, value in request.headers.items()}
        )
        root = "InitiateMultipartUploadResult"
        body = f"<{root}><UploadId>{name}</UploadId></{root}>"
        return 200, {}, body.encode()

    def _UploadPart(self, request: Request, key: str) -> Answer:
        number, body = int(request.query["partNumber"]), request.body
        if number == self.faults.damaged_part:
            body = body[:-1] + bytes([body[-1] ^ 1])
        if request.headers.get("x-amz-checksum-crc32") != crc32(body):
            return self._error(400, "BadDigest")
        self.uploads[request.query["uploadId"]].parts[number] = body
        return 200, {"ETag": f'"e{number}"', "x-amz-checksum-crc32": crc32(body)}, b""

    def _CompleteMultipartUpload(self, request: Request, key: str) -> Answer:
        upload = self.uploads.pop(request.query["uploadId"], None)
        if upload is None:
            return self._error(404, "NoSuchUpload")
        self.completed = request.body.decode()
        self._store(
            key, b"".join(upload.parts[number] for number in sorted(upload.parts)), upload.headers
        )
        if self.faults.lose_completion:
            return self._error(500, "InternalError")
        return 200, {}, b"<CompleteMultipartUploadResult/>"

    def _AbortMultipartUpload(self, request: Request, key: str) -> Answer:
        self.uploads.pop(request.query["uploadId"], None)
        return 204, {}, b""

    def _ListMultipartUploads(self, request: Request, key: str) -> Answer:
        """One upload a page."""
        names = [
            name
            for name in sorted(self.uploads)
            if name > request.query.get("upload-id-marker", "")
        ]
        body = f"<IsTruncated>{str(len(names) > 1).lower()}</IsTruncated>"
        if names:
            key = self.uploads[names[0]].key
            body += f"<NextKeyMarker>{key}</NextKeyMarker>"
            body += f"<NextUploadIdMarker>{names[0]}</NextUploadIdMarker>"
            body += f"<Upload><Key>{key}</Key><UploadId>{names[0]}</UploadId></Upload>"
        return 200, {}, f"<ListMultipartUploadsResult>{body}</ListMultipartUploadsResult>".encode()


def completed_checksums(text: str) -> list[str]:
    """The parts' checksums that a completion names, in order."""
    return re.findall("<ChecksumCRC32>([^<]*)</ChecksumCRC32>", text)


def _operation(request: Request) -> str:
    """The operation's name in the API reference."""
    query = request.query
    if request.method == "GET":
        if "list-type" in query:
            return "ListObjectsV2"
        return "ListMultipartUploads" if "uploads" in query else "GetObject"
    if request.method == "POST":
        if "delete" in query:
            return "DeleteObjects"
        return "CreateMultipartUpload" if "uploads" in query else "CompleteMultipartUpload"
    if request.method == "PUT":
        if "partNumber" in query:
            return "UploadPart"
        return "CopyObject" if "x-amz-copy-source" in request.headers else "PutObject"
    return {"HEAD": "HeadObject", "DELETE": "AbortMultipartUpload"}[request.method]
