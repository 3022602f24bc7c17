"""A loopback stand-in for S3's multipart upload, with what an emulator doesn't do: damage, lost answers, refusals."""

import base64
import re
import threading
import zlib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class S3Stub:
    """One bucket with one key, whose parts must carry the CRC-32 that the upload was created with, as on S3.

    `calls` are names in order. `refuse` holds, for a name, (status, code) of the errors that its first calls end with.
    `damaged_part` is the number of a part that loses a bit on the way. With `lose_completion` the upload is completed
    and the answer is an error. `leftovers` are ids of unfinished uploads, listed one a page.
    """

    def __init__(self, refuse=None, damaged_part=None, lose_completion=False, leftovers=()):
        self.calls, self.created, self.completed, self.metadata = [], {}, "", {}
        self.parts: dict[int, bytes] = {}
        self.object: bytes | None = None
        self.leftovers = list(leftovers)
        self._refuse, self._damaged, self._lose = refuse or {}, damaged_part, lose_completion

    def answer(self, method, query, headers, body):
        name = _name(method, query)
        self.calls.append(name)
        if errors := self._refuse.get(name):
            return _error(*errors.pop(0))
        return getattr(self, f"_{name}")(query, headers, body)

    def _head(self, query, headers, body):
        if self.object is None:
            return 404, b"", {}
        return 200, self.object, self.metadata

    def _create(self, query, headers, body):
        self.created = {name.lower(): value for name, value in headers.items()}
        self.metadata = {name: value for name, value in self.created.items() if name.startswith("x-amz-meta-")}
        return 200, b"<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>", {}

    def _part(self, query, headers, body):
        number = int(query["partNumber"][0])
        if number == self._damaged:
            body = body[:-1] + bytes([body[-1] ^ 1])
        if headers.get("x-amz-checksum-crc32") != crc32(body):
            return _error(400, "BadDigest")
        self.parts[number] = body
        return 200, b"", {"ETag": f'"e{number}"'}

    def _complete(self, query, headers, body):
        if self.object is not None:
            return _error(404, "NoSuchUpload")
        self.completed = body.decode()
        self.object = b"".join(self.parts[number] for number in sorted(self.parts))
        if self._lose:
            return _error(500, "InternalError")
        return 200, b"<CompleteMultipartUploadResult/>", {}

    def _abort(self, query, headers, body):
        if query["uploadId"][0] in self.leftovers:
            self.leftovers.remove(query["uploadId"][0])
        return 204, b"", {}

    def _list(self, query, headers, body):
        ids = [one for one in sorted(self.leftovers) if one > query.get("upload-id-marker", [""])[0]]
        upload = f"<Upload><Key>k</Key><UploadId>{ids[0]}</UploadId></Upload>" if ids else ""
        more = f"<NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>{ids[0]}</NextUploadIdMarker>" if ids[1:] else ""
        truncated = str(bool(ids[1:])).lower()
        text = f"<IsTruncated>{truncated}</IsTruncated>{more}{upload}"
        return 200, f"<ListMultipartUploadsResult>{text}</ListMultipartUploadsResult>".encode(), {}


def crc32(body):
    """As S3 writes it."""
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def completed_checksums(text):
    """The parts' checksums that a completion names, in order."""
    return re.findall("<ChecksumCRC32>([^<]*)</ChecksumCRC32>", text)


def _name(method, query):
    if method == "POST":
        return "create" if "uploads" in query else "complete"
    return {"HEAD": "head", "PUT": "part", "DELETE": "abort", "GET": "list"}[method]


def _error(status, code):
    return status, f"<Error><Code>{code}</Code><Message>in the words of S3</Message></Error>".encode(), {}


@contextmanager
def serving(stub):
    """The stub on loopback; gives its endpoint URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self):
            if self.headers.get("Expect"):
                self.send_response_only(100)
                self.end_headers()
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
            status, answer, headers = stub.answer(self.command, query, self.headers, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        do_HEAD = do_GET = do_PUT = do_POST = do_DELETE = _any

        def handle_expect_100(self):
            return True

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
