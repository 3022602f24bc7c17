"""Athena and a log group as they may behave, on the clock of SimulatedAws."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

from tests.fakes.simulated_aws import SimulatedAws

STATISTICS = {
    "QueryQueueTimeInMillis": 120,
    "QueryPlanningTimeInMillis": 80,
    "EngineExecutionTimeInMillis": 2700,
    "ServiceProcessingTimeInMillis": 100,
    "TotalExecutionTimeInMillis": 3000,
    "DataScannedInBytes": 700,
}


class SimulatedAthena(SimulatedAws):
    """Queries take `query_s` seconds and end in `ends` with `reason`; `rows` is their result.

    The next `losing` answers of StartQueryExecution are lost although the query starts.
    """

    # as boto3's client of CloudWatch Logs has them
    exceptions = SimpleNamespace(ResourceAlreadyExistsException=type("Exists", (Exception,), {}))

    def reset(self) -> None:
        super().reset()
        vars(self).update(queries={}, query_s=3.0, ends="SUCCEEDED", reason="", rows=[["700"]])
        vars(self).update(statistics=STATISTICS, losing=0, stopped=[], streams=[])

    def start_query_execution(self, ClientRequestToken: str, **parameters: Any) -> dict[str, Any]:
        self._call("StartQueryExecution")
        query = self.queries.setdefault(
            ClientRequestToken,
            {"id": f"q{len(self.queries)}", "from_s": self.now_s, "state": "", **parameters},
        )
        if self.losing:
            self.__dict__["losing"] -= 1
            raise ConnectionClosedError(endpoint_url="https://athena")
        return {"QueryExecutionId": query["id"], "ResponseMetadata": {"RequestId": "r1"}}

    def get_query_execution(self, QueryExecutionId: str) -> dict[str, Any]:
        self._call("GetQueryExecution")
        state = self.state_of(QueryExecutionId)
        reason = {"StateChangeReason": self.reason} if state == self.ends else {}
        status = {"State": state} | reason
        return {"QueryExecution": {"Status": status, "Statistics": self.statistics}}

    def stop_query_execution(self, QueryExecutionId: str) -> dict[str, Any]:
        self._call("StopQueryExecution")
        self.stopped.append(QueryExecutionId)
        query = self._query(QueryExecutionId)
        if self.state_of(QueryExecutionId) == "RUNNING":
            query["state"] = "CANCELLED"
        return {}

    def get_query_results(self, QueryExecutionId: str, MaxResults: int) -> dict[str, Any]:
        self._call("GetQueryResults")
        rows = [["row_count"], *self.rows]
        data = [{"Data": [{"VarCharValue": value} for value in row]} for row in rows]
        return {"ResultSet": {"Rows": data}}

    def create_log_stream(self, logGroupName: str, logStreamName: str) -> None:
        self._call("CreateLogStream")
        if logStreamName in self.streams:
            raise self.exceptions.ResourceAlreadyExistsException
        self.streams.append(logStreamName)

    def put_log_events(
        self, logGroupName: str, logStreamName: str, logEvents: list[dict[str, Any]]
    ) -> dict[str, Any]:
        self._call("PutLogEvents")
        for event in logEvents:
            self.log(event["message"], at_s=self.now_s)
        return {}

    def state_of(self, query_id: str) -> str:
        """The current state of a query."""
        query = self._query(query_id)
        return query["state"] or (
            "RUNNING" if self.now_s - query["from_s"] < self.query_s else self.ends
        )

    @property
    def running(self) -> list[str]:
        """Ids of the running queries."""
        return [
            query["id"]
            for query in self.queries.values()
            if self.state_of(query["id"]) == "RUNNING"
        ]

    def _query(self, query_id: str) -> dict[str, Any]:
        for query in self.queries.values():
            if query["id"] == query_id:
                return query
        refusal = {
            "Code": "InvalidRequestException",
            "Message": f"QueryExecution {query_id} was not found",
        }
        raise ClientError({"Error": refusal}, "GetQueryExecution")
