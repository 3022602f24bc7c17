"""An S3 with one bucket in memory: ranges of objects, listings, copies, multipart uploads,
deletions, and faults.

Real clients use it over real HTTP. `Faults` says what goes wrong; `requests` and `calls` record
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
READS = ("HeadObject", "GetObject", "ListObjectsV2")
ALWAYS = 1_000  # times: more than any test needs
Answer = tuple[int, dict[str, str], bytes | Iterable[bytes]]


@dataclass
class Faults:
    """What goes wrong. Each use decrements a counter."""

    # By operation, status and code of the errors of its first calls; None: no error.
    refuse: dict[str, list[tuple[int, str] | None]] = field(default_factory=dict)
    cut_bodies: int = 0
    cut_listings: int = 0
    replace_after_gets: int | None = None
    ignore_if_match: bool = False
    ignore_range: bool = False
    get_announces_extra_bytes: int = 0
    trickle_bytes: int | None = None
    trickle_pause_s: float = 0.05
    keys_a_page: int = 1000
    damaged_part: int | None = None  # number of the part that arrives with a flipped bit
    lose_completion: bool = False  # the upload completes, but the answer is an error
    region: str = "us-east-1"  # the bucket's, as HeadBucket tells it

    def __post_init__(self) -> None:
        self.refuse = {operation: list(errors) for operation, errors in self.refuse.items()}


def refused_reads(status: int, code: str, times: int = ALWAYS) -> Faults:
    """Every kind of read fails with this error, `times` times."""
    return Faults({operation: [(status, code)] * times for operation in READS})


@dataclass
class Upload:
    """A multipart upload: its key, the headers of its creation, its parts."""

    key: str
    headers: dict[str, str] = field(default_factory=dict)
    parts: dict[int, bytes] = field(default_factory=dict)


@functools.lru_cache(maxsize=4)
def content_of(object_bytes: int) -> bytes:
    """The same bytes for the same size; cached, since most tests use few sizes."""
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

    def count(self, operation: str) -> int:
        """How many calls of an operation came in."""
        return sum(called == operation for called, _ in self.calls)

    def use_up(self, counter: str) -> bool:
        """Decrements a counter of the faults; False if it is used up."""
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
        if operation == "HeadObject" and not key:  # actually HeadBucket
            return 200, {"x-amz-bucket-region": self.faults.region}, b""
        return getattr(self, f"_{operation}")(request, key)

    # Reading

    def _etag(self) -> str:
        return f'"generation-{self.generation}"'

    def _error(self, status: int, code: str) -> Answer:
        # The CRT client recognises an empty object by the content type and size.
        content = (
            f"<Error><Code>{code}</Code><Message>Injected by the test.</Message>"
            f"<ActualObjectSize>{len(self.objects.get(KEY, b''))}</ActualObjectSize></Error>"
        )
        return status, {"Content-Type": "application/xml"}, content.encode()

    def listed_keys(self, prefix: str, is_first_page: bool) -> list[str]:
        """The keys of a listing, in its order."""
        return sorted(key for key in self.objects if key.startswith(prefix))

    def _ListObjectsV2(self, request: Request, key: str) -> Answer:
        query = request.query
        first = int(query.get("continuation-token", "0"))
        keys = self.listed_keys(query.get("prefix", ""), "continuation-token" not in query)
        last = first + self.faults.keys_a_page
        contents = "".join(
            f"<Contents><Key>{quote(key)}</Key><ETag>{html.escape(self._etag())}</ETag>"
            f"<LastModified>2025-01-01T00:00:0{self.generation}.000Z</LastModified>"
            f"<Size>{len(self.objects.get(key, b''))}</Size></Contents>"
            for key in keys[first:last]
        )
        body = (
            f"<ListBucketResult><IsTruncated>{str(last < len(keys)).lower()}</IsTruncated>"
            f"{contents}<EncodingType>url</EncodingType>"
            f"<NextContinuationToken>{last}</NextContinuationToken></ListBucketResult>"
        ).encode()
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        headers = {"Transfer-Encoding": "chunked"}
        return 200, headers, self._half(chunks) if self.use_up("cut_listings") else [chunks]

    def _HeadObject(self, request: Request, key: str) -> Answer:
        faults = self.faults
        if key not in self.objects:
            return self._error(404, "NoSuchKey")
        required = request.headers.get("If-Match", self._etag())
        if required != self._etag() and not faults.ignore_if_match:
            return self._error(412, "PreconditionFailed")
        body, size, status = self.objects[key], len(self.objects[key]), 200
        headers = {"ETag": self._etag()} | self.metadata.get(key, {})
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if part and not faults.ignore_range:
            first, last = int(part[1]), min(int(part[2] or size), size - 1)
            if first >= size:
                return self._error(416, "InvalidRange")
            status, body = 206, body[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        extra = faults.get_announces_extra_bytes if request.method == "GET" else 0
        return status, headers | {"Content-Length": str(len(body) + extra)}, self._pieces(body)

    _GetObject = _HeadObject

    def _pieces(self, body: bytes) -> Iterator[bytes]:
        faults, sent = self.faults, 0
        if self.use_up("cut_bodies"):
            yield from self._half(body)
        # Bounded: every iteration sends at least one byte, and the end of the test stops it.
        while sent < len(body) and not self.stopping.is_set():
            piece = faults.trickle_bytes or len(body)
            yield body[sent : sent + piece]
            sent += piece
            if faults.trickle_bytes is not None:
                self.stopping.wait(faults.trickle_pause_s)
        if self.stopping.is_set() or faults.get_announces_extra_bytes:
            raise ConnectionCut

    def _half(self, body: bytes) -> Iterator[bytes]:
        yield body[: len(body) // 2]
        raise ConnectionCut

    # Writing

    def _PutObject(self, request: Request, key: str) -> Answer:
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
        """The error code if an object can't be deleted, otherwise ""."""
        return ""

    # Multipart uploads

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
        """One upload per page."""
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
    """The parts' checksums in a completion request, in order."""
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
