"""Queries that stampede has the embedded Athena carry out for real, on DuckDB, over objects in S3."""

from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from loader.drain import drain
from loader.executions import carry_out
from stampede.emulator import ministack
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.unit.loader.queries_experiment import QUERIES, QUERY, SQL

OBJECTS, ROWS = 7, 3
TABLE = {
    "Name": "t",
    "TableType": "EXTERNAL_TABLE",
    "Parameters": {"projection.enabled": "true", "projection.object_bytes.type": "injected"},
    "PartitionKeys": [{"Name": "object_bytes", "Type": "string"}],
    "StorageDescriptor": {
        "Location": "s3://data/data/",
        "Columns": [{"Name": "object", "Type": "string"}, {"Name": "value", "Type": "int"}],
        "SerdeInfo": {"SerializationLibrary": "org.openx.data.jsonserde.JsonSerDe"},
    },
}
OUTPUTS = {
    "experiment": "queries",
    "operation": "count",
    "memory_size": 512,
    "concurrency_value": 1,
    "experiment_tag": "",
    "region": "us-east-1",
    "log_group_name": "g",
    "function_name": "f",
    "visibility_timeout_s": 60,
    "max_receive_count": 5,
}
AGGREGATE = 'SELECT count(*) AS row_count, sum(value) AS value_sum, max(value) AS value_max FROM "t" '
ASKED = {
    "count": replace(QUERY, expected=(str(OBJECTS * ROWS),)),
    "aggregate of the second set": replace(
        QUERY, sql=AGGREGATE + "WHERE object_bytes = '200'", expected=("3", "3", "2")
    ),
    "refused": replace(QUERY, sql="SELECT approx_distinct(value) AS n FROM t"),
    "failed": replace(QUERY, sql=SQL.partition(" WHERE")[0]),
}


@pytest.fixture
def aws(tmp_path):
    """The embedded AWS with two sets of objects, of which the second has one, and a table over both."""
    target = targets.local(dict(OUTPUTS), ministack.start(tmp_path / "state", follow_parent=True).access)
    try:
        s3, glue = target.client("s3"), target.client("glue")
        for bucket in ("data", "results"):
            s3.create_bucket(Bucket=bucket)
        for size, count in ((100, OBJECTS), (200, 1)):
            for number in range(count):
                lines = "".join(f'{{"object": "{number}", "value": {row:>3}}}\n' for row in range(ROWS))
                s3.put_object(Bucket="data", Key=f"data/object_bytes={size}/{number}.json", Body=lines.encode())
        glue.create_database(DatabaseInput={"Name": "d"})
        glue.create_table(DatabaseName="d", TableInput=TABLE)
        result = {"ResultConfiguration": {"OutputLocation": "s3://results/"}}
        target.client("athena").create_work_group(Name="w", Configuration=result)
        target.client("logs").create_log_group(logGroupName="g")
        for name in ("queue", "dead_letter_queue"):
            target.outputs[f"{name}_url"] = target.client("sqs").create_queue(QueueName=name)["QueueUrl"]
        yield target
    finally:
        ministack.stop(tmp_path / "state")


def test_what_duckdb_answers_as_aws_does_is_right_and_anything_else_is_a_record_that_names_it(
    aws, tmp_path, monkeypatch
):
    monkeypatch.setitem(EXPERIMENTS, "queries", QUERIES)
    folder = RunFolder.create(tmp_path)
    folder.write_json("run.json", {"experiment": "queries"})
    for cell, query in ASKED.items():
        carry_out(aws, folder, cell, 1, query, order={"parallel_limit": 1, "object_count": OBJECTS})
    drained = drain(aws, folder)
    assert not drained.left and not any(account.is_open for account in drained.accounts)
    count, aggregate, refused, failed = sorted(
        folder.rows("records.jsonl"), key=lambda record: list(ASKED).index(record["cell"])
    )
    for record in (count, aggregate):
        assert (record["status"], record["scanned_bytes"]) == ("ok", None), record
        assert record["elapsed_seconds"] == record["engine_seconds"] > 0
    assert "the embedded Athena doesn't support this query" in refused["error_message"]
    assert "injected projected partition column object_bytes" in failed["error_message"]
    assert {refused["error_type"], failed["error_type"]} == {"QueryFailed"}
