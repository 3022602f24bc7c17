"""CloudWatch Logs' three calls of a query, since no emulator evaluates one."""

import json
from collections.abc import Callable
from typing import Any

from tests.fakes.loopback import ConnectionCut, Loopback, Request


class FakeLogs(Loopback):
    """Answers StartQuery, GetQueryResults and StopQuery; `calls` holds (operation, request) in
    order.

    `statuses` are given one after the other, the last one again and again; `rows` are those of the
    result, as dictionaries; with `page_rows` they come in pages of so many. `arrived` answers the
    count of arrived records. `errors` holds, for an operation, what its first calls end with: error
    codes, or "code: message". A `silent` stub closes every connection.
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
        super().__init__()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._statuses, self._rows, self._page_rows, self._arrived = (
            statuses,
            rows,
            page_rows,
            arrived,
        )
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

    def answer(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        if self.silent:
            raise ConnectionCut
        answer = self._answer(request.operation, json.loads(request.body))
        status = 400 if "__type" in answer else 200
        return status, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(answer).encode()

    def _answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
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
        rows = (
            [{"arrived": str(self._arrived)}] if "as arrived" in self._queries[-1] else self._rows
        )
        if "nextToken" in request:
            return self._page(rows, int(request["nextToken"]))
        status = self._statuses[min(self._asked, len(self._statuses) - 1)]
        self._asked += 1
        return self._page(rows, 0) if status == "Complete" else {"status": status, "results": []}

    def _page(self, rows: list[dict[str, str]], first: int) -> dict[str, Any]:
        last = first + self._page_rows
        if self._failing_pages and first // self._page_rows + 1 >= self._failing_pages[0]:
            return _error(self._failing_pages[1])
        fields = [
            [{"field": name, "value": value} for name, value in row.items()]
            for row in rows[first:last]
        ]
        more = {"nextToken": str(last)} if last < len(rows) else {}
        return {
            "status": "Complete",
            "results": fields,
            "statistics": {"bytesScanned": 2.5e6},
        } | more


def _error(text: str) -> dict[str, Any]:
    code, _, message = text.partition(": ")
    return {"__type": code, "message": message or "in the words of the service"}
