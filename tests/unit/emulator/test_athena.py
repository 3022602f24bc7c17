"""Athena of the embedded AWS answers a query as AWS does, or refuses it by name."""

import asyncio
import json

import duckdb
import pytest
from ministack.services import athena, glue

from stampede.emulator.athena import behave

TABLE = {
    "Parameters": {"projection.enabled": "true", "projection.bytes.type": "injected"},
    "PartitionKeys": [{"Name": "bytes", "Type": "string"}, {"Name": "day", "Type": "string"}],
    "StorageDescriptor": {"Columns": [{"Name": "value", "Type": "int"}, {"Name": "pad", "Type": "string"}]},
}
COUNT = "SELECT count(*) AS row_count FROM \"t\" WHERE bytes = '10'"


@pytest.fixture
def runs(monkeypatch):
    """MiniStack's own handlers, reduced to what they change; gives the ids that were run, and lets them be asked."""
    ran = []

    def start(data):
        query_id = f"q{len(athena._executions)}"
        made_up = dict.fromkeys(("DataScannedInBytes", "QueryPlanningTimeInMillis"), 20)
        status, statistics = {"State": "QUEUED"}, {"EngineExecutionTimeInMillis": 7, "TotalExecutionTimeInMillis": 57}
        athena._executions[query_id] = {"Status": status, "Statistics": statistics | made_up}
        return 200, {}, json.dumps({"QueryExecutionId": query_id})

    async def execute(query_id, *_):
        ran.append(query_id)
        await asyncio.sleep(0)
        athena._executions[query_id]["Status"]["State"] = "SUCCEEDED"

    def stop(data):
        athena._executions[data["QueryExecutionId"]]["Status"] |= {"State": "CANCELLED"}
        return 200, {}, "{}"

    for name, own in {
        "_start_query_execution": start,
        "_execute_query": execute,
        "_stop_query_execution": stop,
        "_table_relation": athena._table_relation,
    }.items():
        monkeypatch.setattr(athena, name, own)
    monkeypatch.setattr(athena, "_executions", {})
    monkeypatch.setattr(glue, "_tables", {"db/t": TABLE})
    behave()
    return ran


def started(query, **more):
    status, _, body = athena._start_query_execution({"QueryString": query} | more)
    body = json.loads(body)
    return body["QueryExecutionId"] if status == 200 else body.get("message") or body["Message"]


def ended(query):
    query_id = started(query)
    asyncio.run(athena._execute_query(query_id, query, "db"))
    return athena._executions[query_id]


REFUSED = [
    "SELECT * FROM t WHERE bytes = '10'",
    "SELECT approx_percentile(value, 0.5) AS p FROM t WHERE bytes = '10'",
    "SELECT count(*) AS n FROM t WHERE bytes = '10' OR day = '2'",
    "SELECT count(*) AS n FROM t, u WHERE bytes = '10'",
    "SELECT count(*) AS n FROM t WHERE bytes = '10'; DROP TABLE t",
]


def test_any_other_query_is_refused_by_name_or_fails_as_on_aws_although_duckdb_has_an_answer(runs):
    assert all(query in started(query) for query in REFUSED)
    for query, reason in ((COUNT.replace('"t"', "gone"), "TABLE_NOT_FOUND"), (COUNT + " AND value = '3'", "NOT_SUPP")):
        status = ended(query)["Status"]
        assert status["State"] == "FAILED" and status["StateChangeReason"].startswith(reason)
    assert runs == []
    execution = ended(COUNT)  # which tells no figure that nobody measured
    assert execution["Status"] == {"State": "SUCCEEDED"}
    assert execution["Statistics"] == {"EngineExecutionTimeInMillis": 7, "TotalExecutionTimeInMillis": 7}


def test_the_same_token_runs_once(runs):
    first = started(COUNT, ClientRequestToken="a" * 32)
    assert started(COUNT, ClientRequestToken="a" * 32) == first
    assert started(COUNT, ClientRequestToken="b" * 32) != first


@pytest.mark.parametrize("is_running", [True, False])
def test_what_was_cancelled_stays_so(runs, is_running):
    async def cancelled():
        query_id = started(COUNT)
        work = asyncio.create_task(athena._execute_query(query_id, COUNT, "db"))
        await asyncio.sleep(0) if is_running else None
        athena._stop_query_execution({"QueryExecutionId": query_id})
        await work
        return athena._executions[query_id]["Status"]

    assert asyncio.run(cancelled()) == {"State": "CANCELLED"}
    assert bool(runs) is is_running


def test_hundreds_of_objects_are_read_in_little_memory_by_the_tables_columns(runs, tmp_path):
    folder = tmp_path / "bytes=10"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number}.json").write_text('{"value": 1, "pad": "a"}\n{"value":   2, "pad": "b", "more": 1}\n')
    table = TABLE | {"PartitionKeys": TABLE["PartitionKeys"][:1]}
    table["StorageDescriptor"] = TABLE["StorageDescriptor"] | {"SerdeInfo": {"SerializationLibrary": "JsonSerDe"}}
    relation = athena._table_relation(table, [str(path) for path in folder.iterdir()])
    connection = duckdb.connect(config={"memory_limit": "1GB"})
    query = f"SELECT count(*), sum(value), max(pad) FROM {relation} WHERE bytes = '10'"
    assert connection.execute(query).fetchall() == [(400, 600, "b")]
