"""What Athena of the embedded AWS does between start and end of a query; what it answers is in
tests/emulator."""

import asyncio

import duckdb
import pytest
from ministack.services import athena, glue

from stampede.emulator.athena import behave

TABLE = {
    "PartitionKeys": [{"Name": "bytes", "Type": "string"}],
    "StorageDescriptor": {
        "Columns": [{"Name": "value", "Type": "int"}, {"Name": "pad", "Type": "string"}],
        "SerdeInfo": {"SerializationLibrary": "JsonSerDe"},
    },
}


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    for name in (
        "_start_query_execution",
        "_execute_query",
        "_stop_query_execution",
        "_table_relation",
    ):
        monkeypatch.setattr(athena, name, getattr(athena, name))


@pytest.mark.parametrize("is_running", [True, False])
def test_what_was_cancelled_stays_so(monkeypatch, is_running):
    ran = []

    async def execute(query_id, *_):
        ran.append(query_id)
        await asyncio.sleep(0)
        athena._executions[query_id]["Status"]["State"] = "SUCCEEDED"

    async def cancelled():
        work = asyncio.create_task(athena._execute_query("q", "SELECT count(*) AS n FROM t", "db"))
        await asyncio.sleep(0) if is_running else None
        athena._stop_query_execution({"QueryExecutionId": "q"})
        await work

    monkeypatch.setattr(athena, "_execute_query", execute)
    monkeypatch.setattr(glue, "_tables", {"db/t": TABLE})
    execution = {"Status": {"State": "RUNNING"}, "Statistics": {"EngineExecutionTimeInMillis": 7}}
    monkeypatch.setattr(athena, "_executions", {"q": execution})
    behave()
    asyncio.run(cancelled())
    assert athena._executions["q"]["Status"]["State"] == "CANCELLED"
    assert bool(ran) is is_running


def test_hundreds_of_objects_are_read_in_little_memory_by_the_tables_columns(tmp_path):
    behave()
    folder = tmp_path / "bytes=10"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number}.json").write_text(
            '{"value": 1, "pad": "a"}\n{"value":   2, "pad": "b", "more": 1}\n'
        )
    relation = athena._table_relation(TABLE, [str(path) for path in folder.iterdir()])
    connection = duckdb.connect(config={"memory_limit": "1GB"})
    query = f"SELECT count(*), sum(value), max(pad) FROM {relation} WHERE bytes = '10'"
    assert connection.execute(query).fetchall() == [(400, 600, "b")]
