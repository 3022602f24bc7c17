"""The Go and the Python function, given the same message and the same server, write the same record."""

import re
import time

import pytest

from tests.fakes.sqs import DENY, OK
from tests.unit.functions.lambda_sandbox import order, sqs_record

MIB = 2**20
# What no two runs have in common, and the method and its SDK, which are told apart.
OWN = re.compile(r"_seconds$|_at_ms$|_id$|^method$|^sdk$|^error_message$")


def both(sandbox, go_sandbox, monkeypatch, method, sink):
    """Start both functions with the same environment, except for the method's name."""
    for name, value in {"SINK": sink, "RANGE_PARALLEL": "3", "RANGE_PART_MB": "16"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("METHOD", method)
    python = sandbox()
    monkeypatch.setenv("METHOD", f"go_{method}")
    return python, go_sandbox()


def assert_alike(python_record, go_record):
    assert {key: type(value) for key, value in go_record.items()} == {
        key: type(value) for key, value in python_record.items()
    }
    assert {key: value for key, value in go_record.items() if not OWN.search(key)} == {
        key: value for key, value in python_record.items() if not OWN.search(key)
    }


@pytest.mark.parametrize("sink", ["discard", "memory", "tmp"])
@pytest.mark.parametrize("method", ["stream", "ranges"])
def test_an_ok_record_is_the_same(start_s3, sandbox, go_sandbox, monkeypatch, method, sink):
    start_s3(33 * MIB)
    python, go = both(sandbox, go_sandbox, monkeypatch, method, sink)
    body = order(object_bytes=33 * MIB, warm_up=1)
    [python_record], _ = python.invoke(body, attempt=3)
    [go_record], failed = go.invoke(body, attempt=3)
    assert failed == []
    assert_alike(python_record, go_record)
    assert (go_record["method"], go_record["status"], go_record["bytes"]) == (f"go_{method}", "ok", 33 * MIB)


def test_a_line_has_the_same_form(start_s3, sandbox, go_sandbox, monkeypatch):
    """Separators, order, digits and escapes: everything but the digits themselves."""
    start_s3(1000)
    monkeypatch.setenv("EXPERIMENT_TAG", "première, n°1 <&>")
    python, go = both(sandbox, go_sandbox, monkeypatch, "stream", "discard")
    python.invoke(order(cell='a "quoted" é¡ cell\\'))
    go.deliver({"Records": [sqs_record(order(cell='a "quoted" é¡ cell\\'))]})
    go_line = go.log()
    python_line = python.log.replace('"stream"', '"go_stream"')

    def form(line):
        line = re.sub(r'("(?:message_id|request_id|sandbox_id|sdk)": )"[^"]+"', r'\1"own"', line)
        line = re.sub(r'("\w+_seconds": )\d+\.\d{9}', r"\1seconds", line)
        return re.sub(r'("\w+_at_ms": )\d{13}', r"\1ms", line)

    assert form(go_line) == form(python_line)


BAD_BODIES = [
    "hello",
    "[]",
    order(speed=1),
    order(seq=True),
    order(seq=-1),
    order(seq=1.0),
    order(warm_up=1.0),
    order(run_id=""),
    order(run_id="line\nbreak"),
    order(run_id="\ud800"),
    order(cell="x" * 257),
    order(warm_up=2),
    order(object_bytes=2**53),
    order(checksum="md5:00"),
    '{"run_id": "r", "run_id": "r", "cell": "c", "seq": 1}',
]


def test_bad_bodies_are_refused_by_both_with_the_same_record(start_s3, sandbox, go_sandbox, monkeypatch):
    s3 = start_s3(1000)
    python, go = both(sandbox, go_sandbox, monkeypatch, "stream", "discard")
    python_records, python_failed = python.invoke(*BAD_BODIES)
    go_records, go_failed = go.invoke(*BAD_BODIES)
    assert (len(go_failed), len(python_failed)) == (len(BAD_BODIES), len(BAD_BODIES))
    for python_record, go_record in zip(python_records, go_records, strict=True):
        assert_alike(python_record, go_record)
        assert go_record["error_type"] == "WorkOrderError"
    assert s3.requests == []


@pytest.mark.parametrize(
    ("faults", "changes", "error_type"),
    [
        ({"status": 403, "error_code": "AccessDenied"}, {}, "AccessDenied"),
        ({"status": 404, "error_code": "NoSuchKey"}, {}, "NoSuchKey"),
        ({"status": 400, "error_code": "InvalidRequest"}, {}, "S3Error"),
        ({"status": 429, "error_code": "TooManyRequests"}, {}, "S3Error"),  # which standard mode doesn't try again
        ({}, {"object_bytes": 1001}, "SizeMismatch"),
        ({}, {"checksum": "crc32:00000000"}, "ChecksumMismatch"),
        ({}, {"start_at_ms": int(time.time() * 1000) + 10**8}, "StartTooLate"),
    ],
)
def test_a_failure_has_the_same_word_and_record(
    start_s3, sandbox, go_sandbox, monkeypatch, faults, changes, error_type
):
    start_s3(1000, **faults)
    python, go = both(sandbox, go_sandbox, monkeypatch, "stream", "tmp")
    [python_record], _ = python.invoke(order(**changes))
    [go_record], failed = go.invoke(order(**changes))
    assert failed == [go_record["message_id"]]
    assert go_record["error_type"] == error_type
    assert_alike(python_record, go_record)


@pytest.mark.parametrize("answer", [OK, DENY])
def test_a_failed_message_is_reported_to_sqs_the_same_and_what_sqs_answers_changes_nothing(
    start_s3, sandbox, go_sandbox, monkeypatch, sqs, answer
):
    start_s3(1000)
    sqs.then = answer
    python, go = both(sandbox, go_sandbox, monkeypatch, "stream", "discard")
    for attempt, delay_s in ((1, 2), (4, 16), (7, 32)):
        sqs.visibility_changes.clear()
        for function in (python, go):
            records, failed = function.invoke(order(), order(object_bytes=1), attempt=attempt)
            assert [record["status"] for record in records] == ["ok", "error"]
            assert failed == [records[1]["message_id"]]
        assert [call["VisibilityTimeout"] for call in sqs.visibility_changes] == [delay_s, delay_s]


def test_passing_faults_are_counted_the_same(start_s3, sandbox, go_sandbox, monkeypatch):
    s3 = start_s3(MIB)
    python, go = both(sandbox, go_sandbox, monkeypatch, "stream", "discard")
    records = []
    for function in (python, go):
        s3.faults.slow_down_gets, s3.faults.cut_bodies = 1, 1
        [record], failed = function.invoke(order())
        assert failed == []
        records.append(record)
    assert_alike(*records)
    assert (records[1]["retries"], records[1]["requests"]) == (2, 3)


def test_the_deadline_stops_both(start_s3, sandbox, go_sandbox, monkeypatch):
    start_s3(MIB, trickle_bytes=64)
    python, go = both(sandbox, go_sandbox, monkeypatch, "stream", "discard")
    for function in (python, go):
        began_s = time.monotonic()
        [record], _ = function.invoke(order(), remaining_s=3.5)
        assert time.monotonic() - began_s < 3
        assert record["error_type"] == "DeadlineExceeded"
        assert 0 < record["bytes"] < MIB


def test_a_direct_test_invoke_fails_with_one_clear_error_and_leaves_no_record(start_s3, go_sandbox, monkeypatch):
    start_s3(1000)
    monkeypatch.setenv("METHOD", "go_stream")
    go = go_sandbox()
    kind, answer = go.deliver({"key1": "value1"})
    assert kind == "error"
    assert "stampede flood" in answer["errorMessage"]
    assert go.log() == ""
