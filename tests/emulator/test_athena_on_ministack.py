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
SECOND_SET = "WHERE object_bytes = '200'"


@pytest.fixture(scope="module")
def aws(tmp_path_factory):
    """The embedded AWS with two sets of objects, of which the second has one, and a table over both."""
    state = tmp_path_factory.mktemp("emulator")
    target = targets.local(dict(OUTPUTS), ministack.start(state, follow_parent=True).access)
    try:
        s3, glue = target.client("s3"), target.client("glue")
        for bucket in ("data", "results"):
            s3.create_bucket(Bucket=bucket)
        for size, count in ((100, OBJECTS), (200, 1)):
            for number in range(count):
                lines = [f'{{"object": "{number}", "value": {row:>3}}}\n' for row in range(ROWS)]
                s3.put_object(
                    Bucket="data", Key=f"data/object_bytes={size}/{number}.json", Body="".join(lines).encode()
                )
        glue.create_database(DatabaseInput={"Name": "d"})
        glue.create_table(DatabaseName="d", TableInput=TABLE)
        result = {"ResultConfiguration": {"OutputLocation": "s3://results/"}}
        target.client("athena").create_work_group(Name="w", Configuration=result)
        target.client("logs").create_log_group(logGroupName="g")
        for name in ("queue", "dead_letter_queue"):
            target.outputs[f"{name}_url"] = target.client("sqs").create_queue(QueueName=name)["QueueUrl"]
        yield target
    finally:
        ministack.stop(state)


@pytest.fixture
def records(aws, tmp_path, monkeypatch):
    """Carries queries out, each as a message of a cell of its own, and gives their records in that order."""
    monkeypatch.setitem(EXPERIMENTS, "queries", QUERIES)
    folder = RunFolder.create(tmp_path, tmp_path.name)  # by seconds, two would have the tokens of one
    folder.write_json("run.json", {"experiment": "queries"})

    def of(*queries):
        cells = [f"{tmp_path.name} {at}" for at in range(len(queries))]  # two tests of one second have one run's name
        for cell, query in zip(cells, queries, strict=True):
            carry_out(aws, folder, cell, 1, query, order={"parallel_limit": 1, "object_count": OBJECTS})
        drained = drain(aws, folder)
        assert not drained.left and not any(account.is_open for account in drained.accounts)
        records = {record["cell"]: record for record in folder.rows("records.jsonl")}
        return [records[cell] for cell in cells]

    return of


def test_counts_and_aggregates_of_one_partition_are_what_was_put_there(records):
    count = replace(QUERY, expected=(str(OBJECTS * ROWS),))
    aggregate = replace(QUERY, sql=AGGREGATE + SECOND_SET, expected=("3", "3", "2"))
    done = records(count, aggregate)
    assert [record["status"] for record in done] == ["ok", "ok"], done
    assert all(record["elapsed_seconds"] == record["engine_seconds"] > 0 for record in done)
    assert {record["scanned_bytes"] for record in done} == {None}


def test_what_the_embedded_athena_can_not_answer_as_aws_does_is_a_record_that_names_it(records):
    refused, failed = records(
        replace(QUERY, sql="SELECT approx_distinct(value) AS n FROM t"),
        replace(QUERY, sql=SQL.partition(" WHERE")[0]),
    )
    assert refused["error_type"] == "QueryFailed"
    assert "the embedded Athena doesn't support this query" in refused["error_message"]
    assert "injected projected partition column object_bytes" in failed["error_message"]
