"""A loopback endpoint in AWS's stead, which has some services and lacks others."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WHO = "<Arn>arn:aws:iam::000000000000:root</Arn><UserId>U</UserId><Account>000000000000</Account>"
BUCKETS = "<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>"
DIRECTORY_BUCKETS = "<ListAllMyDirectoryBucketsResult><Buckets/></ListAllMyDirectoryBucketsResult>"
ANSWERS = {
    "sts": f"<R><GetCallerIdentityResult>{WHO}</GetCallerIdentityResult></R>",
    "s3": BUCKETS,
    "s3express": BUCKETS,
    "iam": "<R><ListRolesResult><Roles/></ListRolesResult></R>",
    "ec2": "<R><reservationSet/>"
    "<instanceTypeSet><item><instanceType>m5a.8xlarge</instanceType></item></instanceTypeSet></R>",
}
LIMITS = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}


class EndpointStub:
    """Answers for every service but those in `lacks` (501, as LocalStack) and in `refuse` (403); `answers` replace
    bodies, and `info` is what LocalStack says of itself, None for something else."""

    def __init__(self, *, lacks=(), refuse=(), answers=(), info=None):
        self.lacks, self.refuse, self.answers, self.info = set(lacks), set(refuse), ANSWERS | dict(answers), info

    def answer(self, path, headers):
        """Status and body for one request."""
        if path == "/_localstack/info":
            return (404, "{}") if self.info is None else (200, json.dumps(self.info))
        service = re.search(r"/([a-z0-9-]+)/aws4_request", headers["Authorization"])[1]
        asked = {service, headers.get("X-Amz-Target", "").rpartition(".")[2]}
        if asked & self.lacks:
            return 501, '{"__type": "InternalFailure", "message": "not yet implemented or pro feature"}'
        if asked & self.refuse:
            return 403, '{"__type": "AccessDeniedException", "message": "not for you"}'
        if "/account-settings" in path:
            return 200, json.dumps({"AccountLimit": LIMITS, "AccountUsage": {}})
        if path.endswith("/concurrency"):
            return 200, "{}"
        return 200, self.answers.get(service, '{"Functions": []}')

    def __enter__(self):
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, body = stub.answer(self.path.partition("?")[0], self.headers)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
