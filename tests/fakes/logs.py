"""CloudWatch Logs' three calls for a query, since no emulator evaluates queries."""

from collections.abc import Callable
from typing import Any

from tests.fakes.loopback import JsonService


class FakeLogs(JsonService):
    """Answers StartQuery, GetQueryResults and StopQuery.

    `statuses` are returned in turn, the last one repeatedly; `rows` is the result, as dictionaries,
    in pages of `page_rows`. `arrived` is the result of counting the records that arrived.
    """

    def __init__(
        self,
        statuses: list[str],
        rows: list[dict[str, str]],
        page_rows: int = 10_000,
        arrived: int = 0,
        errors: dict[str, list[str]] | None = None,
    ):
        super().__init__(errors)
        self._statuses, self._rows, self._page_rows = statuses, rows, page_rows
        self._arrived = [{"arrived": str(arrived)}]
        self._hooks: dict[str, Callable[[], None]] = {}

    def on_call(self, operation: str, hook: Callable[[], None]) -> None:
        """Calls `hook` at the next call of the operation."""
        self._hooks[operation] = hook

    def StartQuery(self, parameters: dict[str, Any]) -> dict[str, Any]:
        self._left = list(self._statuses)
        return {"queryId": f"q-{len(self.requests('StartQuery'))}"}

    def StopQuery(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"success": True}

    def GetQueryResults(self, parameters: dict[str, Any]) -> dict[str, Any]:
        self._hooks.pop("GetQueryResults", lambda: None)()
        text = self.requests("StartQuery")[-1]["queryString"]
        rows = self._arrived if "as arrived" in text else self._rows
        first = int(parameters.get("nextToken", 0))
        if not first:
            status = self._left.pop(0) if len(self._left) > 1 else self._left[0]
            if status != "Complete":
                return {"status": status, "results": []}
        last = first + self._page_rows
        fields = [
            [{"field": name, "value": value} for name, value in row.items()]
            for row in rows[first:last]
        ]
        more = {"nextToken": str(last)} if last < len(rows) else {}
        statistics = {"bytesScanned": 2.5e6}
        return {"status": "Complete", "results": fields, "statistics": statistics} | more
