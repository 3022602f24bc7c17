"""The function as Lambda runs it: one event in, records and failed messages out, over real HTTP."""

import sys
import time

import pytest

from common.sqs_event import EventError
from tests.fakes.s3 import BUCKET, KEY
from tests.unit.functions.download.test_download_record import OK_KEYS, PUBLISHED
from tests.unit.functions.lambda_sandbox import order

MIB = 2**20


def test_a_small_object_becomes_an_ok_record(start_s3, sandbox, sandbox_environment):
    s3 = start_s3(3 * MIB)
    before_ms = time.time() * 1000
    [record], failed = sandbox().invoke(order(object_bytes=3 * MIB))
    assert failed == []
    assert list(record) == OK_KEYS
    assert (record["status"], record["bytes"], record["method"]) == ("ok", 3 * MIB, "download_file")
    assert (record["run_id"], record["cell"], record["seq"]) == (
        "run-1",
        "memory_size=1024,concurrency_value=5",
        7,
    )
    assert 0 < record["download_time_seconds"] < 20
    assert before_ms - 2 <= record["started_at_ms"] <= record["finished_at_ms"] <= time.time() * 1000 + 2
    assert [request.method for request in s3.requests] == ["HEAD", "GET"]
    assert {request.path for request in s3.requests} == {f"/{BUCKET}/{KEY}"}
    assert list(sandbox_environment.iterdir()) == []


def test_a_large_object_is_fetched_in_parts_and_the_published_expression_reads_the_line(start_s3, sandbox):
    s3 = start_s3(20 * MIB + 5)
    function = sandbox()
    [record], failed = function.invoke(order())
    assert failed == []
    assert record["bytes"] == 20 * MIB + 5
    assert sorted(request.headers["Range"] or "" for request in s3.requests) == [
        "",
        "bytes=0-8388607",
        "bytes=16777216-",
        "bytes=8388608-16777215",
    ]
    match = PUBLISHED.search(function.log)
    assert match is not None
    assert (match["concurrency"], match["memory"], match["tag"]) == ("5", "1024", "experiment 01")
    assert float(match["time"]) == record["download_time_seconds"]
    assert function.log.count("\n") == 1


def test_an_empty_object_is_downloaded_like_any_other(start_s3, sandbox):
    start_s3(0)
    [record], failed = sandbox().invoke(order(object_bytes=0))
    assert (failed, record["status"], record["bytes"]) == ([], "ok", 0)


def test_the_file_that_is_measured_has_the_bytes_of_the_object(start_s3, sandbox, monkeypatch):
    s3 = start_s3(9 * MIB)
    function = sandbox()
    from download import download_file

    kept, fetch = [], download_file.fetch

    def keep(transfer):
        received_bytes = fetch(transfer)
        kept.append(transfer.sink.path.read_bytes())
        return received_bytes

    monkeypatch.setattr(download_file, "fetch", keep)
    [record], _ = function.invoke(order())
    assert record["status"] == "ok"
    assert kept == [s3.body]


def test_the_same_message_twice_leaves_two_ok_records_with_different_request_ids(start_s3, sandbox):
    start_s3(MIB)
    function = sandbox()
    records = [function.invoke(order(), attempt=attempt)[0][0] for attempt in (1, 2)]
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert [record["seq"] for record in records] == [7, 7]
    assert [record["attempt"] for record in records] == [1, 2]
    assert records[0]["request_id"] != records[1]["request_id"]


def test_an_object_replaced_between_two_messages_of_a_warm_sandbox_is_no_error(start_s3, sandbox):
    s3 = start_s3(MIB)
    function = sandbox()
    assert function.invoke(order())[0][0]["status"] == "ok"
    s3.generation, s3.body = 2, s3.body[: MIB // 2]
    [record], failed = function.invoke(order())
    assert (failed, record["status"], record["bytes"]) == ([], "ok", MIB // 2)


def test_only_the_first_record_of_a_sandbox_is_a_cold_start(start_s3, sandbox):
    start_s3(1000)
    first, second = sandbox(), sandbox()
    seen = [function.invoke(order())[0][0] for function in (first, first, second)]
    assert [record["cold_start"] for record in seen] == [1, 0, 1]
    assert seen[0]["sandbox_id"] == seen[1]["sandbox_id"] != seen[2]["sandbox_id"]


def test_of_several_messages_only_the_bad_one_is_reported_as_failed(start_s3, sandbox):
    start_s3(1000)
    records, failed = sandbox().invoke(order(seq=1), "not an order", order(seq=3))
    assert [record["status"] for record in records] == ["ok", "error", "ok"]
    assert failed == [records[1]["message_id"]]
    assert records[1]["error_type"] == "WorkOrderError"
    assert [records[1][key] for key in ("run_id", "cell", "seq", "bytes")] == [None, None, None, 0]
    assert records[1]["memory_size"] == 1024


def test_a_missing_setting_becomes_an_error_record_that_names_it(start_s3, sandbox, monkeypatch):
    s3 = start_s3(1000)
    monkeypatch.delenv("MEMORY_SIZE")
    [record], failed = sandbox().invoke(order())
    assert failed == [record["message_id"]]
    assert record["error_type"] == "SettingsError"
    assert "MEMORY_SIZE is missing" in record["error_message"]
    assert (record["run_id"], record["seq"], record["memory_size"]) == ("run-1", 7, None)
    assert (record["retry_mode"], record["retry_attempts"], record["sdk"]) == (None, None, None)
    assert s3.requests == []


def test_an_endpoint_that_is_no_url_becomes_an_error_record(sandbox, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "not a url")
    [record], failed = sandbox().invoke(order())
    assert failed == [record["message_id"]]
    assert record["error_type"] == "SettingsError"
    assert "AWS_ENDPOINT_URL" in record["error_message"]


@pytest.mark.parametrize("event", [{}, {"key1": "value1"}])
def test_a_direct_test_invoke_fails_with_one_clear_error_and_leaves_no_record(
    event, sandbox_environment, sandbox, capsys
):
    function = sandbox()
    with pytest.raises(EventError, match="stampede flood"):
        function.handler(event, None)
    assert capsys.readouterr().out == ""


def test_a_common_start_is_waited_for_outside_the_timed_part(start_s3, sandbox):
    start_s3(1000)
    start_at_ms = int(time.time() * 1000) + 700
    [record], failed = sandbox().invoke(order(start_at_ms=start_at_ms))
    assert failed == []
    assert start_at_ms <= record["started_at_ms"]
    assert record["finished_at_ms"] - record["started_at_ms"] == round(record["download_time_seconds"] * 1000)


def test_a_start_in_the_past_is_not_waited_for(start_s3, sandbox):
    start_s3(1000)
    [record], failed = sandbox().invoke(order(start_at_ms=1))
    assert (failed, record["status"]) == ([], "ok")


def test_a_start_beyond_the_time_left_becomes_an_error_record_at_once(start_s3, sandbox):
    s3 = start_s3(1000)
    began_s = time.monotonic()
    [record], failed = sandbox().invoke(order(start_at_ms=int(time.time() * 1000) + 30_000), remaining_s=10)
    assert time.monotonic() - began_s < 5
    assert failed == [record["message_id"]]
    assert record["error_type"] == "StartTooLate"
    assert s3.requests == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_inside_the_download_is_not_swallowed(
    start_s3, sandbox, sandbox_environment, monkeypatch, interruption
):
    start_s3(1000)
    function = sandbox()

    def interrupt(transfer):
        raise interruption

    monkeypatch.setattr(sys.modules["download.download_file"], "fetch", interrupt)
    with pytest.raises(interruption):
        function.invoke(order())
    assert list(sandbox_environment.iterdir()) == []
