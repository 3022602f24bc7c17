"""A loopback stand-in for the three CloudWatch Logs calls of a query, since no emulator here evaluates one."""

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LogsStub:
    """Answers StartQuery, GetQueryResults and StopQuery; `calls` holds (operation, request) in order.

    `statuses` are given one after the other, the last one again and again; `rows` are those of the result, as
    dictionaries; with `page_rows` they come in pages of so many. `arrived` answers the count of arrived records.
    `errors` holds, for an operation, what its first calls end with: error codes, or "code: message". A `silent` stub
    closes every connection.
    """

    def __init__(
        self,
        statuses: list[str],
        rows: list[dict[str, str]],
        page_rows: int = 10_000,
        arrived: int = 0,
        errors: dict[str, list[str]] | None = None,
        silent: bool = False,
    ):
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._statuses, self._rows, self._page_rows, self._arrived = statuses, rows, page_rows, arrived
        self._queries: list[str] = []
        self._asked = 0
        self.silent = silent
        self._errors = errors or {}
        self._hooks: dict[str, Callable[[], None]] = {}
        self._failing_pages: tuple[int, str] | None = None

    def on_call(self, operation: str, hook: Callable[[], None]) -> None:
        """Calls `hook` when the operation is next asked for."""
        self._hooks[operation] = hook

    def fail_from_page(self, number: int, code: str) -> None:
        """Pages of a result from this one on, counted from 1, end with the error code."""
        self._failing_pages = (number, code)

    def answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((operation, request))
        if hook := self._hooks.pop(operation, None):
            hook()
        if codes := self._errors.get(operation):
            return _error(codes.pop(0))
        if operation == "StartQuery":
            self._queries.append(request["queryString"])
            self._asked = 0
            return {"queryId": f"q-{len(self._queries)}"}
        if operation == "StopQuery":
            return {"success": True}
        return self._results(request)

    def requests(self, operation: str) -> list[dict[str, Any]]:
        return [request for called, request in self.calls if called == operation]

    def _results(self, request: dict[str, Any]) -> dict[str, Any]:
        rows = [{"arrived": str(self._arrived)}] if "as arrived" in self._queries[-1] else self._rows
        if "nextToken" in request:
            return self._page(rows, int(request["nextToken"]))
        status = self._statuses[min(self._asked, len(self._statuses) - 1)]
        self._asked += 1
        return self._page(rows, 0) if status == "Complete" else {"status": status, "results": []}

    def _page(self, rows: list[dict[str, str]], first: int) -> dict[str, Any]:
        last = first + self._page_rows
        if self._failing_pages and first // self._page_rows + 1 >= self._failing_pages[0]:
            return _error(self._failing_pages[1])
        fields = [[{"field": name, "value": value} for name, value in row.items()] for row in rows[first:last]]
        more = {"nextToken": str(last)} if last < len(rows) else {}
        return {"status": "Complete", "results": fields, "statistics": {"bytesScanned": 2.5e6}} | more


def _error(text: str) -> dict[str, Any]:
    code, _, message = text.partition(": ")
    return {"__type": code, "message": message or "in the words of the service"}


@contextmanager
def serving(stub: LogsStub):
    """The stub on loopback; gives its endpoint URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if stub.silent:
                return
            body = json.dumps(stub.answer(self.headers["X-Amz-Target"].split(".")[1], request)).encode()
            self.send_response(400 if b"__type" in body[:10] else 200)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # a client that went away, after Ctrl-C, is no error of the stub
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
