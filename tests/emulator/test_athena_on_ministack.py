"""Queries that the embedded Athena really runs, on DuckDB over objects in S3."""

import time
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from experiments import EXPERIMENTS
from loader.drain import drain
from loader.executions import carry_out
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from tests.emulator.embedded_aws import embedded_aws
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
SUMS = (
    'SELECT count(*) AS row_count, sum(value) AS value_sum, max(value) AS value_max FROM "t" WHERE '
)
ASKED = {
    "count": replace(QUERY, expected=(str(OBJECTS * ROWS),)),
    "sums": replace(QUERY, sql=SUMS + "object_bytes = '200'", expected=("3", "3", "2")),
    "refused": replace(QUERY, sql="SELECT approx_distinct(value) AS n FROM t"),
    "failed": replace(QUERY, sql=SQL.partition(" WHERE")[0]),
}
WORDS = {"refused": "doesn't support this query", "failed": "injected projected partition"}
COUNT = "SELECT count(*) AS row_count FROM \"t\" WHERE object_bytes = '200'"
# DuckDB would answer each of these.
REFUSED = [
    "SELECT * FROM t WHERE object_bytes = '200'",
    "SELECT count(*) AS n FROM t WHERE object_bytes = '200' OR object = '1'",
    "SELECT count(*) AS n FROM t, t AS u WHERE object_bytes = '200'",
    f"{COUNT}; DROP TABLE t",
]
FAILING = {
    COUNT.replace('"t"', "gone"): "TABLE_NOT_FOUND",
    f"{COUNT} AND object = '1'": "NOT_SUPPORTED",
}


def target_with_two_sets(access):
    """Two sets of objects, the second with one object, and a table over both."""
    target = targets.local(dict(OUTPUTS), access)
    s3, glue, sqs = (target.client(service) for service in ("s3", "glue", "sqs"))
    for bucket in ("data", "results"):
        s3.create_bucket(Bucket=bucket)
    lines = "".join(f'{{"object": "1", "value": {row:>3}}}\n' for row in range(ROWS)).encode()
    for key in [*(f"100/{number}" for number in range(OBJECTS)), "200/0"]:
        s3.put_object(Bucket="data", Key=f"data/object_bytes={key}.json", Body=lines)
    glue.create_database(DatabaseInput={"Name": "d"})
    glue.create_table(DatabaseName="d", TableInput=TABLE)
    result = {"ResultConfiguration": {"OutputLocation": "s3://results/"}}
    target.client("athena").create_work_group(Name="w", Configuration=result)
    target.client("logs").create_log_group(logGroupName="g")
    for name in ("queue", "dead_letter_queue"):
        target.outputs[f"{name}_url"] = sqs.create_queue(QueueName=name)["QueueUrl"]
    return target


def test_supported_queries_are_right_and_any_other_becomes_a_record_that_names_it(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(EXPERIMENTS, "queries", QUERIES)
    folder = RunFolder.create(tmp_path)
    folder.write_json("run.json", {"experiment": "queries"})
    with embedded_aws(tmp_path / "state") as running:
        target = target_with_two_sets(running.access)
        order = {"parallel_limit": 1, "object_count": OBJECTS}
        for cell, query in ASKED.items():
            carry_out(target, folder, cell, range(1), query, order)
        drained = drain(target, folder)
        refuse_other_answers(target.client("athena"))
    assert not drained.left and not any(account.is_open for account in drained.accounts)
    records = {record["cell"]: record for record in folder.rows("records.jsonl")}
    for record in (records["count"], records["sums"]):
        assert (record["status"], record["scanned_bytes"]) == ("ok", None), record
        assert record["elapsed_seconds"] == record["engine_seconds"] > 0
    for cell, text in WORDS.items():
        failure = (records[cell]["error_type"], records[cell]["error_message"])
        assert failure[0] == "QueryFailed" and text in failure[1]
        assert "GetQueryResults" not in failure[1], "its result was requested, though it has none"


def refuse_other_answers(athena):
    """Refuse or fail queries whose answer AWS may not give; a repeated token runs nothing."""

    def start(query, token):
        context = {"QueryExecutionContext": {"Database": "d"}, "WorkGroup": "w"}
        asked = {"QueryString": query, "ClientRequestToken": token * 32}
        answer = athena.start_query_execution(**asked, **context)
        return {"QueryExecutionId": answer["QueryExecutionId"]}

    def ended(query):
        while True:
            execution = athena.get_query_execution(**query)["QueryExecution"]
            if execution["Status"]["State"] not in ("QUEUED", "RUNNING"):
                return execution
            time.sleep(0.05)

    for query in REFUSED:
        with pytest.raises(ClientError, match="doesn't support this query") as refused:
            start(query, "r")
        assert query in str(refused.value)
    for number, (query, reason) in enumerate(FAILING.items()):
        status = ended(start(query, str(number)))["Status"]
        assert status["State"] == "FAILED" and status["StateChangeReason"].startswith(reason)
    first = start(COUNT, "a")
    assert ended(first)["Status"]["State"] == "SUCCEEDED"
    made_up = {"DataScannedInBytes", "QueryPlanningTimeInMillis"}
    assert not made_up & ended(first)["Statistics"].keys()
    assert start(COUNT, "a") == first != start(COUNT, "b")
